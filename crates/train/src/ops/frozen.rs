//! Weights that are not trained, packed for products in both directions.

use std::sync::Arc;

use candle_core::{Result, Tensor};
use rayon::prelude::*;
use rten_gemm::{GemmInputB, PackedBMatrix};

use super::memory::{is_slice, with_slices};
use super::product::{Matrix, multiply};

/// A frozen weight, `[outputs, inputs]`.
#[derive(Clone)]
pub(crate) enum Frozen {
    /// In 32 bits on the CPU.
    Packed(Arc<Packed>),
    /// Otherwise.
    Tensor(Tensor),
}

/// A weight packed for products in both directions.
pub(crate) struct Packed {
    forward: PackedBMatrix<f32>,
    backward: PackedBMatrix<f32>,
    pub(super) outputs: usize,
    pub(super) inputs: usize,
}

/// Rows that are processed together, so that their results stay in a core's cache until they are added
/// to: four of the matrix product's own row blocks.
pub(super) const ROWS: usize = 264;

impl Frozen {
    pub(crate) fn new(weight: Tensor) -> Result<Self> {
        if !is_slice(&weight) {
            return Ok(Self::Tensor(weight));
        }
        let (outputs, inputs) = weight.dims2()?;
        let (forward, backward) = with_slices([&weight], |[numbers]| {
            let matrix = Matrix::new(numbers, outputs, inputs);
            Ok((matrix.transposed().packed(), matrix.packed()))
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
            multiply(out, x, GemmInputB::Packed(weight), 1.0, false)
        })
}
