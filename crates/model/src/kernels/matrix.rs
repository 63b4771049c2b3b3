//! Projections, packed once in the order in which the matrix product reads them.

use rten_gemm::{GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

use super::int8::Int8Matrix;
use super::rows::Rows;

/// How the weights of projections are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WeightFormat {
    /// As 32-bit floats.
    F32,
    /// As 8-bit integers with one scale per output.
    Int8,
}

/// A projection without bias.
pub(crate) enum Matrix {
    /// 32-bit weights.
    F32 {
        packed: PackedBMatrix<f32>,
        outputs: usize,
    },
    /// 8-bit weights.
    Int8(Int8Matrix),
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
            WeightFormat::Int8 => Self::Int8(Int8Matrix::new(weights, outputs, inputs)),
        }
    }

    /// # Shapes
    /// `x`: `[rows, inputs]`; returns `[rows, outputs]`.
    pub(crate) fn product(&self, x: &Rows) -> Result<Rows, GemmError> {
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
            Self::Int8(matrix) => matrix.product(x),
        }
    }
}
