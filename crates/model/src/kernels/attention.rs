//! Attention of query rows that share their keys and values.
//!
//! Register tiles are six rows of queries by two vectors of keys, and six rows of weights by two
//! vectors of values.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::elementwise::softmax_inlined;
use super::wide::LANES;

/// Query rows of a register tile.
const TILE: usize = 6;

/// Keys, or values, that all queries are multiplied with before the next ones: as many as fit into the L1 cache.
const KEY_TILE: usize = 4 * LANES;

/// The KV cache of one attention head, in the layout that attention reads. Entries after the written tokens are zero
/// or stale, and never used.
#[derive(Clone)]
pub(crate) struct HeadCache {
    width: usize,
    /// In blocks of [`LANES`] keys, each transposed: `[blocks, width, lanes]`.
    keys: Vec<f32>,
    /// `[capacity, stride]`; the stride is the width rounded up to whole lanes.
    values: Vec<f32>,
}

impl HeadCache {
    /// A cache for `tokens` tokens, each with a key and a value of `width` numbers.
    pub(crate) fn new(width: usize, tokens: usize) -> Self {
        let mut cache = Self {
            width,
            keys: Vec::new(),
            values: Vec::new(),
        };
        cache.resize(tokens);
        cache
    }

    /// Changes the capacity to `tokens` tokens in all.
    pub(crate) fn resize(&mut self, tokens: usize) {
        let capacity = tokens.next_multiple_of(LANES);
        self.keys.resize(capacity * self.width, 0.0);
        self.values
            .resize(capacity * self.width.next_multiple_of(LANES), 0.0);
    }

    /// Writes the key and value of the token at `position`.
    pub(crate) fn write(&mut self, position: usize, key: &[f32], value: &[f32]) {
        let block = &mut self.keys[position / LANES * LANES * self.width..];
        for (row, &number) in block.chunks_mut(LANES).zip(key) {
            row[position % LANES] = number;
        }
        let stride = self.width.next_multiple_of(LANES);
        self.values[position * stride..][..value.len()].copy_from_slice(value);
    }
}

/// A query row: its numbers, its offset in the output, and the positions that it attends to.
pub(crate) struct Query<'a> {
    pub(crate) numbers: &'a [f32],
    pub(crate) out: usize,
    /// The positions that it attends to, `from..to`.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The gains of its products at each position, added before scaling; empty for none.
    pub(crate) gains: &'a [f32],
}

/// A segment of consecutive tokens; a sequence may have several.
pub(crate) struct Keys<'a> {
    pub(crate) cache: &'a HeadCache,
    /// The position of the first token.
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

/// Buffers that are reused between passes.
#[derive(Default)]
pub(crate) struct Scratch {
    /// `[queries, stride]`; a row spans the sequence.
    scores: Vec<f32>,
    /// The queries packed in tiles: `[tiles, width, rows of the tile]`.
    packed: Vec<f32>,
}

/// Scaled dot-product attention of queries over segments: values weighted by
/// `softmax(scale * (query · keys + gains))`.
///
/// # Shapes
/// Each query writes `[width]` at its offset in `out`.
pub(crate) fn attend(
    queries: &[Query<'_>],
    segments: &[Keys<'_>],
    scale: f32,
    width: usize,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    let Scratch { scores, packed } = scratch;
    let end = queries.iter().map(|query| query.to).max().unwrap_or(0);
    // Blocks of keys are computed whole, so the last may extend past the end.
    let stride = (end + LANES).next_multiple_of(LANES);
    scores.resize(scores.len().max(queries.len() * stride), 0.0);
    packed.clear();
    for tile in queries.chunks(TILE) {
        for place in 0..width {
            packed.extend(tile.iter().map(|query| query.numbers[place]));
        }
    }
    Arch::new().dispatch(HeadPass {
        queries,
        packed,
        segments,
        scale,
        width,
        scores,
        stride,
        out,
    });
}

/// The operation on a tile of keys or values.
#[derive(Clone, Copy)]
enum Step {
    /// Computes scores from keys.
    Score,
    /// Adds values, weighted by the softmax of the scores, to the output.
    Accumulate,
}

/// The part of [`attend`] that runs with the widest vector instructions.
struct HeadPass<'a> {
    queries: &'a [Query<'a>],
    packed: &'a [f32],
    segments: &'a [Keys<'a>],
    scale: f32,
    width: usize,
    scores: &'a mut [f32],
    stride: usize,
    out: &'a mut [f32],
}

impl WithSimd for HeadPass<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let from = self.queries.iter().map(|q| q.from).min().unwrap_or(0);
        let to = self.queries.iter().map(|q| q.to).max().unwrap_or(0);
        self.walk(simd, from..to, Step::Score);
        self.softmax(from, to);
        for query in self.queries {
            self.out[query.out..][..self.width].fill(0.0);
        }
        self.walk(simd, from..to, Step::Accumulate);
    }
}

impl HeadPass<'_> {
    /// Runs a step for all queries and all positions that they attend to, tile by tile.
    #[inline(always)]
    fn walk<S: Simd>(&mut self, simd: S, attended: Range<usize>, step: Step) {
        for segment in self.segments {
            let within =
                |position: usize| position.saturating_sub(segment.offset).min(segment.length);
            let (first, to) = (within(attended.start), within(attended.end));
            let from = match step {
                Step::Score => first / LANES * LANES,
                Step::Accumulate => first,
            };
            for positions in (from..to).step_by(KEY_TILE) {
                let positions = positions..to.min(positions + KEY_TILE);
                for tile in (0..self.queries.len()).step_by(TILE) {
                    let positions = positions.clone();
                    match self.queries.len() - tile {
                        1 => self.step::<S, 1>(simd, segment, positions, tile, step),
                        2 => self.step::<S, 2>(simd, segment, positions, tile, step),
                        3 => self.step::<S, 3>(simd, segment, positions, tile, step),
                        4 => self.step::<S, 4>(simd, segment, positions, tile, step),
                        5 => self.step::<S, 5>(simd, segment, positions, tile, step),
                        _ => self.step::<S, TILE>(simd, segment, positions, tile, step),
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn step<S: Simd, const ROWS: usize>(
        &mut self,
        simd: S,
        segment: &Keys<'_>,
        positions: Range<usize>,
        tile: usize,
        step: Step,
    ) {
        match step {
            Step::Score => self.score::<S, ROWS>(simd, segment, positions, tile),
            Step::Accumulate => self.accumulate::<S, ROWS>(simd, segment, positions, tile),
        }
    }

    /// The products of a tile of queries with a tile of keys. What a block writes past the end of its segment, the
    /// next segment overwrites.
    #[inline(always)]
    fn score<S: Simd, const ROWS: usize>(
        &mut self,
        simd: S,
        segment: &Keys<'_>,
        positions: Range<usize>,
        tile: usize,
    ) {
        let (queries, _) =
            self.packed[tile * self.width..][..ROWS * self.width].as_chunks::<ROWS>();
        for start in positions.step_by(LANES) {
            let block = &segment.cache.keys[start * self.width..][..LANES * self.width];
            let (block, _) = block.as_chunks::<LANES>();
            for pair in 0..LANES / (2 * S::F32_LANES) {
                let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
                for (keys, queries) in block.iter().zip(queries) {
                    let (keys, _) = S::as_simd_f32s(keys);
                    let (left, right) = (keys[2 * pair], keys[2 * pair + 1]);
                    for (sums, &query) in sums.iter_mut().zip(queries) {
                        let query = simd.splat_f32s(query);
                        sums[0] = simd.mul_add_f32s(query, left, sums[0]);
                        sums[1] = simd.mul_add_f32s(query, right, sums[1]);
                    }
                }
                for (row, sums) in sums.iter().enumerate() {
                    let offset = (tile + row) * self.stride + segment.offset + start;
                    let scores = &mut self.scores[offset + pair * 2 * S::F32_LANES..];
                    let (scores, _) = S::as_mut_simd_f32s(&mut scores[..2 * S::F32_LANES]);
                    scores.copy_from_slice(sums);
                }
            }
        }
    }

    /// Replaces scores by their softmax.
    #[inline(always)]
    fn softmax(&mut self, from: usize, to: usize) {
        for (row, query) in self.queries.iter().enumerate() {
            let scores = &mut self.scores[row * self.stride..][..to];
            scores[from..query.from].fill(0.0);
            scores[query.to..].fill(0.0);
            if !query.gains.is_empty() {
                let gains = &query.gains[query.from..];
                for (score, gain) in scores[query.from..query.to].iter_mut().zip(gains) {
                    *score += gain;
                }
            }
            softmax_inlined(&mut scores[query.from..query.to], self.scale);
        }
    }

    /// Adds a tile of weighted values to the output.
    #[inline(always)]
    fn accumulate<S: Simd, const ROWS: usize>(
        &mut self,
        simd: S,
        segment: &Keys<'_>,
        positions: Range<usize>,
        tile: usize,
    ) {
        let queries = &self.queries[tile..tile + ROWS];
        let vectors = 2 * S::F32_LANES;
        let padded = self.width.next_multiple_of(LANES);
        let values = &segment.cache.values[positions.start * padded..positions.end * padded];
        let count = positions.len();
        let weights: [&[f32]; ROWS] = std::array::from_fn(|row| {
            let offset = (tile + row) * self.stride + segment.offset + positions.start;
            &self.scores[offset..offset + count]
        });
        for column in (0..self.width).step_by(vectors) {
            let columns = vectors.min(self.width - column);
            let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
            for (query, sums) in queries.iter().zip(&mut sums) {
                let numbers: &mut [f32] = bytemuck::cast_slice_mut(sums);
                numbers[..columns].copy_from_slice(&self.out[query.out + column..][..columns]);
            }
            for (place, values) in values.chunks_exact(padded).take(count).enumerate() {
                let (values, _) = S::as_simd_f32s(&values[column..][..vectors]);
                let (left, right) = (values[0], values[1]);
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    let weight = simd.splat_f32s(weights[place]);
                    sums[0] = simd.mul_add_f32s(weight, left, sums[0]);
                    sums[1] = simd.mul_add_f32s(weight, right, sums[1]);
                }
            }
            for (query, sums) in queries.iter().zip(&sums) {
                let numbers: &[f32] = bytemuck::cast_slice(sums);
                self.out[query.out + column..][..columns].copy_from_slice(&numbers[..columns]);
            }
        }
    }
}
