//! What tells one encoder from another: its weights, its tokenizer and the settings that bear on
//! its results, as one hash. It is no check against damage or forgery.

use sha2::{Digest, Sha256};

use super::settings::{Dimensions, Pooling, Settings};
use crate::fingerprint::part;

/// An embedder's fingerprint, as 64 hexadecimal digits, of a weights file's content, that of a tokenizer file
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
    network(&mut hash, settings.max_tokens, &settings.dimensions);
    part(&mut hash, settings.prefixes.query.as_bytes());
    part(&mut hash, settings.prefixes.passage.as_bytes());
    digits(hash)
}

/// A cross-encoder's fingerprint, as [`of`].
pub(super) fn of_cross_encoder(
    weights: &[u8],
    tokenizer: &[u8],
    max_tokens: usize,
    dimensions: &Dimensions,
) -> String {
    let mut hash = Sha256::new();
    part(&mut hash, crate::fingerprint::of_bytes(weights).as_bytes());
    part(&mut hash, tokenizer);
    part(&mut hash, b"cross-encoder");
    network(&mut hash, max_tokens, dimensions);
    digits(hash)
}

fn network(hash: &mut Sha256, max_tokens: usize, dimensions: &Dimensions) {
    for number in [
        max_tokens,
        dimensions.layers,
        dimensions.heads,
        dimensions.first_position,
        dimensions.epsilon.to_bits() as usize,
    ] {
        part(hash, &(number as u64).to_le_bytes());
    }
}

fn digits(hash: Sha256) -> String {
    let digits = hash.finalize();
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}
