//! RMSNorm.

use candle_core::{CpuStorage, CustomOp2, D, Layout, Result, Shape, Tensor};
use ken_model::kernels::{self, dot, sum, task_rows};
use rayon::prelude::*;

use super::memory::{gradient_of, is_slice, returned, slice, with_slices};

/// Divides each row by its root mean square and multiplies it by a weight.
///
/// # Shapes
/// `x`: `[rows, width]`; `weight`: `[width]`; returns `[rows, width]`.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, epsilon: f32) -> Result<Tensor> {
    if is_slice(x) {
        return x.contiguous()?.apply_op2(weight, RmsNorm(epsilon));
    }
    let squares = x.sqr()?.mean_keepdim(D::Minus1)?;
    let root = (squares + f64::from(epsilon))?.sqrt()?;
    x.broadcast_div(&root)?.broadcast_mul(weight)
}

/// With its epsilon.
struct RmsNorm(f32);

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (_, width) = x_layout.shape().dims2()?;
        let weight = slice(weight, weight_layout)?;
        let mut out = slice(x, x_layout)?.to_vec();
        out.par_chunks_mut(width)
            .with_min_len(task_rows(width))
            .for_each(|row| kernels::rms_norm(row, weight, self.0));
        Ok(returned(out, x_layout.shape()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (_, width) = x.dims2()?;
        let mut to_x = vec![0.0; x.elem_count()];
        let mut to_weight = vec![0.0; width];
        let trained = weight.is_variable() || weight.track_op();
        with_slices([x, weight, gradient], |[x, weight, gradient]| {
            to_x.par_chunks_mut(width)
                .zip(x.par_chunks(width))
                .zip(gradient.par_chunks(width))
                .with_min_len(task_rows(width))
                .for_each(|((to_x, x), gradient)| {
                    row_backward(to_x, x, weight, gradient, self.0);
                });
            if trained {
                for (x, gradient) in x.chunks(width).zip(gradient.chunks(width)) {
                    let inverse = inverse_root(x, self.0);
                    for ((w, x), g) in to_weight.iter_mut().zip(x).zip(gradient) {
                        *w += g * x * inverse;
                    }
                }
            }
            Ok(())
        })?;
        let to_weight = match trained {
            true => gradient_of(weight, to_weight)?,
            false => None,
        };
        Ok((gradient_of(x, to_x)?, to_weight))
    }
}

fn inverse_root(x: &[f32], epsilon: f32) -> f32 {
    let squares = widest!(sum(x, |x| x * x));
    1.0 / (squares / x.len() as f32 + epsilon).sqrt()
}

/// With `y_i = w_i x_i r` and `r = (mean x^2 + eps)^(-1/2)`:
/// `dx_i = r w_i g_i - x_i r^3 / n * sum_j w_j g_j x_j`.
fn row_backward(to_x: &mut [f32], x: &[f32], weight: &[f32], gradient: &[f32], epsilon: f32) {
    let inverse = inverse_root(x, epsilon);
    widest!({
        for ((out, w), g) in to_x.iter_mut().zip(weight).zip(gradient) {
            *out = w * g;
        }
        let pull = dot(to_x, x) * inverse * inverse * inverse / x.len() as f32;
        for (out, x) in to_x.iter_mut().zip(x) {
            *out = *out * inverse - x * pull;
        }
    });
}
