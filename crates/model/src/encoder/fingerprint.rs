//! What tells one encoder from another: its weights, its tokenizer and the settings that bear on
//! its results, as one hash. It is no check against damage or forgery.

use sha2::{Digest, Sha256};

use super::settings::{Dimensions, Pooling, Settings};
use crate::fingerprint::{Fingerprint, part};

/// An embedder's fingerprint, of that of its weights, of its tokenizer's file and of its settings:
/// in two halves, see [`crate::fingerprint`], of 64 and of 32 hexadecimal digits.
pub(super) fn of(weights: &Fingerprint, tokenizer: &[u8], settings: &Settings) -> String {
    in_halves(weights, |weights| {
        let mut hash = Sha256::new();
        part(&mut hash, weights.as_bytes());
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
    })
}

/// A cross-encoder's fingerprint, as [`of`].
pub(super) fn of_cross_encoder(
    weights: &Fingerprint,
    tokenizer: &[u8],
    max_tokens: usize,
    dimensions: &Dimensions,
) -> String {
    in_halves(weights, |weights| {
        let mut hash = Sha256::new();
        part(&mut hash, weights.as_bytes());
        part(&mut hash, tokenizer);
        part(&mut hash, b"cross-encoder");
        network(&mut hash, max_tokens, dimensions);
        digits(hash)
    })
}

/// What `of_half` makes of either half of the weights' fingerprint.
fn in_halves(weights: &Fingerprint, of_half: impl Fn(&str) -> String) -> String {
    let whole = of_half(&weights.whole).chars().take(32).collect();
    let sampled = of_half(&weights.sampled);
    Fingerprint { sampled, whole }.to_string()
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
