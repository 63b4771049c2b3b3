//! Attention of new tokens to all that their sequences hold.
//!
//! Query heads that share a key head are worked on together, four rows at a time: four rows of
//! queries against two vectors of keys, and four rows of weights against two vectors of values,
//! stand in registers at once.

use std::cell::RefCell;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::elementwise::{norm_inlined, softmax_inlined};
use super::rows::{Rows, task_rows};
use super::segment::{CpuSequence, Segment};
use crate::decoder::backend::{AttentionLayer, Run, Sequence};
use crate::decoder::wide::{LANES, widest};

/// Cosines and sines, each `[rows, half]`.
pub(in crate::decoder) struct Rotation {
    pub(super) cos: Vec<f32>,
    pub(super) sin: Vec<f32>,
    pub(super) half: usize,
}

/// Rows that one task works on.
const TASK_ROWS: usize = 16;

/// Rows of queries that stand in registers at once.
const TILE: usize = 4;

thread_local! {
    /// Scores of a tile. Kept, because it is as long as the sequence.
    static SCORES: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Norms, where the model has them, and rotates the queries and keys of every row.
pub(super) fn rotate(
    projected: &mut Rows,
    layer: &AttentionLayer<'_, Vec<f32>>,
    rotation: &Rotation,
) {
    let heads = layer.heads;
    let (half, width) = (rotation.half, heads.width);
    let projected_width = projected.width;
    projected
        .numbers
        .par_chunks_mut(projected.width)
        .zip(rotation.cos.par_chunks(half))
        .zip(rotation.sin.par_chunks(half))
        .with_min_len(task_rows(projected_width))
        .for_each(|((row, cos), sin)| {
            widest(
                #[inline(always)]
                || {
                    let rotated = &mut row[..(heads.queries + heads.keys) * width];
                    for (index, head) in rotated.chunks_mut(width).enumerate() {
                        if let Some(norms) = layer.norms {
                            let weight = if index < heads.queries {
                                &norms.query
                            } else {
                                &norms.key
                            };
                            norm_inlined(head, weight, heads.epsilon);
                        }
                        let (first, second) = head.split_at_mut(half);
                        for (((x, y), &cos), &sin) in first.iter_mut().zip(second).zip(cos).zip(sin)
                        {
                            (*x, *y) = (*x * cos - *y * sin, *y * cos + *x * sin);
                        }
                    }
                },
            );
        });
}

/// Stores every row's keys and values behind those of its sequence.
pub(super) fn store(
    projected: &Rows,
    layer: &AttentionLayer<'_, Vec<f32>>,
    runs: &mut [Run<'_, CpuSequence>],
) {
    let heads = layer.heads;
    let width = heads.width;
    let mut first = 0;
    for run in runs {
        let segment = run.sequence.own();
        segment.reserve(run.tokens, width);
        for ahead in 0..run.tokens {
            let keys_values = &projected.row(first + ahead)[heads.queries * width..];
            let (keys, values) = keys_values.split_at(heads.keys * width);
            for (head, (key, value)) in keys.chunks(width).zip(values.chunks(width)).enumerate() {
                segment.write(layer.index, head, ahead, key, value);
            }
        }
        first += run.tokens;
    }
}

/// Rows of one sequence that follow one another, and where their results go.
struct Task<'a> {
    sequence: &'a CpuSequence,
    /// The first row's index among all rows.
    first: usize,
    /// The first row's position in the sequence.
    position: usize,
    out: &'a mut [f32],
}

/// Lets every row attend to its sequence up to itself.
pub(super) fn attend(
    projected: &Rows,
    layer: &AttentionLayer<'_, Vec<f32>>,
    runs: &[Run<'_, CpuSequence>],
) -> Rows {
    let heads = layer.heads;
    let width = heads.queries * heads.width;
    let mut out = Rows::zeros(projected.count(), width);
    let mut tasks = Vec::new();
    let mut left = out.numbers.as_mut_slice();
    let mut first = 0;
    for run in runs {
        let mut done = 0;
        while done < run.tokens {
            let rows = TASK_ROWS.min(run.tokens - done);
            let (mine, others) = left.split_at_mut(rows * width);
            left = others;
            tasks.push(Task {
                sequence: run.sequence,
                first: first + done,
                position: run.sequence.length() + done,
                out: mine,
            });
            done += rows;
        }
        first += run.tokens;
    }
    tasks
        .par_iter_mut()
        .for_each(|task| SCORES.with_borrow_mut(|scores| task.run(projected, layer, scores)));
    out
}

/// A row of queries of one head: the row, its place in the output, and how far it sees.
#[derive(Clone, Copy)]
struct Query<'a> {
    numbers: &'a [f32],
    out: usize,
    /// The positions that it sees.
    from: usize,
    to: usize,
}

/// A segment as one head reads it.
struct Keys<'a> {
    keys: &'a [f32],
    values: &'a [f32],
    capacity: usize,
    length: usize,
}

impl Task<'_> {
    fn run(
        &mut self,
        projected: &Rows,
        layer: &AttentionLayer<'_, Vec<f32>>,
        scores: &mut Vec<f32>,
    ) {
        let heads = layer.heads;
        let width = heads.width;
        let rows = self.out.len() / (heads.queries * width);
        let group = heads.queries / heads.keys;
        let length = self.position + rows;
        // Blocks of keys are computed whole, so the last may reach behind the end.
        let stride = (length + LANES).next_multiple_of(LANES);
        if scores.len() < TILE * stride {
            scores.resize(TILE * stride, 0.0);
        }
        let segments = self.sequence.segments();
        let mut queries = Vec::with_capacity(rows * group);
        for key_head in 0..heads.keys {
            let keys = self.keys(&segments, layer.index, key_head, length);
            queries.clear();
            for row in 0..rows {
                let to = self.position + row + 1;
                let from = heads.window.map_or(0, |window| to.saturating_sub(window));
                for head in key_head * group..(key_head + 1) * group {
                    queries.push(Query {
                        numbers: &projected.row(self.first + row)[head * width..][..width],
                        out: (row * heads.queries + head) * width,
                        from,
                        to,
                    });
                }
            }
            for tile in queries.chunks(TILE) {
                match *tile {
                    [a] => attend_tile([a], &keys, width, scores, stride, self.out),
                    [a, b] => attend_tile([a, b], &keys, width, scores, stride, self.out),
                    [a, b, c] => attend_tile([a, b, c], &keys, width, scores, stride, self.out),
                    [a, b, c, d] => {
                        attend_tile([a, b, c, d], &keys, width, scores, stride, self.out);
                    }
                    _ => {}
                }
            }
        }
    }

    /// The segments as a head reads them. The last holds tokens that do not count yet.
    fn keys<'a>(
        &self,
        segments: &[&'a Segment],
        layer: usize,
        head: usize,
        length: usize,
    ) -> Vec<Keys<'a>> {
        let last = segments.len() - 1;
        let own_length = length - self.sequence.shared();
        segments
            .iter()
            .enumerate()
            .map(|(index, segment)| {
                let cache = segment.head(layer, head);
                Keys {
                    keys: &cache.keys,
                    values: &cache.values,
                    capacity: segment.capacity(),
                    length: if index == last {
                        own_length
                    } else {
                        segment.length()
                    },
                }
            })
            .collect()
    }
}

/// Attention of `ROWS` rows of queries, which all read the same keys.
fn attend_tile<const ROWS: usize>(
    queries: [Query<'_>; ROWS],
    segments: &[Keys<'_>],
    width: usize,
    scores: &mut [f32],
    stride: usize,
    out: &mut [f32],
) {
    Arch::new().dispatch(Tile {
        queries,
        segments,
        width,
        scores,
        stride,
        out,
    });
}

struct Tile<'a, const ROWS: usize> {
    queries: [Query<'a>; ROWS],
    segments: &'a [Keys<'a>],
    width: usize,
    /// `[ROWS, stride]`.
    scores: &'a mut [f32],
    stride: usize,
    out: &'a mut [f32],
}

impl<const ROWS: usize> WithSimd for Tile<'_, ROWS> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let first = self.queries.iter().map(|q| q.from).min().unwrap_or(0);
        let end = self.queries.iter().map(|q| q.to).max().unwrap_or(0);
        self.score(simd, first, end);
        self.weigh(first, end);
        self.collect(simd, first, end);
    }
}

impl<const ROWS: usize> Tile<'_, ROWS> {
    /// The products of queries and keys. A block that reaches behind its segment is overwritten by
    /// the next segment.
    #[inline(always)]
    fn score<S: Simd>(&mut self, simd: S, first: usize, end: usize) {
        let block = 2 * S::F32_LANES;
        let mut offset = 0;
        for segment in self.segments {
            let from = first.saturating_sub(offset).min(segment.length) / block * block;
            let to = end.saturating_sub(offset).min(segment.length);
            for start in (from..to).step_by(block) {
                let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
                for place in 0..self.width {
                    let keys = &segment.keys[place * segment.capacity + start..][..block];
                    let (keys, _) = S::as_simd_f32s(keys);
                    let (left, right) = (keys[0], keys[1]);
                    for (sums, query) in sums.iter_mut().zip(&self.queries) {
                        let number = simd.splat_f32s(query.numbers[place]);
                        sums[0] = simd.mul_add_f32s(number, left, sums[0]);
                        sums[1] = simd.mul_add_f32s(number, right, sums[1]);
                    }
                }
                for (row, sums) in sums.iter().enumerate() {
                    let scores = &mut self.scores[row * self.stride + offset + start..][..block];
                    let (scores, _) = S::as_mut_simd_f32s(scores);
                    scores.copy_from_slice(sums);
                }
            }
            offset += segment.length;
        }
    }

    /// Scores to weights.
    #[inline(always)]
    fn weigh(&mut self, first: usize, end: usize) {
        let scale = 1.0 / (self.width as f32).sqrt();
        for (row, query) in self.queries.iter().enumerate() {
            let scores = &mut self.scores[row * self.stride..][..end];
            scores[first..query.from].fill(0.0);
            scores[query.to..].fill(0.0);
            softmax_inlined(&mut scores[query.from..query.to], scale);
        }
    }

    /// The sums of values by their weights.
    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, first: usize, end: usize) {
        let block = 2 * S::F32_LANES;
        let padded = self.width.next_multiple_of(LANES);
        for column in (0..self.width).step_by(block) {
            let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
            let mut offset = 0;
            for segment in self.segments {
                let from = first.saturating_sub(offset).min(segment.length);
                let to = end.saturating_sub(offset).min(segment.length);
                for place in from..to {
                    let values = &segment.values[place * padded + column..][..block];
                    let (values, _) = S::as_simd_f32s(values);
                    let (left, right) = (values[0], values[1]);
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let weight = self.scores[row * self.stride + offset + place];
                        let weight = simd.splat_f32s(weight);
                        sums[0] = simd.mul_add_f32s(weight, left, sums[0]);
                        sums[1] = simd.mul_add_f32s(weight, right, sums[1]);
                    }
                }
                offset += segment.length;
            }
            let columns = block.min(self.width - column);
            for (query, sums) in self.queries.iter().zip(&sums) {
                let numbers: &[f32] = bytemuck::cast_slice(sums);
                self.out[query.out + column..][..columns].copy_from_slice(&numbers[..columns]);
            }
        }
    }
}
