//! The two kinds of weight matrices, dense and quantized, behind one forward call each.

use std::sync::Arc;

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{CpuStorage, CustomOp1, Layout, Module, Result, Shape, Tensor};
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::NdTensorView;

/// A projection without bias.
pub(super) enum Linear {
    /// An f32 matrix.
    Dense(PackedMatrix),
    /// Quantized matrices `[rows, columns]`, whose outputs stand side by side.
    Quantized(Vec<QMatMul>),
}

impl Linear {
    /// Takes an f32 matrix `[rows, columns]`.
    pub(super) fn dense(weight: &Tensor) -> Result<Self> {
        let (rows, columns) = weight.dims2()?;
        let data = weight.flatten_all()?.to_vec1::<f32>()?;
        let matrix = NdTensorView::from_data([rows, columns], data.as_slice());
        let packed = GemmExecutor::<f32>::new().prepack_b(matrix.transposed());
        Ok(Self::Dense(PackedMatrix {
            packed,
            rows,
            columns,
        }))
    }

    /// # Shapes
    /// `x`: `[tokens, columns]`, contiguous; returns `[tokens, rows]`.
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(matrix) => x.apply_op1_no_bwd(matrix),
            Self::Quantized(parts) => match parts.as_slice() {
                [one] => one.forward(x),
                several => {
                    let outputs = several
                        .iter()
                        .map(|part| part.forward(x))
                        .collect::<Result<Vec<_>>>()?;
                    Tensor::cat(&outputs, 1)
                }
            },
        }
    }
}

/// An f32 matrix laid out once in the order in which the matrix product reads it, which makes
/// products of few rows, as in decoding, about twice as fast as candle's own.
pub(super) struct PackedMatrix {
    packed: PackedBMatrix<f32>,
    rows: usize,
    columns: usize,
}

impl CustomOp1 for PackedMatrix {
    fn name(&self) -> &'static str {
        "packed-matrix-product"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(values), Some((start, end))) = (storage, layout.contiguous_offsets())
        else {
            candle_core::bail!("the matrix product needs a contiguous f32 tensor");
        };
        let (tokens, columns) = layout.shape().dims2()?;
        if columns != self.columns {
            candle_core::bail!("{columns} columns given, {} expected", self.columns);
        }
        let left = NdTensorView::from_data([tokens, columns], &values[start..end]);
        let mut output = vec![0.0f32; tokens * self.rows];
        GemmExecutor::<f32>::new()
            .gemm(
                &mut output,
                GemmInputA::Unpacked(left),
                GemmInputB::Packed(&self.packed),
                GemmOptions::default(),
            )
            .map_err(|e| candle_core::Error::msg(format!("matrix product: {e:?}")))?;
        Ok((CpuStorage::F32(output), Shape::from((tokens, self.rows))))
    }
}

/// The token embedding, `[vocabulary, hidden]`.
pub(super) enum Embedding {
    Dense(Tensor),
    Quantized(Arc<QTensor>),
}

impl Embedding {
    /// # Shapes
    /// `tokens`: `[tokens]`; returns `[tokens, hidden]`.
    pub(super) fn forward(&self, tokens: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(table) => table.index_select(tokens, 0),
            Self::Quantized(table) => table.embedding(tokens),
        }
    }
}
