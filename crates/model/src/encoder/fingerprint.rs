//! Identifies an encoder by its weights, its tokenizer and the settings that affect its results, as one
//! hash. It is no check against damage or forgery.

use super::settings::{Dimensions, Pooling, Settings};
use crate::fingerprint::extended;

/// An embedder's fingerprint, of that of its weights, of its tokenizer's file and of its settings.
pub(super) fn of_embedder(weights: &str, tokenizer: &[u8], settings: &Settings) -> String {
    let pooling: &[u8] = match settings.pooling {
        Pooling::Mean => b"mean",
        Pooling::Cls => b"cls",
    };
    let normalize = [u8::from(settings.normalize)];
    let numbers = numbers(settings.max_tokens, &settings.dimensions);
    let mut parts = vec![tokenizer, pooling, &normalize];
    parts.extend(numbers.iter().map(<[u8; 8]>::as_slice));
    let prefixes = &settings.prefixes;
    parts.extend([prefixes.query.as_bytes(), prefixes.passage.as_bytes()]);
    extended(weights, &parts)
}

/// A cross-encoder's fingerprint, as [`of_embedder`].
pub(super) fn of_cross_encoder(
    weights: &str,
    tokenizer: &[u8],
    max_tokens: usize,
    dimensions: &Dimensions,
) -> String {
    let numbers = numbers(max_tokens, dimensions);
    let mut parts = vec![tokenizer, b"cross-encoder"];
    parts.extend(numbers.iter().map(<[u8; 8]>::as_slice));
    extended(weights, &parts)
}

fn numbers(max_tokens: usize, dimensions: &Dimensions) -> [[u8; 8]; 5] {
    [
        max_tokens,
        dimensions.layers,
        dimensions.heads,
        dimensions.first_position,
        dimensions.epsilon.to_bits() as usize,
    ]
    .map(|number| (number as u64).to_le_bytes())
}
