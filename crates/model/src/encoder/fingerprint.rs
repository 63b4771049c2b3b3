//! Identifies an encoder by one hash of its weights, its tokenizer and the settings that affect its results. It does
//! not protect against damage or forgery.

use super::network::Network;
use super::settings::{Pooling, Settings};
use crate::fingerprint::extended;

/// An embedder's fingerprint, from those of its weights, its tokenizer's file and its settings.
pub(super) fn of_embedder(weights: &str, tokenizer: &[u8], settings: &Settings) -> String {
    let pooling: &[u8] = match settings.pooling {
        Pooling::Mean => b"mean",
        Pooling::Cls => b"cls",
        Pooling::Last => b"last",
    };
    let normalize = [u8::from(settings.normalize)];
    let numbers = numbers(settings.max_tokens, &settings.network);
    let mut parts = vec![tokenizer, pooling, &normalize];
    parts.extend(numbers.iter().map(<[u8; 8]>::as_slice));
    let kept = (settings.own.kept as u64).to_le_bytes();
    if settings.own.kept < settings.network.hidden {
        parts.push(&kept);
    }
    let prefixes = &settings.own.prefixes;
    parts.extend([prefixes.query.as_bytes(), prefixes.passage.as_bytes()]);
    extended(weights, &parts)
}

/// A cross-encoder's fingerprint, as [`of_embedder`].
pub(super) fn of_cross_encoder(
    weights: &str,
    tokenizer: &[u8],
    max_tokens: usize,
    network: &Network,
) -> String {
    let numbers = numbers(max_tokens, network);
    let mut parts = vec![tokenizer, b"cross-encoder"];
    parts.extend(numbers.iter().map(<[u8; 8]>::as_slice));
    extended(weights, &parts)
}

fn numbers(max_tokens: usize, network: &Network) -> Vec<[u8; 8]> {
    let numbers = [vec![max_tokens as u64], network.traits()].concat();
    numbers.into_iter().map(u64::to_le_bytes).collect()
}
