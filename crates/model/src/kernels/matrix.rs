//! Projections, laid out once in the order in which products read them.

use std::sync::Arc;

use rten_gemm::{GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::low_rank::{LowRank, OwnRows};
use super::quantized::{Activations, Operand, QuantizedMatrix, products};
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
    /// Dequantized, with unquantized activations.
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
    /// Quantized weights.
    Quantized(QuantizedProjection),
}

/// A projection with quantized weights, and an adapter's changes to it.
#[derive(Default)]
pub(crate) struct QuantizedProjection {
    /// Their outputs are concatenated.
    pub(crate) matrices: Vec<Arc<QuantizedMatrix>>,
    /// Updates that are added to products.
    pub(crate) updates: Vec<LowRank>,
    /// Outputs with replaced weights.
    pub(crate) own_rows: Option<Arc<OwnRows>>,
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
                Self::Quantized(QuantizedProjection {
                    matrices: vec![Arc::new(matrix)],
                    ..QuantizedProjection::default()
                })
            }
        }
    }

    /// Whether its product depends on the arithmetic.
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
            Self::Quantized(projection) => Ok(projection.product(x, arithmetic)),
        }
    }
}

impl QuantizedProjection {
    fn product(&self, x: &Rows, arithmetic: Arithmetic) -> Rows {
        let outputs = self.matrices.iter().map(|matrix| matrix.outputs()).sum();
        let mut out = Rows::zeros(x.count(), outputs);
        let operand = match arithmetic {
            Arithmetic::Exact => Operand::Exact(x),
            Arithmetic::Integer => Operand::Integer(Activations::new(x)),
        };
        products(&self.matrices, &operand, &mut out);
        for update in &self.updates {
            update.add(x, &mut out);
        }
        if let Some(own) = &self.own_rows {
            own.put_products(x, &mut out);
        }
        out
    }
}
