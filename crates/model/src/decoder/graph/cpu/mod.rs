//! The forward pass on plain slices: matrix products with weights laid out once, and fused passes over rows between
//! them, in as many threads as the current rayon pool has.
//!
//! Each row is computed by the same operations in the same order whatever the rest of the batch, so results are
//! bit-identical in any batch.

mod attention;
mod segment;

use std::sync::Arc;

use candle_core::Tensor;
use rayon::prelude::*;

use crate::decoder::config::Activation;
use crate::decoder::error::DecoderError;
use crate::decoder::files::stored_weights::{Replaced, Stored, Update};
use crate::decoder::graph::backend::{AttentionLayer, Backend, Heads, Input, Rotation};
use crate::decoder::graph::block_matrix::BlockMatrix;

use crate::kernels::elementwise;
use crate::kernels::low_rank::{LowRank, OwnRows};
use crate::kernels::matrix::{Arithmetic, Matrix, QuantizedProjection, WeightFormat};
use crate::kernels::norms::rms_norm;
use crate::kernels::quantized::QuantizedMatrix;
use crate::kernels::rows::{Rows, task_rows};
pub(in crate::decoder) use segment::CpuSequence;

type Result<T> = std::result::Result<T, DecoderError>;

/// The CPU backend.
pub(in crate::decoder) struct Cpu {
    /// How float weights are stored.
    pub(in crate::decoder) weight_format: WeightFormat,
    /// How quantized weights are multiplied.
    pub(in crate::decoder) arithmetic: Arithmetic,
}

/// The token embedding.
pub(in crate::decoder) enum Table {
    F32(Rows),
    Quantized {
        matrix: Arc<QuantizedMatrix>,
        /// Tokens with replaced embeddings.
        own_rows: Option<Arc<OwnRows>>,
    },
}

/// Lays out stored blocks.
fn quantized(matrix: &BlockMatrix) -> Result<Arc<QuantizedMatrix>> {
    matrix.laid_out().map(Arc::new)
}

fn low_rank(update: &Update) -> Result<LowRank> {
    let (down, up) = (numbers(&update.down)?, numbers(&update.up)?);
    Ok(LowRank::new(update.first, update.down.dim(0)?, down, &up))
}

fn own_rows(replaced: &Replaced) -> Result<Arc<OwnRows>> {
    let places = replaced.rows.iter().map(|&row| row as usize).collect();
    let weights = Rows::new(numbers(&replaced.weights)?, replaced.weights.dim(1)?);
    Ok(Arc::new(OwnRows::new(places, weights)))
}

fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(tensor.flatten_all()?.to_vec1::<f32>()?)
}

impl Backend for Cpu {
    type Rows = Rows;
    type Matrix = Matrix;
    type Vector = Vec<f32>;
    type Table = Table;
    type Rotation = Rotation;
    type Sequence = CpuSequence;

    fn matrix(&self, weight: Stored) -> Result<Matrix> {
        match weight {
            Stored::Dense(weight) => {
                let (outputs, inputs) = weight.dims2()?;
                let numbers = numbers(&weight)?;
                Ok(Matrix::new(&numbers, outputs, inputs, self.weight_format))
            }
            Stored::Blocks(blocks) => Ok(Matrix::Quantized(QuantizedProjection {
                matrices: blocks
                    .matrices
                    .iter()
                    .map(quantized)
                    .collect::<Result<_>>()?,
                updates: blocks.updates.iter().map(low_rank).collect::<Result<_>>()?,
                own_rows: blocks.replaced.as_ref().map(own_rows).transpose()?,
            })),
        }
    }

    fn float_matrix(&self, weight: &Tensor) -> Result<Matrix> {
        let (outputs, inputs) = weight.dims2()?;
        let format = WeightFormat::F32;
        Ok(Matrix::new(&numbers(weight)?, outputs, inputs, format))
    }

    fn vector(&self, weight: &Tensor) -> Result<Vec<f32>> {
        numbers(weight)
    }

    fn table(&self, weight: Stored) -> Result<Table> {
        if let Stored::Blocks(blocks) = &weight
            && let [matrix] = blocks.matrices.as_slice()
        {
            return Ok(Table::Quantized {
                matrix: quantized(matrix)?,
                own_rows: blocks.replaced.as_ref().map(own_rows).transpose()?,
            });
        }
        let weight = weight.dense()?;
        let (_, width) = weight.dims2()?;
        Ok(Table::F32(Rows::new(numbers(&weight)?, width)))
    }

    fn tied_output(&self, table: &Table) -> Result<Matrix> {
        Ok(match table {
            Table::F32(rows) => {
                Matrix::new(&rows.numbers, rows.count(), rows.width, self.weight_format)
            }
            Table::Quantized { matrix, own_rows } => Matrix::Quantized(QuantizedProjection {
                matrices: vec![Arc::clone(matrix)],
                own_rows: own_rows.clone(),
                ..QuantizedProjection::default()
            }),
        })
    }

    fn rotation(&self, rotation: Rotation) -> Result<Rotation> {
        Ok(rotation)
    }

    fn empty(&self, layers: usize, heads: &Heads, capacity: usize) -> Result<CpuSequence> {
        Ok(CpuSequence::empty(layers, heads, capacity))
    }

    fn embed(&self, table: &Table, tokens: &[u32]) -> Result<Rows> {
        let tokens = tokens.iter().map(|&token| token as usize);
        match table {
            Table::F32(rows) => Ok(rows.select(&tokens.collect::<Vec<_>>())),
            Table::Quantized { matrix, own_rows } => {
                let width = matrix.inputs();
                let mut rows = Rows::zeros(tokens.len(), width);
                for (token, row) in tokens.zip(rows.numbers.chunks_exact_mut(width)) {
                    match own_rows.as_ref().and_then(|own| own.find(token)) {
                        Some(own) => row.copy_from_slice(own),
                        None => matrix.dequantize(token, row),
                    }
                }
                Ok(rows)
            }
        }
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
        let product = matrix.product(x, self.arithmetic);
        product.map_err(|e| candle_core::Error::msg(format!("matrix product: {e:?}")).into())
    }

    fn add(&self, mut x: Rows, y: &Rows) -> Result<Rows> {
        elementwise::add(&mut x.numbers, &y.numbers);
        Ok(x)
    }

    fn add_rows(&self, mut x: Rows, rows: &[usize], factors: &[f32], y: &Rows) -> Result<Rows> {
        let width = x.width;
        let added = y.numbers.chunks_exact(width);
        for ((&row, &factor), added) in rows.iter().zip(factors).zip(added) {
            let row = &mut x.numbers[row * width..(row + 1) * width];
            elementwise::add_scaled(row, factor, added);
        }
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
        inputs: &mut [Input<'_, CpuSequence>],
    ) -> Result<Rows> {
        attention::rotate(&mut projected, layer, rotation);
        attention::store(&projected, layer, inputs);
        Ok(attention::attend(&projected, layer, inputs))
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
