//! The number of weights of a decoder.

use crate::decoder::config::DecoderConfig;
use crate::decoder::files::checkpoint::{biases, matrices, norms};
use crate::decoder::files::weights::Weights;

/// The number of weights of a decoder; tied embeddings count once. The sizes need not be those of its file.
pub(in crate::decoder) fn parameters(config: &DecoderConfig, weights: &Weights) -> u64 {
    let count = |[rows, columns]: [usize; 2]| (rows as u64).saturating_mul(columns as u64);
    let tables = if weights.has_output() { 2 } else { 1 };
    let table = count([config.vocabulary, config.hidden]).saturating_mul(tables);
    matrices(config)
        .map(|(_, _, shape)| count(shape))
        .chain([table, vectors(config)])
        .fold(0, u64::saturating_add)
}

/// The number of weights in norms and biases.
pub(in crate::decoder) fn vectors(config: &DecoderConfig) -> u64 {
    let widths = norms(config).into_iter().chain(biases(config));
    widths.map(|(_, _, width)| width as u64).sum::<u64>() + config.hidden as u64
}
