//! Projections: by weights that stay as they are, by such with a pair on top, and by weights that are
//! trained themselves.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor};

use super::fixed::{Fixed, Packed};
use super::memory::{is_slice, returned, slice, with_slice};
use super::pair::{Pair, WithPair};
use super::product::{Matrix, multiply};

/// The product of each row with a weight that is not trained, and with what is learned on top.
///
/// # Shapes
/// `x`: `[rows, inputs]`; returns `[rows, outputs]`.
pub(crate) fn projected(x: &Tensor, fixed: &Fixed, pair: Option<Pair<'_>>) -> Result<Tensor> {
    match (fixed, pair) {
        (Fixed::Packed(packed), None) => x.contiguous()?.apply_op1(Alone {
            fixed: Arc::clone(packed),
        }),
        (Fixed::Packed(packed), Some(pair)) => x.contiguous()?.apply_op3(
            pair.down,
            pair.up,
            WithPair::new(Arc::clone(packed), pair.scale, pair.dropout),
        ),
        (Fixed::Tensor(weight), pair) => {
            let y = x.matmul(&weight.t()?)?;
            let Some(pair) = pair else { return Ok(y) };
            let x = match pair.dropout {
                Some(dropout) => dropout.of(x)?,
                None => x.clone(),
            };
            let learned = x.matmul(&pair.down.t()?)?.matmul(&pair.up.t()?)?;
            y + (learned * f64::from(pair.scale))?
        }
    }
}

/// The product of each row with a weight that is trained.
///
/// # Shapes
/// `x`: `[rows, inputs]`; `weight`: `[outputs, inputs]`; returns `[rows, outputs]`.
pub(crate) fn product(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    if is_slice(x) {
        x.contiguous()?.apply_op2(weight, Trained)
    } else {
        x.matmul(&weight.t()?)
    }
}

struct Alone {
    fixed: Arc<Packed>,
}

impl CustomOp1 for Alone {
    fn name(&self) -> &'static str {
        "fixed projection"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let outputs = self.fixed.outputs;
        let (rows, _) = layout.shape().dims2()?;
        let mut out = vec![0.0; rows * outputs];
        self.fixed.forward(&mut out, slice(x, layout)?)?;
        Ok(returned(out, (rows, outputs)))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let (rows, inputs) = x.dims2()?;
        let mut out = vec![0.0; rows * inputs];
        with_slice(gradient, |gradient| self.fixed.backward(&mut out, gradient))??;
        Ok(Some(Tensor::from_vec(out, (rows, inputs), x.device())?))
    }
}

struct Trained;

impl CustomOp2 for Trained {
    fn name(&self) -> &'static str {
        "trained projection"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (rows, inputs) = x_layout.shape().dims2()?;
        let (outputs, _) = weight_layout.shape().dims2()?;
        let x = Matrix::new(slice(x, x_layout)?, rows, inputs);
        let weight = Matrix::new(slice(weight, weight_layout)?, outputs, inputs);
        let mut out = vec![0.0; rows * outputs];
        multiply(&mut out, x, weight.transposed(), 1.0, false)?;
        Ok(returned(out, (rows, outputs)))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (rows, inputs) = x.dims2()?;
        let (outputs, _) = weight.dims2()?;
        let mut to_x = vec![0.0; rows * inputs];
        let mut to_weight = vec![0.0; outputs * inputs];
        with_slice(x, |x| -> Result<()> {
            with_slice(weight, |weight| -> Result<()> {
                with_slice(gradient, |gradient| -> Result<()> {
                    let x = Matrix::new(x, rows, inputs);
                    let weight = Matrix::new(weight, outputs, inputs);
                    let gradient = Matrix::new(gradient, rows, outputs);
                    multiply(&mut to_x, gradient, weight, 1.0, false)?;
                    multiply(&mut to_weight, gradient.transposed(), x, 1.0, false)
                })?
            })?
        })??;
        let device = x.device();
        Ok((
            Some(Tensor::from_vec(to_x, (rows, inputs), device)?),
            Some(Tensor::from_vec(to_weight, (outputs, inputs), device)?),
        ))
    }
}
