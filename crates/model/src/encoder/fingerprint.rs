//! What tells one embedder from another: its weights, its tokenizer and the settings that bear on
//! its vectors, as one hash. It is no check against damage or forgery.

use sha2::{Digest, Sha256};

use super::settings::{Pooling, Settings};
use crate::fingerprint::part;

/// The fingerprint, as 64 hexadecimal digits, of a weights file's content, that of a tokenizer file
/// and the settings.
pub(super) fn of(weights: &[u8], tokenizer: &[u8], settings: &Settings) -> String {
    let mut hash = Sha256::new();
    part(&mut hash, crate::fingerprint::of_bytes(weights).as_bytes());
    part(&mut hash, tokenizer);
    let pooling: &[u8] = match settings.pooling {
        Pooling::Mean => b"mean",
        Pooling::Cls => b"cls",
    };
    part(&mut hash, pooling);
    part(&mut hash, &[u8::from(settings.normalize)]);
    let dimensions = &settings.dimensions;
    for number in [
        settings.max_tokens,
        dimensions.layers,
        dimensions.heads,
        dimensions.first_position,
        dimensions.epsilon.to_bits() as usize,
    ] {
        part(&mut hash, &(number as u64).to_le_bytes());
    }
    part(&mut hash, settings.prefixes.query.as_bytes());
    part(&mut hash, settings.prefixes.passage.as_bytes());
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
