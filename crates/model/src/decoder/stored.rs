//! Weights as a file holds them, between reading and laying out for products.

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

use super::error::DecoderError;
use crate::kernels::quantized::BlockType;

/// A matrix `[outputs, inputs]` as a file holds it.
pub(super) enum Stored {
    /// In 32 bits, or in few enough others to be converted to 32.
    Dense(Tensor),
    /// In blocks of 4 to 8 bits, of which every tensor has a type that there are kernels for; their
    /// rows follow one another.
    Blocks(Vec<QTensor>),
}

impl Stored {
    /// A tensor of GGUF.
    pub(super) fn of(tensor: QTensor) -> Result<Self, DecoderError> {
        if block_type(tensor.dtype()).is_some() {
            Ok(Self::Blocks(vec![tensor]))
        } else {
            Ok(Self::Dense(tensor.dequantize(&Device::Cpu)?))
        }
    }

    /// Matrices on top of one another: as blocks, if all of them are.
    pub(super) fn stacked(parts: Vec<Self>) -> Result<Self, DecoderError> {
        if parts.iter().all(|part| matches!(part, Self::Blocks(_))) {
            let tensors = parts.into_iter().flat_map(|part| match part {
                Self::Blocks(tensors) => tensors,
                Self::Dense(_) => Vec::new(),
            });
            return Ok(Self::Blocks(tensors.collect()));
        }
        let parts: Vec<Tensor> = parts.iter().map(Self::dense).collect::<Result<_, _>>()?;
        Ok(Self::Dense(Tensor::cat(&parts, 0)?))
    }

    /// The weights in 32 bits.
    pub(super) fn dense(&self) -> Result<Tensor, DecoderError> {
        match self {
            Self::Dense(tensor) => Ok(tensor.clone()),
            Self::Blocks(tensors) => {
                let dense = |tensor: &QTensor| tensor.dequantize(&Device::Cpu);
                let parts: Vec<Tensor> = tensors.iter().map(dense).collect::<Result<_, _>>()?;
                Ok(Tensor::cat(&parts, 0)?)
            }
        }
    }
}

/// The kernels' name of a type of blocks; `None` where there are no kernels for it.
pub(super) fn block_type(dtype: GgmlDType) -> Option<BlockType> {
    Some(match dtype {
        GgmlDType::Q4_0 => BlockType::Q4_0,
        GgmlDType::Q4_1 => BlockType::Q4_1,
        GgmlDType::Q5_0 => BlockType::Q5_0,
        GgmlDType::Q5_1 => BlockType::Q5_1,
        GgmlDType::Q8_0 => BlockType::Q8_0,
        GgmlDType::Q4K => BlockType::Q4K,
        GgmlDType::Q5K => BlockType::Q5K,
        GgmlDType::Q6K => BlockType::Q6K,
        _ => return None,
    })
}
