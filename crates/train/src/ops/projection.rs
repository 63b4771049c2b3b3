//! Projections with frozen weights, with frozen weights and LoRA, and with trained weights.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Tensor};

use super::frozen::{Frozen, Packed};
use super::memory::{gradient_of, is_slice, returned, slice, with_slices};
use super::pair::{Pair, WithPair};
use super::product::{Matrix, multiply};

/// The product of each row with a frozen weight, plus that of its LoRA pair.
///
/// # Shapes
/// `x`: `[rows, inputs]`; returns `[rows, outputs]`.
pub(crate) fn projected(x: &Tensor, frozen: &Frozen, pair: Option<Pair<'_>>) -> Result<Tensor> {
    match (frozen, pair) {
        (Frozen::Packed(packed), None) => x.contiguous()?.apply_op1(Alone(Arc::clone(packed))),
        (Frozen::Packed(packed), Some(pair)) => {
            let op = WithPair::new(Arc::clone(packed), &pair);
            x.contiguous()?.apply_op3(pair.down, pair.up, op)
        }
        (Frozen::Tensor(weight), pair) => {
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

/// The product of each row with a trained weight.
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

/// A frozen weight without LoRA.
struct Alone(Arc<Packed>);

impl CustomOp1 for Alone {
    fn name(&self) -> &'static str {
        "frozen projection"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let outputs = self.0.outputs;
        let (rows, _) = layout.shape().dims2()?;
        let mut out = vec![0.0; rows * outputs];
        self.0.forward(&mut out, slice(x, layout)?)?;
        Ok(returned(out, (rows, outputs)))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let (rows, inputs) = x.dims2()?;
        let mut out = vec![0.0; rows * inputs];
        with_slices([gradient], |[gradient]| self.0.backward(&mut out, gradient))?;
        gradient_of(x, out)
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
        with_slices([x, weight, gradient], |[x, weight, gradient]| {
            let x = Matrix::new(x, rows, inputs);
            let weight = Matrix::new(weight, outputs, inputs);
            let gradient = Matrix::new(gradient, rows, outputs);
            multiply(&mut to_x, gradient, weight, 1.0, false)?;
            multiply(&mut to_weight, gradient.transposed(), x, 1.0, false)
        })?;
        Ok((gradient_of(x, to_x)?, gradient_of(weight, to_weight)?))
    }
}
