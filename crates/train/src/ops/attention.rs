//! Causal attention within sequences that stand one behind the other, with rotary positions. Query
//! heads that share a key head are worked on together. Backwards the weights are computed again
//! instead of being kept, so that memory grows with the tokens and not with their square.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp3, D, Layout, Result, Shape, Tensor};
use ken_model::kernels::{exp_of_nonpositive, greatest, sum, widest};
use rayon::prelude::*;

use super::memory::{is_slice, returned, slice, with_slice};
use super::product::{Matrix, multiply};

/// Positions that attend together. What they see of one another is computed in vain for half of
/// it, so blocks are short.
const BLOCK: usize = 64;

/// Heads, sequences and the rotation of each row.
#[derive(Debug)]
pub(crate) struct AttentionShape {
    /// The rows of each sequence; together all rows, in order.
    pub(crate) spans: Vec<Range<usize>>,
    /// Query heads.
    pub(crate) heads: usize,
    /// Key and value heads; divides `heads`.
    pub(crate) kv_heads: usize,
    /// Width of a head.
    pub(crate) width: usize,
    /// A token attends to at most this many tokens, itself included.
    pub(crate) window: Option<usize>,
    /// Cosines of each row's rotation, `[rows, width / 2]`.
    pub(crate) cos: Vec<f32>,
    /// Sines, as the cosines.
    pub(crate) sin: Vec<f32>,
}

/// Rotates queries and keys and lets each row attend to its sequence up to itself.
///
/// # Shapes
/// `queries`: `[rows, heads * width]`; `keys`, `values`: `[rows, kv_heads * width]`; returns
/// `[rows, heads * width]`.
pub(crate) fn attend(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    shape: &Arc<AttentionShape>,
) -> Result<Tensor> {
    if is_slice(queries) {
        return queries.contiguous()?.apply_op3(
            &keys.contiguous()?,
            &values.contiguous()?,
            Attention {
                shape: Arc::clone(shape),
            },
        );
    }
    let outputs = shape
        .spans
        .iter()
        .map(|span| shape.attend_tensors(queries, keys, values, span))
        .collect::<Result<Vec<_>>>()?;
    Tensor::cat(&outputs, 0)
}

impl AttentionShape {
    fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// The first position that the one at `place` of a sequence attends to.
    fn first_seen(&self, place: usize) -> usize {
        self.window
            .map_or(0, |window| (place + 1).saturating_sub(window))
    }

    /// One sequence by candle's operations.
    fn attend_tensors(
        &self,
        queries: &Tensor,
        keys: &Tensor,
        values: &Tensor,
        span: &Range<usize>,
    ) -> Result<Tensor> {
        let (start, length) = (span.start, span.len());
        let (device, dtype) = (queries.device(), queries.dtype());
        let half = self.width / 2;
        let table = |numbers: &[f32]| -> Result<Tensor> {
            let rows = &numbers[start * half..(start + length) * half];
            Tensor::from_slice(rows, (1, length, half), device)?.to_dtype(dtype)
        };
        let (cos, sin) = (table(&self.cos)?, table(&self.sin)?);
        // [heads, length, width]
        let heads = |x: &Tensor, heads: usize| -> Result<Tensor> {
            x.narrow(0, start, length)?
                .reshape((length, heads, self.width))?
                .transpose(0, 1)?
                .contiguous()
        };
        let rotated = |x: Tensor| -> Result<Tensor> {
            let (first, second) = (x.narrow(2, 0, half)?, x.narrow(2, half, half)?);
            let turned = [
                (first.broadcast_mul(&cos)? - second.broadcast_mul(&sin)?)?,
                (second.broadcast_mul(&cos)? + first.broadcast_mul(&sin)?)?,
            ];
            Tensor::cat(&turned, 2)
        };
        let shared = |x: Tensor| -> Result<Tensor> {
            x.unsqueeze(1)?
                .broadcast_as((self.kv_heads, self.group(), length, self.width))?
                .contiguous()?
                .reshape((self.heads, length, self.width))
        };
        let queries = rotated(heads(queries, self.heads)?)?;
        let keys = shared(rotated(heads(keys, self.kv_heads)?)?)?;
        let values = shared(heads(values, self.kv_heads)?)?;
        let hidden: Vec<f32> = (0..length)
            .flat_map(|place| {
                let seen = self.first_seen(place)..=place;
                (0..length).map(move |key| {
                    if seen.contains(&key) {
                        0.0
                    } else {
                        f32::NEG_INFINITY
                    }
                })
            })
            .collect();
        let mask = Tensor::from_vec(hidden, (1, length, length), device)?.to_dtype(dtype)?;
        let scale = 1.0 / (self.width as f64).sqrt();
        let scores = (queries.matmul(&keys.t()?)? * scale)?.broadcast_add(&mask)?;
        let top = scores.max_keepdim(D::Minus1)?.detach();
        let weights = scores.broadcast_sub(&top)?.exp()?;
        let weights = weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)?;
        weights
            .matmul(&values)?
            .transpose(0, 1)?
            .reshape((length, self.heads * self.width))
    }
}

/// What one task works on: the query heads of one key head in one sequence.
struct Task {
    span: Range<usize>,
    kv_head: usize,
}

/// Rotated queries `[length * group, width]`, position by position, and rotated keys and values
/// `[length, width]`.
struct Gathered {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// A block's positions, the keys that it sees, and its softmax weights over them.
struct Block {
    positions: Range<usize>,
    seen: Range<usize>,
    /// `[positions * group, seen]`
    weights: Vec<f32>,
}

impl AttentionShape {
    fn tasks(&self) -> Vec<Task> {
        let of = |span: &Range<usize>| {
            let span = span.clone();
            (0..self.kv_heads).map(move |kv_head| Task {
                span: span.clone(),
                kv_head,
            })
        };
        self.spans.iter().flat_map(of).collect()
    }

    /// Copies the heads `first..first + count` of a sequence's rows, position by position.
    fn gather(
        &self,
        rows: &[f32],
        all: usize,
        first: usize,
        count: usize,
        span: &Range<usize>,
    ) -> Vec<f32> {
        let (stride, width) = (all * self.width, count * self.width);
        let mut out = Vec::with_capacity(span.len() * width);
        for row in span.clone() {
            let from = row * stride + first * self.width;
            out.extend_from_slice(&rows[from..from + width]);
        }
        out
    }

    /// Rotates heads that were gathered, `count` a position; backwards by the opposite angle.
    fn rotate(&self, heads: &mut [f32], count: usize, span: &Range<usize>, backwards: bool) {
        let half = self.width / 2;
        let sign = if backwards { -1.0 } else { 1.0 };
        widest(
            #[inline(always)]
            || {
                for (row, heads) in span.clone().zip(heads.chunks_mut(count * self.width)) {
                    let cos = &self.cos[row * half..(row + 1) * half];
                    let sin = &self.sin[row * half..(row + 1) * half];
                    for head in heads.chunks_mut(self.width) {
                        let (first, second) = head.split_at_mut(half);
                        let pairs = first.iter_mut().zip(second);
                        for (((x, y), &cos), &sin) in pairs.zip(cos).zip(sin) {
                            let sin = sign * sin;
                            (*x, *y) = (*x * cos - *y * sin, *y * cos + *x * sin);
                        }
                    }
                }
            },
        );
    }

    fn gathered(&self, queries: &[f32], keys: &[f32], values: &[f32], task: &Task) -> Gathered {
        let group = self.group();
        let span = &task.span;
        let mut queries = self.gather(queries, self.heads, task.kv_head * group, group, span);
        let mut keys = self.gather(keys, self.kv_heads, task.kv_head, 1, span);
        self.rotate(&mut queries, group, span, false);
        self.rotate(&mut keys, 1, span, false);
        Gathered {
            queries,
            keys,
            values: self.gather(values, self.kv_heads, task.kv_head, 1, span),
        }
    }

    /// The softmax weights of a block.
    fn weigh(&self, gathered: &Gathered, positions: Range<usize>) -> Result<Block> {
        let (group, width) = (self.group(), self.width);
        let seen = self.first_seen(positions.start)..positions.end;
        let rows = positions.len() * group;
        let queries = &gathered.queries[positions.start * group * width..][..rows * width];
        let keys = &gathered.keys[seen.start * width..seen.end * width];
        let mut weights = vec![0.0; rows * seen.len()];
        multiply(
            &mut weights,
            Matrix::new(queries, rows, width),
            Matrix::new(keys, seen.len(), width).transposed(),
            1.0 / (width as f32).sqrt(),
            false,
        )?;
        for (row, weights) in weights.chunks_mut(seen.len()).enumerate() {
            let place = positions.start + row / group;
            let from = self.first_seen(place) - seen.start;
            let to = place + 1 - seen.start;
            weights[..from].fill(0.0);
            weights[to..].fill(0.0);
            softmax(&mut weights[from..to]);
        }
        Ok(Block {
            positions,
            seen,
            weights,
        })
    }

    /// `[length * group, width]` of a task.
    fn forward(&self, gathered: &Gathered, length: usize) -> Result<Vec<f32>> {
        let (group, width) = (self.group(), self.width);
        let mut out = vec![0.0; length * group * width];
        for positions in blocks(length) {
            let block = self.weigh(gathered, positions)?;
            let rows = block.positions.len() * group;
            let from = block.positions.start * group * width;
            multiply(
                &mut out[from..from + rows * width],
                Matrix::new(&block.weights, rows, block.seen.len()),
                Matrix::new(
                    &gathered.values[block.seen.start * width..block.seen.end * width],
                    block.seen.len(),
                    width,
                ),
                1.0,
                false,
            )?;
        }
        Ok(out)
    }

    /// The gradients of what was gathered, given that of the output `[length * group, width]`.
    ///
    /// With `P = softmax(S)`, `S = scale Q K^T`, `O = P V`: `dV = P^T dO`, `dP = dO V^T`,
    /// `dS = P (dP - rowsum(P dP))`, `dQ = scale dS K`, `dK = scale dS^T Q`.
    fn backward(&self, gathered: &Gathered, gradient: &[f32], length: usize) -> Result<Gathered> {
        let (group, width) = (self.group(), self.width);
        let scale = 1.0 / (width as f32).sqrt();
        let mut to = Gathered {
            queries: vec![0.0; gathered.queries.len()],
            keys: vec![0.0; gathered.keys.len()],
            values: vec![0.0; gathered.values.len()],
        };
        for positions in blocks(length) {
            let block = self.weigh(gathered, positions)?;
            let (rows, seen) = (block.positions.len() * group, block.seen.len());
            let own = block.positions.start * group * width..block.positions.end * group * width;
            let others = block.seen.start * width..block.seen.end * width;
            let gradient = Matrix::new(&gradient[own.clone()], rows, width);
            let weights = Matrix::new(&block.weights, rows, seen);
            multiply(
                &mut to.values[others.clone()],
                weights.transposed(),
                gradient,
                1.0,
                true,
            )?;
            let mut to_scores = vec![0.0; rows * seen];
            let values = Matrix::new(&gathered.values[others.clone()], seen, width);
            multiply(&mut to_scores, gradient, values.transposed(), 1.0, false)?;
            for (row, weights) in to_scores.chunks_mut(seen).zip(block.weights.chunks(seen)) {
                softmax_backward(row, weights);
            }
            let to_scores = Matrix::new(&to_scores, rows, seen);
            let keys = Matrix::new(&gathered.keys[others.clone()], seen, width);
            let queries = Matrix::new(&gathered.queries[own.clone()], rows, width);
            multiply(&mut to.queries[own], to_scores, keys, scale, false)?;
            multiply(
                &mut to.keys[others],
                to_scores.transposed(),
                queries,
                scale,
                true,
            )?;
        }
        Ok(to)
    }
}

/// A sequence's positions in blocks.
fn blocks(length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length)
        .step_by(BLOCK)
        .map(move |start| start..(start + BLOCK).min(length))
}

fn softmax(row: &mut [f32]) {
    widest(
        #[inline(always)]
        || {
            let top = greatest(row);
            for weight in row.iter_mut() {
                *weight = exp_of_nonpositive(*weight - top);
            }
            let inverse = 1.0 / sum(row, |weight| weight);
            for weight in row.iter_mut() {
                *weight *= inverse;
            }
        },
    );
}

/// `P (dP - sum(P dP))`, in place of `dP`.
fn softmax_backward(gradient: &mut [f32], weights: &[f32]) {
    widest(
        #[inline(always)]
        || {
            let mut lanes = [0.0f32; 32];
            for (g, w) in gradient.chunks(32).zip(weights.chunks(32)) {
                for ((lane, g), w) in lanes.iter_mut().zip(g).zip(w) {
                    *lane += g * w;
                }
            }
            let mean: f32 = lanes.iter().sum();
            for (g, w) in gradient.iter_mut().zip(weights) {
                *g = w * (*g - mean);
            }
        },
    );
}

/// Puts heads that were gathered back among the rows.
fn scatter(
    rows: &mut [f32],
    stride: usize,
    first: usize,
    width: usize,
    span: &Range<usize>,
    heads: &[f32],
) {
    for (row, heads) in span.clone().zip(heads.chunks(width)) {
        let from = row * stride + first;
        rows[from..from + width].copy_from_slice(heads);
    }
}

struct Attention {
    shape: Arc<AttentionShape>,
}

impl CustomOp3 for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        queries: &CpuStorage,
        queries_layout: &Layout,
        keys: &CpuStorage,
        keys_layout: &Layout,
        values: &CpuStorage,
        values_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let shape = &*self.shape;
        let (queries, keys, values) = (
            slice(queries, queries_layout)?,
            slice(keys, keys_layout)?,
            slice(values, values_layout)?,
        );
        let tasks = shape.tasks();
        let attended = tasks
            .par_iter()
            .map(|task| {
                let gathered = shape.gathered(queries, keys, values, task);
                shape.forward(&gathered, task.span.len())
            })
            .collect::<Result<Vec<_>>>()?;
        let mut out = vec![0.0; queries.len()];
        let (stride, width) = (shape.heads * shape.width, shape.group() * shape.width);
        for (task, attended) in tasks.iter().zip(&attended) {
            scatter(
                &mut out,
                stride,
                task.kv_head * width,
                width,
                &task.span,
                attended,
            );
        }
        Ok(returned(out, queries_layout.shape()))
    }

    fn bwd(
        &self,
        queries: &Tensor,
        keys: &Tensor,
        values: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let shape = &*self.shape;
        let group = shape.group();
        let tasks = shape.tasks();
        let gradients = with_slice(queries, |queries| -> Result<Vec<Gathered>> {
            with_slice(keys, |keys| -> Result<Vec<Gathered>> {
                with_slice(values, |values| -> Result<Vec<Gathered>> {
                    with_slice(gradient, |gradient| {
                        tasks
                            .par_iter()
                            .map(|task| {
                                let span = &task.span;
                                let gathered = shape.gathered(queries, keys, values, task);
                                let first = task.kv_head * group;
                                let given = shape.gather(gradient, shape.heads, first, group, span);
                                let mut to = shape.backward(&gathered, &given, span.len())?;
                                shape.rotate(&mut to.queries, group, span, true);
                                shape.rotate(&mut to.keys, 1, span, true);
                                Ok(to)
                            })
                            .collect()
                    })?
                })?
            })?
        })??;
        let mut to_queries = vec![0.0; queries.elem_count()];
        let mut to_keys = vec![0.0; keys.elem_count()];
        let mut to_values = vec![0.0; values.elem_count()];
        let width = shape.width;
        let (queries_stride, keys_stride) = (shape.heads * width, shape.kv_heads * width);
        for (task, to) in tasks.iter().zip(&gradients) {
            let (span, head) = (&task.span, task.kv_head);
            let wide = group * width;
            scatter(
                &mut to_queries,
                queries_stride,
                head * wide,
                wide,
                span,
                &to.queries,
            );
            scatter(
                &mut to_keys,
                keys_stride,
                head * width,
                width,
                span,
                &to.keys,
            );
            scatter(
                &mut to_values,
                keys_stride,
                head * width,
                width,
                span,
                &to.values,
            );
        }
        let tensor =
            |numbers, like: &Tensor| Tensor::from_vec(numbers, like.shape(), like.device());
        Ok((
            Some(tensor(to_queries, queries)?),
            Some(tensor(to_keys, keys)?),
            Some(tensor(to_values, values)?),
        ))
    }
}
