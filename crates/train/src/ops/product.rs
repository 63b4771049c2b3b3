//! Matrix products of slices.

use candle_core::{Error, Result};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

/// A row-major matrix, or its transpose.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub(super) view: NdTensorView<'a, f32, 2>,
}

impl<'a> Matrix<'a> {
    /// # Shapes
    /// `numbers`: `[rows, columns]`.
    pub(super) fn new(numbers: &'a [f32], rows: usize, columns: usize) -> Self {
        Self {
            view: NdTensorView::from_data([rows, columns], numbers),
        }
    }

    pub(super) fn transposed(self) -> Self {
        Self {
            view: self.view.transposed(),
        }
    }

    /// Packs the matrix as the right operand of many products.
    pub(super) fn packed(self) -> PackedBMatrix<f32> {
        GemmExecutor::<f32>::new().prepack_b(self.view)
    }
}

impl<'a> From<Matrix<'a>> for GemmInputB<'a, f32> {
    fn from(matrix: Matrix<'a>) -> Self {
        Self::Unpacked(matrix.view)
    }
}

/// `out = factor * left * right`, or, with `add`, `out += factor * left * right`.
pub(super) fn multiply<'a>(
    out: &mut [f32],
    left: Matrix<'_>,
    right: impl Into<GemmInputB<'a, f32>>,
    factor: f32,
    add: bool,
) -> Result<()> {
    let options = GemmOptions {
        alpha: factor,
        beta: if add { 1.0 } else { 0.0 },
        ..GemmOptions::default()
    };
    GemmExecutor::<f32>::new()
        .gemm(out, GemmInputA::Unpacked(left.view), right.into(), options)
        .map_err(|error| Error::msg(format!("matrix product: {error:?}")))
}
