//! Projections, laid out once in the order in which products read them.

use std::sync::Arc;

use rten_gemm::{GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::quantized::{Operand, QuantizedMatrix, QuantizedRows, products};
use super::rows::Rows;

/// How weights that come as floats are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightFormat {
    /// As 32-bit floats.
    F32,
    /// As 8-bit integers with a scale for each 32 inputs of an output.
    Int8,
}

/// How quantized weights are multiplied. Weights in 32 bits are always multiplied in 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// Dequantized, with activations as they are.
    Exact,
    /// In integers, with activations quantized to 8 bits.
    Integer,
}

/// A projection without bias.
pub(crate) enum Matrix {
    /// 32-bit weights.
    F32 {
        packed: PackedBMatrix<f32>,
        outputs: usize,
    },
    /// Quantized weights; the outputs of several matrices follow one another.
    Quantized(Vec<Arc<QuantizedMatrix>>),
}

impl Matrix {
    /// # Shapes
    /// `weights`: `[outputs, inputs]`.
    pub(crate) fn new(
        weights: &[f32],
        outputs: usize,
        inputs: usize,
        weight_format: WeightFormat,
    ) -> Self {
        match weight_format {
            WeightFormat::F32 => {
                let view = NdTensorView::from_data([outputs, inputs], weights);
                Self::F32 {
                    packed: GemmExecutor::<f32>::new().prepack_b(view.transposed()),
                    outputs,
                }
            }
            WeightFormat::Int8 => {
                let matrix = QuantizedMatrix::from_floats(weights, outputs, inputs);
                Self::Quantized(vec![Arc::new(matrix)])
            }
        }
    }

    /// Whether it is multiplied differently by one arithmetic and another.
    pub(crate) fn is_quantized(&self) -> bool {
        matches!(self, Self::Quantized(_))
    }

    /// # Shapes
    /// `x`: `[rows, inputs]`; returns `[rows, outputs]`.
    pub(crate) fn product(&self, x: &Rows, arithmetic: Arithmetic) -> Result<Rows, GemmError> {
        match self {
            Self::F32 { packed, outputs } => {
                let mut out = Rows::zeros(x.count(), *outputs);
                GemmExecutor::<f32>::new().gemm(
                    &mut out.numbers,
                    GemmInputA::Unpacked(NdTensorView::from_data(
                        [x.count(), x.width],
                        x.numbers.as_slice(),
                    )),
                    GemmInputB::Packed(packed),
                    GemmOptions::default(),
                )?;
                Ok(out)
            }
            Self::Quantized(matrices) => {
                let outputs = matrices.iter().map(|matrix| matrix.outputs()).sum();
                let mut out = Rows::zeros(x.count(), outputs);
                let operand = match arithmetic {
                    Arithmetic::Exact => Operand::Exact(x),
                    Arithmetic::Integer => Operand::Integer(QuantizedRows::new(x)),
                };
                products(matrices, &operand, &mut out);
                Ok(out)
            }
        }
    }
}
