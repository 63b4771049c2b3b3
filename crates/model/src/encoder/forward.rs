//! The forward pass of a BERT-family network over a batch of sequences. The sequences are concatenated
//! as rows of one matrix, so nothing is padded or masked: the linear layers process all rows together,
//! and attention each sequence by itself. It does no tokenization and no pooling.

use super::error::EncoderError;
use super::settings::Dimensions;
use super::tokens::Sequence;
use super::weights::{Linear, Norm, Weights};
use crate::kernels::attention::{self, HeadCache, Keys, Query, Scratch};
use crate::kernels::elementwise::{add, gelu};
use crate::kernels::matrix::Arithmetic;
use crate::kernels::norms::layer_norm;
use crate::kernels::rows::Rows;

type Result<T> = std::result::Result<T, EncoderError>;

/// Queries that are processed together; their scores stay in the L2 cache.
const QUERY_TILE: usize = 48;

/// The final hidden states of the sequences, concatenated.
///
/// # Shapes
/// `sequences`: none longer than the model's positions; the result: `[sum of the lengths, hidden]`.
pub(super) fn hidden_states(
    weights: &Weights,
    dim: &Dimensions,
    sequences: &[&Sequence],
) -> Result<Rows> {
    let mut states = embed_tokens(weights, dim, sequences)?;
    for layer in &weights.layers {
        let projected = affine(&layer.attention, &states)?;
        let attended = attend(&projected, dim, sequences);
        let update = affine(&layer.attention_out, &attended)?;
        add_and_norm(&mut states, &update, &layer.attention_norm, dim.epsilon);
        let mut wide = affine(&layer.widen, &states)?;
        gelu(&mut wide.numbers);
        let update = affine(&layer.narrow, &wide)?;
        add_and_norm(&mut states, &update, &layer.norm, dim.epsilon);
    }
    Ok(states)
}

fn embed_tokens(weights: &Weights, dim: &Dimensions, sequences: &[&Sequence]) -> Result<Rows> {
    let tokens: usize = sequences.iter().map(|sequence| sequence.len()).sum();
    let mut states = Rows::zeros(tokens, dim.hidden);
    let first = dim.first_position * dim.hidden;
    let mut rows = states.numbers.chunks_exact_mut(dim.hidden);
    let mut stored = Vec::new();
    for sequence in sequences {
        let positions = weights.positions[first..].chunks_exact(dim.hidden);
        let tokens = sequence.ids.iter().zip(&sequence.types);
        for (((&id, &kind), position), row) in tokens.zip(positions).zip(&mut rows) {
            weights.words.row(id, &mut stored, row)?;
            let kind = token_type(weights, dim, kind)?;
            for ((sum, position), kind) in row.iter_mut().zip(position).zip(kind) {
                *sum += position + kind;
            }
            layer_norm(row, &weights.norm.scale, &weights.norm.shift, dim.epsilon);
        }
    }
    weights.words.check_unchanged()?;
    Ok(states)
}

/// The embedding of a token type, `[hidden]`.
fn token_type<'w>(weights: &'w Weights, dim: &Dimensions, kind: u32) -> Result<&'w [f32]> {
    let unknown = EncoderError::UnknownTokenType {
        token_type: kind,
        types: dim.token_types,
    };
    let mut kinds = weights.types.chunks_exact(dim.hidden);
    kinds.nth(kind as usize).ok_or(unknown)
}

/// Self-attention of each sequence.
///
/// # Shapes
/// `projected`: `[rows, 3 * hidden]`, query, key and value; returns `[rows, hidden]`.
fn attend(projected: &Rows, dim: &Dimensions, sequences: &[&Sequence]) -> Rows {
    let hidden = dim.hidden;
    let width = hidden / dim.heads;
    let scale = 1.0 / (width as f32).sqrt();
    let longest = sequences.iter().map(|sequence| sequence.len()).max();
    let mut cache = HeadCache::new(width, longest.unwrap_or(0));
    let mut scratch = Scratch::default();
    let mut out = Rows::zeros(projected.count(), hidden);
    let mut first = 0;
    for sequence in sequences {
        let length = sequence.len();
        for head in 0..dim.heads {
            // The query, key or value of a token, where `part` is 0, 1 or 2.
            let part = |token: usize, part: usize| {
                &projected.row(first + token)[part * hidden + head * width..][..width]
            };
            for token in 0..length {
                cache.write(token, part(token, 1), part(token, 2));
            }
            let queries: Vec<Query<'_>> = (0..length)
                .map(|token| Query {
                    numbers: part(token, 0),
                    out: (first + token) * hidden + head * width,
                    from: 0,
                    to: length,
                })
                .collect();
            let keys = [Keys {
                cache: &cache,
                offset: 0,
                length,
            }];
            for queries in queries.chunks(QUERY_TILE) {
                attention::attend(queries, &keys, scale, width, &mut scratch, &mut out.numbers);
            }
        }
        first += length;
    }
    out
}

/// The affine map of each row.
pub(super) fn affine(linear: &Linear, x: &Rows) -> Result<Rows> {
    let product = linear.weight.product(x, Arithmetic::Integer);
    let mut out = product.map_err(EncoderError::Product)?;
    for row in out.numbers.chunks_exact_mut(linear.bias.len()) {
        add(row, &linear.bias);
    }
    Ok(out)
}

/// The residual connection and the normalization of each row, in place.
fn add_and_norm(states: &mut Rows, update: &Rows, norm: &Norm, epsilon: f32) {
    let width = states.width;
    let updates = update.numbers.chunks_exact(width);
    for (row, update) in states.numbers.chunks_exact_mut(width).zip(updates) {
        add(row, update);
        layer_norm(row, &norm.scale, &norm.shift, epsilon);
    }
}
