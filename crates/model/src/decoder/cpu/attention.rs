//! Attention of new tokens to all that their sequences hold.
//!
//! Query heads that share a key head are worked on together, six rows at a time: six rows of queries
//! against two vectors of keys, and six rows of weights against two vectors of values, stand in
//! registers at once.

use std::cell::RefCell;
use std::ops::Range;

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
const TILE: usize = 6;

/// Keys, or values, that all rows of a task are held against before the next ones: as many as stay
/// in the first-level cache.
const NEAR: usize = 4 * LANES;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Memory that a task works in, kept from task to task.
#[derive(Default)]
struct Scratch {
    /// As many a row as the sequence is long.
    scores: Vec<f32>,
    /// The queries in the order in which they are read.
    packed: Vec<f32>,
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
        .for_each(|task| SCRATCH.with_borrow_mut(|scratch| task.run(projected, layer, scratch)));
    out
}

/// A row of queries of one head: the row, its place in the output, and how far it sees.
struct Query<'a> {
    numbers: &'a [f32],
    out: usize,
    /// The positions that it sees.
    from: usize,
    to: usize,
}

/// A segment as one head reads it.
struct Keys<'a> {
    /// `[blocks, width, lanes]`.
    keys: &'a [f32],
    /// `[capacity, stride]`.
    values: &'a [f32],
    /// The position of its first token.
    offset: usize,
    length: usize,
}

impl Task<'_> {
    fn run(
        &mut self,
        projected: &Rows,
        layer: &AttentionLayer<'_, Vec<f32>>,
        scratch: &mut Scratch,
    ) {
        let heads = layer.heads;
        let width = heads.width;
        let rows = self.out.len() / (heads.queries * width);
        let group = heads.queries / heads.keys;
        let length = self.position + rows;
        // Blocks of keys are computed whole, so the last may reach behind the end.
        let stride = (length + LANES).next_multiple_of(LANES);
        let Scratch { scores, packed } = scratch;
        scores.resize(scores.len().max(rows * group * stride), 0.0);
        let segments = self.sequence.segments();
        for key_head in 0..heads.keys {
            let keys = self.keys(&segments, layer.index, key_head, length);
            let queries: Vec<Query<'_>> = (0..rows * group)
                .map(|index| {
                    let (row, head) = (index / group, key_head * group + index % group);
                    let to = self.position + row + 1;
                    Query {
                        numbers: &projected.row(self.first + row)[head * width..][..width],
                        out: (row * heads.queries + head) * width,
                        from: heads.window.map_or(0, |window| to.saturating_sub(window)),
                        to,
                    }
                })
                .collect();
            packed.clear();
            for tile in queries.chunks(TILE) {
                for place in 0..width {
                    packed.extend(tile.iter().map(|query| query.numbers[place]));
                }
            }
            Arch::new().dispatch(HeadPass {
                queries: &queries,
                packed,
                segments: &keys,
                width,
                scores,
                stride,
                out: self.out,
            });
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
        let mut offset = 0;
        segments
            .iter()
            .enumerate()
            .map(|(index, segment)| {
                let cache = segment.head(layer, head);
                let keys = Keys {
                    keys: &cache.keys,
                    values: &cache.values,
                    offset,
                    length: if index == last {
                        length - offset
                    } else {
                        segment.length()
                    },
                };
                offset += keys.length;
                keys
            })
            .collect()
    }
}

/// What is done with the keys or values near one another.
#[derive(Clone, Copy)]
enum Step {
    /// Keys to scores.
    Score,
    /// Values, by the weights that scores became, to the output.
    Collect,
}

/// Attention of the rows of one task that read the same key head.
struct HeadPass<'a> {
    queries: &'a [Query<'a>],
    /// The queries' numbers in tiles: `[tiles, width, rows of the tile]`.
    packed: &'a [f32],
    segments: &'a [Keys<'a>],
    width: usize,
    /// `[queries, stride]`.
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
        self.weigh(from, to);
        for query in self.queries {
            self.out[query.out..][..self.width].fill(0.0);
        }
        self.walk(simd, from..to, Step::Collect);
    }
}

impl HeadPass<'_> {
    /// Takes a step for all queries and all that they see, tile by tile, near by near.
    #[inline(always)]
    fn walk<S: Simd>(&mut self, simd: S, seen: Range<usize>, step: Step) {
        for segment in self.segments {
            let within =
                |position: usize| position.saturating_sub(segment.offset).min(segment.length);
            let (first, to) = (within(seen.start), within(seen.end));
            let from = match step {
                Step::Score => first / LANES * LANES,
                Step::Collect => first,
            };
            for near in (from..to).step_by(NEAR) {
                let near = near..to.min(near + NEAR);
                for tile in (0..self.queries.len()).step_by(TILE) {
                    let near = near.clone();
                    match self.queries.len() - tile {
                        1 => self.step::<S, 1>(simd, segment, near, tile, step),
                        2 => self.step::<S, 2>(simd, segment, near, tile, step),
                        3 => self.step::<S, 3>(simd, segment, near, tile, step),
                        4 => self.step::<S, 4>(simd, segment, near, tile, step),
                        5 => self.step::<S, 5>(simd, segment, near, tile, step),
                        _ => self.step::<S, TILE>(simd, segment, near, tile, step),
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
        near: Range<usize>,
        tile: usize,
        step: Step,
    ) {
        match step {
            Step::Score => self.score::<S, ROWS>(simd, segment, near, tile),
            Step::Collect => self.collect::<S, ROWS>(simd, segment, near, tile),
        }
    }

    /// The products of some queries and some keys. A block that reaches behind its segment is
    /// overwritten by the next segment.
    #[inline(always)]
    fn score<S: Simd, const ROWS: usize>(
        &mut self,
        simd: S,
        segment: &Keys<'_>,
        near: Range<usize>,
        tile: usize,
    ) {
        let (queries, _) =
            self.packed[tile * self.width..][..ROWS * self.width].as_chunks::<ROWS>();
        for start in near.step_by(LANES) {
            let block = &segment.keys[start * self.width..][..LANES * self.width];
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
                    let at = (tile + row) * self.stride + segment.offset + start;
                    let scores = &mut self.scores[at + pair * 2 * S::F32_LANES..];
                    let (scores, _) = S::as_mut_simd_f32s(&mut scores[..2 * S::F32_LANES]);
                    scores.copy_from_slice(sums);
                }
            }
        }
    }

    /// Scores to weights.
    #[inline(always)]
    fn weigh(&mut self, from: usize, to: usize) {
        let scale = 1.0 / (self.width as f32).sqrt();
        for (row, query) in self.queries.iter().enumerate() {
            let scores = &mut self.scores[row * self.stride..][..to];
            scores[from..query.from].fill(0.0);
            scores[query.to..].fill(0.0);
            softmax_inlined(&mut scores[query.from..query.to], scale);
        }
    }

    /// Adds some values by their weights to the output.
    #[inline(always)]
    fn collect<S: Simd, const ROWS: usize>(
        &mut self,
        simd: S,
        segment: &Keys<'_>,
        near: Range<usize>,
        tile: usize,
    ) {
        let queries = &self.queries[tile..tile + ROWS];
        let vectors = 2 * S::F32_LANES;
        let padded = self.width.next_multiple_of(LANES);
        let values = &segment.values[near.start * padded..near.end * padded];
        let mut weights = [[0.0; ROWS]; NEAR];
        for row in 0..ROWS {
            let at = (tile + row) * self.stride + segment.offset + near.start;
            for (weights, &weight) in weights.iter_mut().zip(&self.scores[at..][..near.len()]) {
                weights[row] = weight;
            }
        }
        for column in (0..self.width).step_by(vectors) {
            let columns = vectors.min(self.width - column);
            let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
            for (query, sums) in queries.iter().zip(&mut sums) {
                let numbers: &mut [f32] = bytemuck::cast_slice_mut(sums);
                numbers[..columns].copy_from_slice(&self.out[query.out + column..][..columns]);
            }
            for (values, weights) in values.chunks_exact(padded).zip(&weights) {
                let (values, _) = S::as_simd_f32s(&values[column..][..vectors]);
                let (left, right) = (values[0], values[1]);
                for (sums, &weight) in sums.iter_mut().zip(weights) {
                    let weight = simd.splat_f32s(weight);
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
