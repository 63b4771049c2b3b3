//! Projections by weights that stay as they are, with a pair of small matrices learned on top
//! (LoRA).

use std::sync::{Arc, OnceLock};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::dropout::Dropout;
use super::fixed::{Packed, ROWS};
use super::memory::{returned, slice, with_slice};
use super::product::{Matrix, multiply, multiply_packed};

/// What LoRA learns of a projection: `scale * up(down(dropout(x)))` (LoRA, Eq. 3).
pub(crate) struct Pair<'a> {
    /// `[rank, inputs]`.
    pub(crate) down: &'a Tensor,
    /// `[outputs, rank]`.
    pub(crate) up: &'a Tensor,
    pub(crate) scale: f32,
    pub(crate) dropout: Option<Dropout>,
}

/// A projection with a pair, by slices.
pub(super) struct WithPair {
    fixed: Arc<Packed>,
    scale: f32,
    dropout: Option<Dropout>,
    /// `down(dropout(x))`, `[rows, rank]`, kept from the way forwards for the way back.
    small: OnceLock<Vec<f32>>,
}

/// The gradients of a projection's rows and of its two matrices.
struct Gradients {
    x: Vec<f32>,
    down: Vec<f32>,
    up: Vec<f32>,
}

impl WithPair {
    pub(super) fn new(fixed: Arc<Packed>, scale: f32, dropout: Option<Dropout>) -> Self {
        Self {
            fixed,
            scale,
            dropout,
            small: OnceLock::new(),
        }
    }

    /// The inputs of the pair, where they differ from those of the weight.
    fn dropped(&self, x: &[f32]) -> Option<Vec<f32>> {
        self.dropout.map(|dropout| {
            let mut kept = x.to_vec();
            dropout.apply_to(&mut kept);
            kept
        })
    }

    /// The output, and what the pair has between its matrices.
    fn forward(
        &self,
        x: &[f32],
        down: &[f32],
        up: &[f32],
        rank: usize,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let (outputs, inputs) = (self.fixed.outputs, self.fixed.inputs);
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
                self.fixed.forward(out, x)?;
                let kept = Matrix::new(kept, rows, inputs);
                multiply_packed(small, kept, &down, 1.0, false)?;
                multiply_packed(out, Matrix::new(small, rows, rank), &up, self.scale, true)
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
        let (outputs, inputs) = (self.fixed.outputs, self.fixed.inputs);
        let (rows, rank) = (x.len() / inputs, down.len() / inputs);
        let packed_down = Matrix::new(down, rank, inputs).packed();
        let packed_up = Matrix::new(up, outputs, rank).packed();
        let mut to_x = vec![0.0; rows * inputs];
        let mut to_small = vec![0.0; rows * rank];
        // Without dropout both ways back to `x` meet in one place.
        let mut through = self.dropout.map(|_| vec![0.0; rows * inputs]);
        to_x.par_chunks_mut(ROWS * inputs)
            .zip(to_small.par_chunks_mut(ROWS * rank))
            .zip(gradient.par_chunks(ROWS * outputs))
            .try_for_each(|((to_x, to_small), gradient)| -> Result<()> {
                let rows = to_x.len() / inputs;
                self.fixed.backward(to_x, gradient)?;
                let gradient = Matrix::new(gradient, rows, outputs);
                multiply_packed(to_small, gradient, &packed_up, self.scale, false)?;
                if through.is_some() {
                    return Ok(());
                }
                let to_small = Matrix::new(to_small, rows, rank);
                multiply_packed(to_x, to_small, &packed_down, 1.0, true)
            })?;
        let to_small = Matrix::new(&to_small, rows, rank);
        if let (Some(dropout), Some(through)) = (self.dropout, &mut through) {
            multiply_packed(through, to_small, &packed_down, 1.0, false)?;
            dropout.apply_to(through);
            to_x.par_iter_mut().zip(through).for_each(|(x, y)| *x += *y);
        }
        let kept = self.dropped(x);
        let kept = Matrix::new(kept.as_deref().unwrap_or(x), rows, inputs);
        let mut to_down = vec![0.0; rank * inputs];
        multiply(&mut to_down, to_small.transposed(), kept, 1.0, false)?;
        // The long side of a product is best its columns, so this one is computed on its side.
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

/// The columns of a matrix, one behind the other.
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
        Ok(returned(out, (rows, self.fixed.outputs)))
    }

    fn bwd(
        &self,
        x: &Tensor,
        down: &Tensor,
        up: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let small = self
            .small
            .get()
            .ok_or_else(|| candle_core::Error::msg("a projection went back before forwards"))?;
        let to = with_slice(x, |x| {
            with_slice(down, |down| {
                with_slice(up, |up| {
                    with_slice(gradient, |gradient| {
                        self.backward(x, down, up, small, gradient)
                    })
                    .flatten()
                })
                .flatten()
            })
            .flatten()
        })
        .flatten()?;
        let tensor =
            |numbers, like: &Tensor| Tensor::from_vec(numbers, like.shape(), like.device());
        Ok((
            Some(tensor(to.x, x)?),
            Some(tensor(to.down, down)?),
            Some(tensor(to.up, up)?),
        ))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};

    use super::super::{Fixed, projected};
    use super::*;

    /// Numbers that look random, alike in 32 and 64 bits.
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
        let fixed = Fixed::new(matrix(outputs, inputs, 4, dtype)).unwrap();
        let pair = Pair {
            down: &down,
            up: &up,
            scale: 2.0,
            dropout,
        };
        let y = projected(&x, &fixed, Some(pair)).unwrap();
        let weighed = (&y * matrix(rows, outputs, 5, dtype)).unwrap();
        let store = weighed.sum_all().unwrap().backward().unwrap();
        let gradients = [&x, &down, &up].map(|variable| store.get(variable).unwrap().clone());
        [y].into_iter().chain(gradients).collect()
    }

    /// Whether rows fill a block, some of one or several.
    #[test]
    fn blocks_of_rows_derive_as_tensors_do() {
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
