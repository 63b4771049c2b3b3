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

/// `out = factor * left * right`, or, with `add`, `out += factor * left * right`.
pub(super) fn multiply(
    out: &mut [f32],
    left: Matrix<'_>,
    right: Matrix<'_>,
    factor: f32,
    add: bool,
) -> Result<()> {
    run(out, left, GemmInputB::Unpacked(right.view), factor, add)
}

/// As [`multiply`], with a packed right operand.
pub(super) fn multiply_packed(
    out: &mut [f32],
    left: Matrix<'_>,
    right: &PackedBMatrix<f32>,
    factor: f32,
    add: bool,
) -> Result<()> {
    run(out, left, GemmInputB::Packed(right), factor, add)
}

fn run(
    out: &mut [f32],
    left: Matrix<'_>,
    right: GemmInputB<'_, f32>,
    factor: f32,
    add: bool,
) -> Result<()> {
    let options = GemmOptions {
        alpha: factor,
        beta: if add { 1.0 } else { 0.0 },
        ..GemmOptions::default()
    };
    GemmExecutor::<f32>::new()
        .gemm(out, GemmInputA::Unpacked(left.view), right, options)
        .map_err(|error| Error::msg(format!("matrix product: {error:?}")))
}
