//! The two kinds of weight matrices, dense and quantized, behind one forward call each.

use std::sync::Arc;

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{Module, Result, Tensor};

/// A projection without bias.
pub(super) enum Linear {
    /// An f32 matrix, transposed: `[columns, rows]`.
    Dense(Tensor),
    /// Quantized matrices `[rows, columns]`, whose outputs stand side by side.
    Quantized(Vec<QMatMul>),
}

impl Linear {
    /// Takes an f32 matrix `[rows, columns]`.
    pub(super) fn dense(weight: &Tensor) -> Result<Self> {
        Ok(Self::Dense(weight.t()?))
    }

    /// # Shapes
    /// `x`: `[tokens, columns]`; returns `[tokens, rows]`.
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Dense(transposed) => x.matmul(transposed),
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
