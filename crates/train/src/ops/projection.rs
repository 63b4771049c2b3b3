//! Projections: by weights that stay as they are, by such with a pair of small matrices learned on
//! top (LoRA), and by weights that are trained themselves.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor};
use rten_gemm::PackedBMatrix;

use super::dropout::Dropout;
use super::memory::{is_slice, returned, slice, with_slice};
use super::product::{Matrix, multiply, multiply_packed};

/// A weight `[outputs, inputs]` that is not trained.
#[derive(Clone)]
pub(crate) enum Fixed {
    /// Laid out for products in both directions.
    Packed(Arc<Packed>),
    /// As a tensor.
    Tensor(Tensor),
}

/// A weight laid out for products in both directions.
pub(crate) struct Packed {
    forward: PackedBMatrix<f32>,
    backward: PackedBMatrix<f32>,
    outputs: usize,
    inputs: usize,
}

impl Fixed {
    pub(crate) fn new(weight: Tensor) -> Result<Self> {
        if !is_slice(&weight) {
            return Ok(Self::Tensor(weight));
        }
        let (outputs, inputs) = weight.dims2()?;
        let (forward, backward) = with_slice(&weight, |numbers| {
            let matrix = Matrix::new(numbers, outputs, inputs);
            (matrix.transposed().packed(), matrix.packed())
        })?;
        Ok(Self::Packed(Arc::new(Packed {
            forward,
            backward,
            outputs,
            inputs,
        })))
    }
}

/// What LoRA learns of a projection: `scale * up(down(dropout(x)))` (LoRA, Eq. 3).
pub(crate) struct Pair<'a> {
    /// `[rank, inputs]`.
    pub(crate) down: &'a Tensor,
    /// `[outputs, rank]`.
    pub(crate) up: &'a Tensor,
    pub(crate) scale: f32,
    pub(crate) dropout: Option<Dropout>,
}

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
            WithPair {
                fixed: Arc::clone(packed),
                scale: pair.scale,
                dropout: pair.dropout,
            },
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

impl Packed {
    /// `out = x * weight^T`.
    fn forward(&self, out: &mut [f32], x: &[f32], rows: usize) -> Result<()> {
        let x = Matrix::new(x, rows, self.inputs);
        multiply_packed(out, x, &self.forward)
    }

    /// `out = gradient * weight`.
    fn backward(&self, out: &mut [f32], gradient: &[f32], rows: usize) -> Result<()> {
        let gradient = Matrix::new(gradient, rows, self.outputs);
        multiply_packed(out, gradient, &self.backward)
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
        self.fixed.forward(&mut out, slice(x, layout)?, rows)?;
        Ok(returned(out, (rows, outputs)))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let (rows, inputs) = x.dims2()?;
        let mut out = vec![0.0; rows * inputs];
        with_slice(gradient, |gradient| {
            self.fixed.backward(&mut out, gradient, rows)
        })??;
        Ok(Some(Tensor::from_vec(out, (rows, inputs), x.device())?))
    }
}

struct WithPair {
    fixed: Arc<Packed>,
    scale: f32,
    dropout: Option<Dropout>,
}

impl WithPair {
    /// The inputs of the pair.
    fn dropped(&self, x: &[f32]) -> Option<Vec<f32>> {
        self.dropout.map(|dropout| {
            let mut kept = x.to_vec();
            dropout.apply_to(&mut kept);
            kept
        })
    }
}

impl CustomOp3 for WithPair {
    fn name(&self) -> &'static str {
        "projection with LoRA"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        down: &CpuStorage,
        down_layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (outputs, inputs) = (self.fixed.outputs, self.fixed.inputs);
        let (rows, _) = x_layout.shape().dims2()?;
        let (rank, _) = down_layout.shape().dims2()?;
        let x = slice(x, x_layout)?;
        let down = Matrix::new(slice(down, down_layout)?, rank, inputs);
        let up = Matrix::new(slice(up, up_layout)?, outputs, rank);
        let mut out = vec![0.0; rows * outputs];
        self.fixed.forward(&mut out, x, rows)?;
        let kept = self.dropped(x);
        let x = Matrix::new(kept.as_deref().unwrap_or(x), rows, inputs);
        let mut small = vec![0.0; rows * rank];
        multiply(&mut small, x, down.transposed(), 1.0, false)?;
        let small = Matrix::new(&small, rows, rank);
        multiply(&mut out, small, up.transposed(), self.scale, true)?;
        Ok(returned(out, (rows, outputs)))
    }

    fn bwd(
        &self,
        x: &Tensor,
        down: &Tensor,
        up: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let (outputs, inputs) = (self.fixed.outputs, self.fixed.inputs);
        let (rows, _) = x.dims2()?;
        let (rank, _) = down.dims2()?;
        let mut to_x = vec![0.0; rows * inputs];
        let mut to_down = vec![0.0; rank * inputs];
        let mut to_up = vec![0.0; outputs * rank];
        with_slice(x, |x| -> Result<()> {
            with_slice(down, |down| -> Result<()> {
                with_slice(up, |up| -> Result<()> {
                    with_slice(gradient, |gradient| -> Result<()> {
                        self.fixed.backward(&mut to_x, gradient, rows)?;
                        let gradient = Matrix::new(gradient, rows, outputs);
                        let down = Matrix::new(down, rank, inputs);
                        let up = Matrix::new(up, outputs, rank);
                        let kept = self.dropped(x);
                        let x = Matrix::new(kept.as_deref().unwrap_or(x), rows, inputs);
                        let mut small = vec![0.0; rows * rank];
                        multiply(&mut small, x, down.transposed(), 1.0, false)?;
                        let small = Matrix::new(&small, rows, rank);
                        multiply(&mut to_up, gradient.transposed(), small, self.scale, false)?;
                        let mut to_small = vec![0.0; rows * rank];
                        multiply(&mut to_small, gradient, up, self.scale, false)?;
                        let to_small = Matrix::new(&to_small, rows, rank);
                        multiply(&mut to_down, to_small.transposed(), x, 1.0, false)?;
                        match self.dropout {
                            None => multiply(&mut to_x, to_small, down, 1.0, true),
                            Some(dropout) => {
                                let mut through = vec![0.0; rows * inputs];
                                multiply(&mut through, to_small, down, 1.0, false)?;
                                dropout.apply_to(&mut through);
                                to_x.iter_mut().zip(&through).for_each(|(x, y)| *x += y);
                                Ok(())
                            }
                        }
                    })?
                })?
            })?
        })??;
        let device = x.device();
        Ok((
            Some(Tensor::from_vec(to_x, (rows, inputs), device)?),
            Some(Tensor::from_vec(to_down, (rank, inputs), device)?),
            Some(Tensor::from_vec(to_up, (outputs, rank), device)?),
        ))
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
