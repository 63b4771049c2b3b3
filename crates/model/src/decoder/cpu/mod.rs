//! The forward pass on plain slices: matrix products by `rten-gemm` with weights laid out once,
//! everything between them in fused passes over rows, in as many threads as the current rayon pool
//! has.
//!
//! Each row is computed by the same operations in the same order whatever is beside it, so
//! results are bit-identical in any batch.

mod attention;
mod segment;

use candle_core::Tensor;
use rayon::prelude::*;

use super::backend::{AttentionLayer, Backend, Heads, Run};
use super::config::Activation;
use super::error::DecoderError;

use crate::kernels::elementwise;
use crate::kernels::matrix::{Matrix, WeightFormat};
use crate::kernels::norms::rms_norm;
use crate::kernels::rows::{Rows, task_rows};
use attention::Rotation;
pub(super) use segment::CpuSequence;

type Result<T> = std::result::Result<T, DecoderError>;

/// The CPU backend.
pub(super) struct Cpu {
    pub(super) weight_format: WeightFormat,
}

fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(tensor.flatten_all()?.to_vec1::<f32>()?)
}

impl Backend for Cpu {
    type Rows = Rows;
    type Matrix = Matrix;
    type Vector = Vec<f32>;
    type Table = Rows;
    type Rotation = Rotation;
    type Sequence = CpuSequence;

    fn matrix(&self, weight: &Tensor) -> Result<Matrix> {
        let (outputs, inputs) = weight.dims2()?;
        Ok(Matrix::new(
            &numbers(weight)?,
            outputs,
            inputs,
            self.weight_format,
        ))
    }

    fn vector(&self, weight: &Tensor) -> Result<Vec<f32>> {
        numbers(weight)
    }

    fn table(&self, weight: &Tensor) -> Result<Rows> {
        let (_, width) = weight.dims2()?;
        Ok(Rows::new(numbers(weight)?, width))
    }

    fn rotation(&self, cos: Vec<f32>, sin: Vec<f32>, half: usize) -> Result<Rotation> {
        Ok(Rotation { cos, sin, half })
    }

    fn empty(&self, layers: usize, heads: &Heads, capacity: usize) -> Result<CpuSequence> {
        Ok(CpuSequence::empty(
            layers,
            heads.keys,
            heads.width,
            capacity,
        ))
    }

    fn embed(&self, table: &Rows, tokens: &[u32]) -> Result<Rows> {
        let rows: Vec<usize> = tokens.iter().map(|&token| token as usize).collect();
        Ok(table.select(&rows))
    }

    fn norm(&self, x: &Rows, weight: &Vec<f32>, epsilon: f32) -> Result<Rows> {
        let mut out = x.clone();
        out.numbers
            .par_chunks_mut(x.width)
            .with_min_len(task_rows(x.width))
            .for_each(|row| rms_norm(row, weight, epsilon));
        Ok(out)
    }

    fn project(&self, x: &Rows, matrix: &Matrix) -> Result<Rows> {
        matrix.product(x).map_err(|e| DecoderError::product(&e))
    }

    fn add(&self, mut x: Rows, y: &Rows) -> Result<Rows> {
        elementwise::add(&mut x.numbers, &y.numbers);
        Ok(x)
    }

    fn add_bias(&self, mut x: Rows, bias: &Vec<f32>) -> Result<Rows> {
        for row in x.numbers.chunks_mut(x.width) {
            elementwise::add(row, bias);
        }
        Ok(x)
    }

    fn scale(&self, mut x: Rows, factor: f32) -> Result<Rows> {
        elementwise::scale(&mut x.numbers, factor);
        Ok(x)
    }

    fn gate(&self, gate_and_up: Rows, activation: Activation) -> Result<Rows> {
        let gated = match activation {
            Activation::Silu => elementwise::gated_silu,
            Activation::GeluTanh => elementwise::gated_gelu_tanh,
        };
        let width = gate_and_up.width / 2;
        let mut out = Rows::zeros(gate_and_up.count(), width);
        out.numbers
            .par_chunks_mut(width)
            .zip(gate_and_up.numbers.par_chunks(2 * width))
            .with_min_len(task_rows(width))
            .for_each(|(out, gate_and_up)| gated(gate_and_up, out));
        Ok(out)
    }

    fn attend(
        &self,
        mut projected: Rows,
        layer: &AttentionLayer<'_, Vec<f32>>,
        rotation: &Rotation,
        runs: &mut [Run<'_, CpuSequence>],
    ) -> Result<Rows> {
        attention::rotate(&mut projected, layer, rotation);
        attention::store(&projected, layer, runs);
        Ok(attention::attend(&projected, layer, runs))
    }

    fn select(&self, x: &Rows, rows: &[usize]) -> Result<Rows> {
        Ok(x.select(rows))
    }

    fn upload(&self, numbers: Vec<f32>, width: usize) -> Result<Rows> {
        Ok(Rows::new(numbers, width))
    }

    fn download(&self, x: Rows) -> Result<Vec<f32>> {
        Ok(x.numbers)
    }
}
