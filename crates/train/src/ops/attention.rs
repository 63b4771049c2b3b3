//! Causal attention with rotary positions, within concatenated sequences. Query heads that share a
//! key head are processed together. The backward pass recomputes the attention weights, so that
//! memory is linear in the number of tokens.

use std::ops::Range;
use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp3, D, Layout, Result, Shape, Tensor};
use ken_model::kernels::{dot, softmax_inlined};
use rayon::prelude::*;

use super::memory::{gradient_of, is_slice, returned, slice, with_slices};
use super::product::{Matrix, multiply};

/// Positions that are processed together. Half of the scores within a block are masked, so blocks are
/// short.
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
    /// A token attends to at most this many tokens, including itself.
    pub(crate) window: Option<usize>,
    /// Cosines of each row's rotation, `[rows, width / 2]`.
    pub(crate) cos: Vec<f32>,
    /// Sines, likewise.
    pub(crate) sin: Vec<f32>,
}

/// Rotates queries and keys; each row attends to its own sequence up to itself.
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
            Attention(Arc::clone(shape)),
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

    /// The first position to which position `place` of a sequence attends.
    fn first_seen(&self, place: usize) -> usize {
        self.window
            .map_or(0, |window| (place + 1).saturating_sub(window))
    }

    /// One sequence with candle's operations.
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
                (0..length).map(move |key| match seen.contains(&key) {
                    true => 0.0,
                    false => f32::NEG_INFINITY,
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

/// One parallel task: the query heads of one key head in one sequence.
struct Task {
    span: Range<usize>,
    kv_head: usize,
}

/// The rotated queries `[length * group, width]`, position by position, and rotated keys and values
/// `[length, width]` of a task, or their gradients.
struct Gathered {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// A block's positions, the keys they attend to, and the softmax weights.
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

    /// Where a task's heads, `count` per key head, lie in a row.
    fn place(&self, row: usize, count: usize, task: &Task) -> Range<usize> {
        let width = count * self.width;
        let from = (row * self.kv_heads + task.kv_head) * width;
        from..from + width
    }

    /// Copies a task's heads, position by position.
    fn gather(&self, rows: &[f32], count: usize, task: &Task) -> Vec<f32> {
        let mut heads = Vec::with_capacity(task.span.len() * count * self.width);
        for row in task.span.clone() {
            heads.extend_from_slice(&rows[self.place(row, count, task)]);
        }
        heads
    }

    /// Copies gathered heads back into the rows.
    fn scatter(&self, rows: &mut [f32], heads: &[f32], count: usize, task: &Task) {
        for (row, heads) in task.span.clone().zip(heads.chunks(count * self.width)) {
            rows[self.place(row, count, task)].copy_from_slice(heads);
        }
    }

    /// Rotates gathered heads, `count` per position; with `backwards`, by the opposite angle.
    fn rotate(&self, heads: &mut [f32], count: usize, span: &Range<usize>, backwards: bool) {
        let half = self.width / 2;
        let sign = if backwards { -1.0 } else { 1.0 };
        widest!({
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
        });
    }

    fn gathered(&self, queries: &[f32], keys: &[f32], values: &[f32], task: &Task) -> Gathered {
        let group = self.group();
        let span = &task.span;
        let mut queries = self.gather(queries, group, task);
        let mut keys = self.gather(keys, 1, task);
        self.rotate(&mut queries, group, span, false);
        self.rotate(&mut keys, 1, span, false);
        Gathered {
            queries,
            keys,
            values: self.gather(values, 1, task),
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
            widest!(softmax_inlined(&mut weights[from..to], 1.0));
        }
        Ok(Block {
            positions,
            seen,
            weights,
        })
    }

    /// The output of a task, `[length * group, width]`.
    fn forward(&self, gathered: &Gathered, length: usize) -> Result<Vec<f32>> {
        let (group, width) = (self.group(), self.width);
        let mut out = vec![0.0; length * group * width];
        for positions in blocks(length) {
            let block = self.weigh(gathered, positions)?;
            let (rows, seen) = (block.positions.len() * group, block.seen.len());
            let own = block.positions.start * group * width..block.positions.end * group * width;
            let others = block.seen.start * width..block.seen.end * width;
            let weights = Matrix::new(&block.weights, rows, seen);
            let values = Matrix::new(&gathered.values[others], seen, width);
            multiply(&mut out[own], weights, values, 1.0, false)?;
        }
        Ok(out)
    }

    /// The gradients of queries, keys and values, given that of the output `[length * group, width]`.
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

/// `P (dP - sum(P dP))`, in place of `dP`.
fn softmax_backward(gradient: &mut [f32], weights: &[f32]) {
    widest!({
        let mean = dot(gradient, weights);
        for (g, w) in gradient.iter_mut().zip(weights) {
            *g = w * (*g - mean);
        }
    });
}

struct Attention(Arc<AttentionShape>);

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
        let shape = &*self.0;
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
        for (task, attended) in tasks.iter().zip(&attended) {
            shape.scatter(&mut out, attended, shape.group(), task);
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
        let shape = &*self.0;
        let group = shape.group();
        let tasks = shape.tasks();
        let all = [queries, keys, values, gradient];
        let gradients = with_slices(all, |[queries, keys, values, gradient]| {
            let of = |task: &Task| {
                let gathered = shape.gathered(queries, keys, values, task);
                let given = shape.gather(gradient, group, task);
                let mut to = shape.backward(&gathered, &given, task.span.len())?;
                shape.rotate(&mut to.queries, group, &task.span, true);
                shape.rotate(&mut to.keys, 1, &task.span, true);
                Ok(to)
            };
            tasks.par_iter().map(of).collect::<Result<Vec<_>>>()
        })?;
        let mut to_queries = vec![0.0; queries.elem_count()];
        let mut to_keys = vec![0.0; keys.elem_count()];
        let mut to_values = vec![0.0; values.elem_count()];
        for (task, to) in tasks.iter().zip(&gradients) {
            shape.scatter(&mut to_queries, &to.queries, group, task);
            shape.scatter(&mut to_keys, &to.keys, 1, task);
            shape.scatter(&mut to_values, &to.values, 1, task);
        }
        Ok((
            gradient_of(queries, to_queries)?,
            gradient_of(keys, to_keys)?,
            gradient_of(values, to_values)?,
        ))
    }
}
