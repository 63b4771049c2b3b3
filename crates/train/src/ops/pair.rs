//! Projections with a frozen weight and a trained LoRA pair.

use std::sync::{Arc, OnceLock};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};
use rayon::prelude::*;
use rten_gemm::GemmInputB;

use super::dropout::Dropout;
use super::frozen::{Packed, ROWS};
use super::memory::{gradient_of, returned, slice, with_slices};
use super::product::{Matrix, multiply};

/// The LoRA update of a projection: `scale * up(down(dropout(x)))` (LoRA, Eq. 3).
pub(crate) struct Pair<'a> {
    /// `[rank, inputs]`.
    pub(crate) down: &'a Tensor,
    /// `[outputs, rank]`.
    pub(crate) up: &'a Tensor,
    pub(crate) scale: f32,
    pub(crate) dropout: Option<Dropout>,
}

/// A projection with a LoRA pair, on slices.
pub(super) struct WithPair {
    weight: Arc<Packed>,
    scale: f32,
    dropout: Option<Dropout>,
    /// `down(dropout(x))`, `[rows, rank]`, kept from the forward pass for the backward pass.
    small: OnceLock<Vec<f32>>,
}

/// The gradients of a projection's input and of its two matrices.
struct Gradients {
    x: Vec<f32>,
    down: Vec<f32>,
    up: Vec<f32>,
}

impl WithPair {
    pub(super) fn new(weight: Arc<Packed>, pair: &Pair<'_>) -> Self {
        Self {
            weight,
            scale: pair.scale,
            dropout: pair.dropout,
            small: OnceLock::new(),
        }
    }

    /// The inputs of the pair after dropout, if there is any.
    fn dropped(&self, x: &[f32]) -> Option<Vec<f32>> {
        self.dropout.map(|dropout| {
            let mut kept = x.to_vec();
            dropout.apply_to(&mut kept);
            kept
        })
    }

    /// The output, and the intermediate result between the two matrices.
    fn forward(
        &self,
        x: &[f32],
        down: &[f32],
        up: &[f32],
        rank: usize,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let (outputs, inputs) = (self.weight.outputs, self.weight.inputs);
        let rows = x.len() / inputs;
        let down = Matrix::new(down, rank, inputs).transposed().packed();
        let up = Matrix::new(up, outputs, rank).transposed().packed();
        let kept = self.dropped(x);
        let kept = kept.as_deref().unwrap_or(x);
        let mut out = vec![0.0; rows * outputs];
        let mut small = vec![0.0; rows * rank];
        out.par_chunks_mut(ROWS * outputs)
            .zip(small.par_chunks_mut(ROWS * rank))
            .zip(x.par_chunks(ROWS * inputs))
            .zip(kept.par_chunks(ROWS * inputs))
            .try_for_each(|(((out, small), x), kept)| -> Result<()> {
                let rows = x.len() / inputs;
                self.weight.forward(out, x)?;
                let kept = Matrix::new(kept, rows, inputs);
                multiply(small, kept, GemmInputB::Packed(&down), 1.0, false)?;
                let small = Matrix::new(small, rows, rank);
                multiply(out, small, GemmInputB::Packed(&up), self.scale, true)
            })?;
        Ok((out, small))
    }

    /// With `y = x W^T + scale D(x) A^T B^T`, where `D` drops inputs:
    /// `dx = dy W + D(scale dy B A)`, `dA = scale (dy B)^T D(x)`, `dB = scale dy^T D(x) A^T`.
    fn backward(
        &self,
        x: &[f32],
        down: &[f32],
        up: &[f32],
        small: &[f32],
        gradient: &[f32],
    ) -> Result<Gradients> {
        let (outputs, inputs) = (self.weight.outputs, self.weight.inputs);
        let (rows, rank) = (x.len() / inputs, down.len() / inputs);
        let down = Matrix::new(down, rank, inputs).packed();
        let up = Matrix::new(up, outputs, rank).packed();
        let (down, up) = (GemmInputB::Packed(&down), GemmInputB::Packed(&up));
        let mut to_x = vec![0.0; rows * inputs];
        let mut to_small = vec![0.0; rows * rank];
        // Without dropout, both gradients of `x` are summed in one buffer.
        let mut through = self.dropout.map(|_| vec![0.0; rows * inputs]);
        to_x.par_chunks_mut(ROWS * inputs)
            .zip(to_small.par_chunks_mut(ROWS * rank))
            .zip(gradient.par_chunks(ROWS * outputs))
            .try_for_each(|((to_x, to_small), gradient)| -> Result<()> {
                let rows = to_x.len() / inputs;
                self.weight.backward(to_x, gradient)?;
                let gradient = Matrix::new(gradient, rows, outputs);
                multiply(to_small, gradient, up, self.scale, false)?;
                if through.is_some() {
                    return Ok(());
                }
                let to_small = Matrix::new(to_small, rows, rank);
                multiply(to_x, to_small, down, 1.0, true)
            })?;
        let to_small = Matrix::new(&to_small, rows, rank);
        if let (Some(dropout), Some(through)) = (self.dropout, &mut through) {
            multiply(through, to_small, down, 1.0, false)?;
            dropout.apply_to(through);
            to_x.par_iter_mut().zip(through).for_each(|(x, y)| *x += *y);
        }
        let kept = self.dropped(x);
        let kept = Matrix::new(kept.as_deref().unwrap_or(x), rows, inputs);
        let mut to_down = vec![0.0; rank * inputs];
        multiply(&mut to_down, to_small.transposed(), kept, 1.0, false)?;
        // A product is fastest with its long side as columns, so this one is computed transposed.
        let mut to_up = vec![0.0; rank * outputs];
        let small = Matrix::new(small, rows, rank).transposed();
        let gradient = Matrix::new(gradient, rows, outputs);
        multiply(&mut to_up, small, gradient, self.scale, false)?;
        Ok(Gradients {
            x: to_x,
            down: to_down,
            up: transposed(&to_up, outputs),
        })
    }
}

/// The columns of a matrix, concatenated.
fn transposed(numbers: &[f32], columns: usize) -> Vec<f32> {
    (0..columns)
        .flat_map(|column| numbers.iter().skip(column).step_by(columns).copied())
        .collect()
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
        let (rows, _) = x_layout.shape().dims2()?;
        let (rank, _) = down_layout.shape().dims2()?;
        let (out, small) = self.forward(
            slice(x, x_layout)?,
            slice(down, down_layout)?,
            slice(up, up_layout)?,
            rank,
        )?;
        let _ = self.small.set(small);
        Ok(returned(out, (rows, self.weight.outputs)))
    }

    fn bwd(
        &self,
        x: &Tensor,
        down: &Tensor,
        up: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let small = self.small.get().ok_or_else(|| {
            candle_core::Error::msg("a backward pass came before its forward pass")
        })?;
        let to = with_slices([x, down, up, gradient], |[x, down, up, gradient]| {
            self.backward(x, down, up, small, gradient)
        })?;
        Ok((
            gradient_of(x, to.x)?,
            gradient_of(down, to.down)?,
            gradient_of(up, to.up)?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};

    use super::super::{Frozen, projected};
    use super::*;

    /// Pseudo-random numbers, the same in 32 and 64 bits.
    fn matrix(rows: usize, columns: usize, seed: usize, dtype: DType) -> Tensor {
        let number = |place: usize| ((place + seed) * 7919 % 1009) as f32 / 1009.0 - 0.5;
        let numbers: Vec<f32> = (0..rows * columns).map(number).collect();
        let tensor = Tensor::from_vec(numbers, (rows, columns), &Device::Cpu).unwrap();
        tensor.to_dtype(dtype).unwrap()
    }

    /// The output, and the gradients of the rows and of both matrices.
    fn computed(rows: usize, dropout: Option<Dropout>, dtype: DType) -> Vec<Tensor> {
        let (inputs, outputs, rank) = (23, 41, 5);
        let learned = [
            matrix(rows, inputs, 1, dtype),
            matrix(rank, inputs, 2, dtype),
            matrix(outputs, rank, 3, dtype),
        ];
        let [x, down, up] = learned.map(|tensor| Var::from_tensor(&tensor).unwrap());
        let frozen = Frozen::new(matrix(outputs, inputs, 4, dtype)).unwrap();
        let pair = Pair {
            down: &down,
            up: &up,
            scale: 2.0,
            dropout,
        };
        let y = projected(&x, &frozen, Some(pair)).unwrap();
        let weighed = (&y * matrix(rows, outputs, 5, dtype)).unwrap();
        let store = weighed.sum_all().unwrap().backward().unwrap();
        let gradients = [&x, &down, &up].map(|variable| store.get(variable).unwrap().clone());
        [y].into_iter().chain(gradients).collect()
    }

    /// With less than a block of rows, exactly one, and several.
    #[test]
    fn blocks_of_rows_have_the_derivatives_of_tensors() {
        for rows in [7, ROWS, 2 * ROWS + 5] {
            for dropout in [
                None,
                Some(Dropout {
                    share: 0.3,
                    seed: 9,
                }),
            ] {
                let exact = computed(rows, dropout, DType::F64);
                for (got, exact) in computed(rows, dropout, DType::F32).iter().zip(&exact) {
                    let got = got.to_dtype(DType::F64).unwrap();
                    let of = |x: Tensor| -> Vec<f64> {
                        x.abs().unwrap().flatten_all().unwrap().to_vec1().unwrap()
                    };
                    let most = |x: Tensor| of(x).into_iter().fold(0.0, f64::max);
                    let error = most((got - exact).unwrap());
                    assert!(error < 1e-5 * most(exact.clone()), "{rows} {error}");
                }
            }
        }
    }
}
