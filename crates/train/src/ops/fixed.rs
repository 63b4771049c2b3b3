//! Weights that are not trained.

use std::sync::Arc;

use candle_core::{Result, Tensor};
use rayon::prelude::*;
use rten_gemm::PackedBMatrix;

use super::memory::{is_slice, with_slice};
use super::product::{Matrix, multiply_packed};

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
    pub(super) outputs: usize,
    pub(super) inputs: usize,
}

/// Rows that are worked on together: what is computed of them stays in a core's cache until it is
/// added to. Four of the product's own blocks of rows.
pub(super) const ROWS: usize = 264;

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

impl Packed {
    /// `out = x * weight^T`.
    pub(super) fn forward(&self, out: &mut [f32], x: &[f32]) -> Result<()> {
        by_rows(out, self.outputs, x, self.inputs, &self.forward)
    }

    /// `out = gradient * weight`.
    pub(super) fn backward(&self, out: &mut [f32], gradient: &[f32]) -> Result<()> {
        by_rows(out, self.inputs, gradient, self.outputs, &self.backward)
    }
}

fn by_rows(
    out: &mut [f32],
    out_width: usize,
    x: &[f32],
    width: usize,
    weight: &PackedBMatrix<f32>,
) -> Result<()> {
    out.par_chunks_mut(ROWS * out_width)
        .zip(x.par_chunks(ROWS * width))
        .try_for_each(|(out, x)| {
            let x = Matrix::new(x, x.len() / width, width);
            multiply_packed(out, x, weight, 1.0, false)
        })
}
