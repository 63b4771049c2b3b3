//! The forward pass of a network over a batch of sequences. The sequences are concatenated as rows of one matrix, so
//! nothing is padded or masked: the linear layers process all rows together, and attention each sequence by itself.
//! `tokens` tokenizes; callers pool.

use std::ops::Range;

use super::rotary::Rotation;
use super::weights::{Layer, Linear, Norm, Weights};
use super::{Activation, Network, Positions, relative};
use crate::encoder::error::EncoderError;
use crate::encoder::tokens::Sequence;
use crate::kernels::attention::{self, HeadCache, Keys, Query, Scratch};
use crate::kernels::elementwise::{add, gated_gelu, gated_silu, gelu};
use crate::kernels::matrix::Arithmetic;
use crate::kernels::norms::{layer_norm, rms_norm};
use crate::kernels::rows::Rows;

type Result<T> = std::result::Result<T, EncoderError>;

/// Queries that are processed together; their scores stay in the L2 cache.
const QUERY_TILE: usize = 48;

/// The final hidden states of the sequences, concatenated.
///
/// # Shapes
/// `sequences`: none longer than the model's positions; the result: `[sum of the lengths, hidden]`.
pub(in crate::encoder) fn hidden_states(
    weights: &Weights,
    network: &Network,
    sequences: &[&Sequence],
) -> Result<Rows> {
    let mut states = embed_tokens(weights, network, sequences)?;
    let mut attention = Attention::new(weights, network, sequences);
    for (number, layer) in weights.layers.iter().enumerate() {
        let attend = |rows: &Rows| {
            let projected = affine(&layer.attention, rows)?;
            affine(
                &layer.attention_out,
                &attention.attend(projected, layer, number),
            )
        };
        update(&mut states, layer.attention_norm.as_ref(), network, attend)?;
        let feed = |rows: &Rows| feed_forward(layer, network, rows);
        update(&mut states, Some(&layer.norm), network, feed)?;
    }
    if let Some(norm) = &weights.final_norm {
        norm_rows(&mut states, norm, network);
    }
    Ok(states)
}

/// Adds to each row the output of a part of a layer, which is normed before or after.
fn update(
    states: &mut Rows,
    norm: Option<&Norm>,
    network: &Network,
    part: impl FnOnce(&Rows) -> Result<Rows>,
) -> Result<()> {
    let change = match norm.filter(|_| network.family.norms_first()) {
        Some(norm) => {
            let mut normed = states.clone();
            norm_rows(&mut normed, norm, network);
            part(&normed)?
        }
        None => part(states)?,
    };
    let width = states.width;
    let changes = change.numbers.chunks_exact(width);
    for (row, change) in states.numbers.chunks_exact_mut(width).zip(changes) {
        add(row, change);
    }
    if let Some(norm) = norm.filter(|_| !network.family.norms_first()) {
        norm_rows(states, norm, network);
    }
    Ok(())
}

fn norm_rows(states: &mut Rows, norm: &Norm, network: &Network) {
    let Norm { scale, shift } = norm;
    for row in states.numbers.chunks_exact_mut(states.width) {
        match network.family.norms_by_root() {
            true => rms_norm(row, scale, network.epsilon),
            false => layer_norm(row, scale, shift, network.epsilon),
        }
    }
}

fn feed_forward(layer: &Layer, network: &Network, rows: &Rows) -> Result<Rows> {
    let mut wide = affine(&layer.widen, rows)?;
    let gated = match network.family.activation() {
        Activation::Gelu => {
            gelu(&mut wide.numbers);
            return affine(&layer.narrow, &wide);
        }
        Activation::GatedGelu => gated_gelu,
        Activation::GatedSilu => gated_silu,
    };
    let mut narrow = Rows::zeros(wide.count(), network.intermediate);
    let outs = narrow.numbers.chunks_exact_mut(network.intermediate);
    for (row, out) in wide.numbers.chunks_exact(wide.width).zip(outs) {
        gated(row, out);
    }
    affine(&layer.narrow, &narrow)
}

fn embed_tokens(weights: &Weights, network: &Network, sequences: &[&Sequence]) -> Result<Rows> {
    let hidden = network.hidden;
    let tokens: usize = sequences.iter().map(|sequence| sequence.len()).sum();
    let mut states = Rows::zeros(tokens, hidden);
    let first = match network.positions {
        Positions::Learned { first, .. } => first,
        Positions::Rotary(_) => 0,
    };
    let mut rows = states.numbers.chunks_exact_mut(hidden);
    let mut stored = Vec::new();
    for sequence in sequences {
        let mut positions = weights.positions.chunks_exact(hidden).skip(first);
        for (&id, &kind) in sequence.ids.iter().zip(&sequence.types) {
            let Some(row) = rows.next() else { break };
            weights.words.row(id, &mut stored, row)?;
            if let Some(position) = positions.next() {
                add(row, position);
            }
            if network.token_types > 0 {
                add(row, token_type(weights, network, kind)?);
            }
        }
    }
    weights.words.check_unchanged()?;
    if let Some(norm) = &weights.norm {
        norm_rows(&mut states, norm, network);
    }
    Ok(states)
}

/// The embedding of a token type, `[hidden]`.
fn token_type<'w>(weights: &'w Weights, network: &Network, kind: u32) -> Result<&'w [f32]> {
    let unknown = EncoderError::UnknownTokenType {
        token_type: kind,
        types: network.token_types,
    };
    let mut kinds = weights.types.chunks_exact(network.hidden);
    kinds.nth(kind as usize).ok_or(unknown)
}

/// Self-attention of each sequence of a batch, with state that is reused between layers.
struct Attention<'a> {
    network: &'a Network,
    sequences: &'a [&'a Sequence],
    longest: usize,
    cache: HeadCache,
    scratch: Scratch,
    /// The gains of scores by distance, one table per head; empty if attention has none.
    gains: Vec<Vec<f32>>,
    /// The rotations of each sequence in a layer; empty with learned positions.
    rotations: (usize, Vec<Rotation>),
}

impl<'a> Attention<'a> {
    fn new(weights: &Weights, network: &'a Network, sequences: &'a [&'a Sequence]) -> Self {
        let (heads, width) = (network.heads, network.head_width);
        let longest = sequences.iter().map(|sequence| sequence.len()).max();
        let longest = longest.unwrap_or(0);
        // Scores are scaled after adding the gains.
        let gains = |head| {
            let mut gains = relative::gains(&weights.relative, heads, head, longest);
            gains
                .iter_mut()
                .for_each(|gain| *gain *= (width as f32).sqrt());
            gains
        };
        let mut attention = Self {
            network,
            sequences,
            longest,
            cache: HeadCache::new(width, longest),
            scratch: Scratch::default(),
            gains: match weights.relative.is_empty() {
                true => Vec::new(),
                false => (0..heads).map(gains).collect(),
            },
            rotations: (0, Vec::new()),
        };
        attention.rotate_as(0);
        attention
    }

    /// Switches to the rotations of a layer.
    fn rotate_as(&mut self, layer: usize) {
        let Positions::Rotary(rotary) = &self.network.positions else {
            return;
        };
        let (made, rotations) = &self.rotations;
        if rotations.is_empty() || !rotary.is_shared(*made, layer) {
            let width = self.network.head_width;
            let rotation = |sequence: &&Sequence| rotary.rotation(layer, sequence.len(), width);
            self.rotations = (layer, self.sequences.iter().map(rotation).collect());
        }
    }

    /// # Shapes
    /// `projected`: `[rows, queries, keys and values]`; returns `[rows, queries]`.
    fn attend(&mut self, mut projected: Rows, layer: &Layer, number: usize) -> Rows {
        self.rotate_as(number);
        let network = self.network;
        let [queries, keys] = network.projected();
        if let Some([query, key]) = &layer.head_norms {
            for row in projected.numbers.chunks_exact_mut(projected.width) {
                let heads = row.chunks_exact_mut(network.head_width).enumerate();
                for (index, head) in heads.take(network.heads + network.kv_heads) {
                    let weight = if index < network.heads { query } else { key };
                    rms_norm(head, weight, network.epsilon);
                }
            }
        }
        let reach = match &network.positions {
            Positions::Rotary(rotary) => rotary.reach(number),
            Positions::Learned { .. } => None,
        };
        let mut out = Rows::zeros(projected.count(), queries);
        let mut first = 0;
        let sequences = self.sequences;
        for (index, sequence) in sequences.iter().enumerate() {
            let rows = first..first + sequence.len();
            if let Some(rotation) = self.rotations.1.get(index) {
                let width = projected.width;
                let own = &mut projected.numbers[rows.start * width..rows.end * width];
                rotation.apply(own, width, queries + keys);
            }
            for head in 0..network.heads {
                self.attend_head(&projected, rows.clone(), head, reach, &mut out);
            }
            first = rows.end;
        }
        out
    }

    /// One head's attention in a sequence, which is `rows` of `projected`.
    fn attend_head(
        &mut self,
        projected: &Rows,
        rows: Range<usize>,
        head: usize,
        reach: Option<usize>,
        out: &mut Rows,
    ) {
        let network = self.network;
        let width = network.head_width;
        let ([queries, keys], group) = (network.projected(), network.heads / network.kv_heads);
        let (first, length) = (rows.start, rows.len());
        let numbers = |token: usize, column| &projected.row(first + token)[column..][..width];
        if head.is_multiple_of(group) {
            let own = queries + head / group * width;
            for token in 0..length {
                self.cache
                    .write(token, numbers(token, own), numbers(token, own + keys));
            }
        }
        let gains = self.gains.get(head);
        let end = |token: usize| match (network.family.is_causal(), reach) {
            (true, _) => token + 1,
            (false, Some(reach)) => length.min(token + reach + 1),
            (false, None) => length,
        };
        let tokens: Vec<Query<'_>> = (0..length)
            .map(|token| Query {
                numbers: numbers(token, head * width),
                out: (first + token) * queries + head * width,
                from: reach.map_or(0, |reach| token.saturating_sub(reach)),
                to: end(token),
                gains: gains.map_or(&[], |gains| &gains[self.longest - 1 - token..]),
            })
            .collect();
        let keys = [Keys {
            cache: &self.cache,
            offset: 0,
            length,
        }];
        let scale = 1.0 / (width as f32).sqrt();
        let (scratch, out) = (&mut self.scratch, &mut out.numbers);
        for tokens in tokens.chunks(QUERY_TILE) {
            attention::attend(tokens, &keys, scale, width, scratch, out);
        }
    }
}

/// The affine map of each row.
pub(in crate::encoder) fn affine(linear: &Linear, x: &Rows) -> Result<Rows> {
    let product = linear.weight.product(x, Arithmetic::Integer);
    let mut out = product.map_err(EncoderError::Product)?;
    if !linear.bias.is_empty() {
        for row in out.numbers.chunks_exact_mut(linear.bias.len()) {
            add(row, &linear.bias);
        }
    }
    Ok(out)
}
