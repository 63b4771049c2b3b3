//! Log-probabilities of target tokens.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, D, Layout, Result, Shape, Tensor};
use ken_model::kernels::{exp_of_nonpositive, greatest, sum, task_rows};
use rayon::prelude::*;

use super::memory::{gradient_of, is_slice, returned, slice, with_slices};

/// The natural-log probability of one target token per row.
///
/// # Shapes
/// `logits`: `[rows, vocabulary]`; `targets`: `[rows]`; returns `[rows]`.
pub(crate) fn log_probabilities(logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
    if is_slice(logits) {
        let op = LogProbabilities(Arc::from(targets));
        return logits.contiguous()?.apply_op1(op);
    }
    let top = logits.max_keepdim(D::Minus1)?.detach();
    let shifted = logits.broadcast_sub(&top)?;
    let total = shifted.exp()?.sum_keepdim(D::Minus1)?.log()?;
    let index = Tensor::new(targets, logits.device())?.unsqueeze(1)?;
    (shifted.gather(&index, D::Minus1)? - total)?.squeeze(1)
}

/// With the target of each row.
struct LogProbabilities(Arc<[u32]>);

/// The largest logit of a row, and the sum of the exponentials relative to it.
fn normalizer(row: &[f32]) -> (f32, f32) {
    widest!({
        let top = greatest(row);
        (top, sum(row, |logit| exp_of_nonpositive(logit - top)))
    })
}

impl CustomOp1 for LogProbabilities {
    fn name(&self) -> &'static str {
        "log probabilities"
    }

    fn cpu_fwd(&self, logits: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, width) = layout.shape().dims2()?;
        let logits = slice(logits, layout)?;
        let out: Vec<f32> = logits
            .par_chunks(width)
            .zip(&*self.0)
            .map(|(row, &target)| {
                let (top, total) = normalizer(row);
                row[target as usize] - top - total.ln()
            })
            .collect();
        Ok(returned(out, rows))
    }

    /// `d log p(target) / d logit_i = [i = target] - p_i`.
    fn bwd(&self, logits: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let (_, width) = logits.dims2()?;
        let mut out = vec![0.0; logits.elem_count()];
        with_slices([logits, gradient], |[logits, gradient]| {
            out.par_chunks_mut(width)
                .zip(logits.par_chunks(width))
                .zip(gradient)
                .zip(&*self.0)
                .with_min_len(task_rows(width))
                .for_each(|(((out, row), &g), &target)| {
                    let (top, total) = normalizer(row);
                    let factor = -g / total;
                    widest!({
                        for (out, &logit) in out.iter_mut().zip(row) {
                            *out = factor * exp_of_nonpositive(logit - top);
                        }
                    });
                    out[target as usize] += g;
                });
            Ok(())
        })?;
        gradient_of(logits, out)
    }
}
