//! Attention of new tokens to all tokens of their sequences. Query heads that share a key head are computed together.

use std::cell::RefCell;

use rayon::prelude::*;

use super::segment::{CpuSequence, Segment};
use crate::decoder::graph::backend::{AttentionLayer, Input, Rotation, Sequence};
use crate::kernels::attention::{self, Keys, Query, Scratch};
use crate::kernels::norms::rms_norm_inlined;
use crate::kernels::rotation::rotate_inlined;
use crate::kernels::rows::{Rows, task_rows};
use crate::kernels::wide::widest;

/// Rows per task.
const TASK_ROWS: usize = 16;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Norms queries and keys if the model has such norms, rotates them in every row, and multiplies queries by their
/// factors, if any.
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
        .enumerate()
        .with_min_len(task_rows(projected_width))
        .for_each(|(index, ((row, cos), sin))| {
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
                            rms_norm_inlined(head, weight, heads.epsilon);
                        }
                        rotate_inlined(head, cos, sin);
                    }
                    if let Some(factor) = rotation.query_factors.get(index) {
                        let queries = &mut row[..heads.queries * width];
                        queries.iter_mut().for_each(|x| *x *= factor);
                    }
                },
            );
        });
}

/// Stores every row's keys and values after those of its sequence.
pub(super) fn store(
    projected: &Rows,
    layer: &AttentionLayer<'_, Vec<f32>>,
    inputs: &mut [Input<'_, CpuSequence>],
) {
    let heads = layer.heads;
    let width = heads.width;
    let mut first = 0;
    for Input { tokens, sequence } in inputs {
        let segment = &mut sequence.own;
        segment.reserve(tokens.len());
        for ahead in 0..tokens.len() {
            let keys_values = &projected.row(first + ahead)[heads.queries * width..];
            let (keys, values) = keys_values.split_at(heads.keys * width);
            for (head, (key, value)) in keys.chunks(width).zip(values.chunks(width)).enumerate() {
                segment.write(layer.index, head, ahead, key, value);
            }
        }
        first += tokens.len();
    }
}

/// Consecutive rows of one sequence, and where their results go.
struct Task<'a> {
    sequence: &'a CpuSequence,
    /// The first row's index among all rows.
    first: usize,
    /// The first row's position in the sequence.
    position: usize,
    out: &'a mut [f32],
}

/// Computes attention of every row to its sequence up to itself.
pub(super) fn attend(
    projected: &Rows,
    layer: &AttentionLayer<'_, Vec<f32>>,
    inputs: &[Input<'_, CpuSequence>],
) -> Rows {
    let heads = layer.heads;
    let width = heads.queries * heads.width;
    let mut out = Rows::zeros(projected.count(), width);
    let mut tasks = Vec::new();
    let mut left = out.numbers.as_mut_slice();
    let mut first = 0;
    for input in inputs {
        let (own, others) = left.split_at_mut(input.tokens.len() * width);
        left = others;
        for (index, out) in own.chunks_mut(TASK_ROWS * width).enumerate() {
            tasks.push(Task {
                sequence: input.sequence,
                first: first + index * TASK_ROWS,
                position: input.sequence.length() + index * TASK_ROWS,
                out,
            });
        }
        first += input.tokens.len();
    }
    tasks
        .par_iter_mut()
        .for_each(|task| SCRATCH.with_borrow_mut(|scratch| task.run(projected, layer, scratch)));
    out
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
                        from: layer.window.map_or(0, |window| to.saturating_sub(window)),
                        to,
                        gains: &[],
                    }
                })
                .collect();
            attention::attend(&queries, &keys, heads.scale, width, scratch, self.out);
        }
    }

    /// The segments as a head reads them. The last one holds tokens that are not counted yet.
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
                let keys = Keys {
                    cache: segment.head(layer, head),
                    offset,
                    length: if index == last {
                        length - offset
                    } else {
                        segment.length
                    },
                };
                offset += keys.length;
                keys
            })
            .collect()
    }
}
