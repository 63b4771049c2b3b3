//! Weights in their stored form, between reading and laying out for products.

use candle_core::quantized::GgmlDType;
use candle_core::{Device, Tensor};

use crate::decoder::error::DecoderError;
use crate::decoder::graph::block_matrix::BlockMatrix;
use crate::kernels::quantized::BlockType;

/// A matrix `[outputs, inputs]` in its stored form.
pub(in crate::decoder) enum Stored {
    /// In 32 bits, or in a type that is converted to 32.
    Dense(Tensor),
    /// In blocks of 4 to 8 bits.
    Blocks(Blocks),
}

/// Quantized weights with an adapter's changes beside them, since merging would make them floats.
#[derive(Default)]
pub(in crate::decoder) struct Blocks {
    /// Their rows are concatenated.
    pub(in crate::decoder) matrices: Vec<BlockMatrix>,
    /// Updates of the weights.
    pub(in crate::decoder) updates: Vec<Update>,
    /// Rows that replace some of them.
    pub(in crate::decoder) replaced: Option<Replaced>,
}

/// The low-rank update of some rows of a matrix.
pub(in crate::decoder) struct Update {
    /// The first of these rows.
    pub(in crate::decoder) first: usize,
    /// `[rank, inputs]`.
    pub(in crate::decoder) down: Tensor,
    /// `[rows, rank]`.
    pub(in crate::decoder) up: Tensor,
}

/// Rows of a matrix that replace its own.
pub(in crate::decoder) struct Replaced {
    pub(in crate::decoder) rows: Vec<u32>,
    /// `[rows, inputs]`.
    pub(in crate::decoder) weights: Tensor,
}

impl Stored {
    /// A matrix in blocks.
    pub(in crate::decoder) fn blocks(matrix: BlockMatrix) -> Self {
        Self::Blocks(Blocks {
            matrices: vec![matrix],
            ..Blocks::default()
        })
    }

    /// The weights with an update of all rows; if they are blocks, the update stays beside them.
    pub(in crate::decoder) fn with_update(self, update: Update) -> Result<Self, DecoderError> {
        match self {
            Self::Dense(weight) => Ok(Self::Dense(update.added_to(&weight)?)),
            Self::Blocks(mut blocks) => {
                blocks.updates.push(update);
                Ok(Self::Blocks(blocks))
            }
        }
    }

    /// The weights with replaced rows; if they are blocks, the rows stay beside them.
    pub(in crate::decoder) fn with_rows(self, rows: Replaced) -> Result<Self, DecoderError> {
        match self {
            Self::Dense(weight) => Ok(Self::Dense(rows.put_into(&weight)?)),
            Self::Blocks(mut blocks) => {
                blocks.replaced = Some(rows);
                Ok(Self::Blocks(blocks))
            }
        }
    }

    /// Projections of blocks on top of one another: as blocks, if all of them are. None has replaced rows.
    pub(in crate::decoder) fn stacked(parts: Vec<Self>) -> Result<Self, DecoderError> {
        if parts.iter().any(|part| matches!(part, Self::Dense(_))) {
            let parts: Vec<Tensor> = parts.iter().map(Self::dense).collect::<Result<_, _>>()?;
            return Ok(Self::Dense(Tensor::cat(&parts, 0)?));
        }
        let mut stack = Blocks::default();
        let mut first = 0;
        for part in parts {
            if let Self::Blocks(part) = part {
                let updates = part.updates.into_iter();
                stack.updates.extend(updates.map(|update| Update {
                    first: first + update.first,
                    ..update
                }));
                first += part.matrices.iter().map(|m| m.rows).sum::<usize>();
                stack.matrices.extend(part.matrices);
            }
        }
        Ok(Self::Blocks(stack))
    }

    /// The weights in 32 bits, with all changes merged.
    pub(in crate::decoder) fn dense(&self) -> Result<Tensor, DecoderError> {
        match self {
            Self::Dense(tensor) => Ok(tensor.clone()),
            Self::Blocks(blocks) => {
                let parts = blocks.matrices.iter().map(BlockMatrix::dense);
                let parts: Vec<Tensor> = parts.collect::<Result<_, _>>()?;
                let mut weight = Tensor::cat(&parts, 0)?;
                for update in &blocks.updates {
                    weight = update.added_to(&weight)?;
                }
                match &blocks.replaced {
                    Some(replaced) => replaced.put_into(&weight),
                    None => Ok(weight),
                }
            }
        }
    }
}

impl Update {
    /// `W + up down`, merged (LoRA, Eq. 3).
    fn added_to(&self, weight: &Tensor) -> Result<Tensor, DecoderError> {
        let learned = self.up.matmul(&self.down)?;
        let rows = learned.dim(0)?;
        if rows == weight.dim(0)? {
            return Ok((weight + learned)?);
        }
        let changed = (weight.narrow(0, self.first, rows)? + learned)?;
        Ok(weight.slice_assign(
            &[self.first..self.first + rows, 0..weight.dim(1)?],
            &changed,
        )?)
    }
}

impl Replaced {
    /// The weights with these rows replaced.
    fn put_into(&self, weight: &Tensor) -> Result<Tensor, DecoderError> {
        let index = Tensor::new(self.rows.as_slice(), &Device::Cpu)?;
        let own = weight.index_select(&index, 0)?;
        Ok(weight.index_add(&index, &(&self.weights - own)?, 0)?)
    }
}

/// The kernels' name of a type of blocks; `None` for a type without kernels.
pub(in crate::decoder) fn block_type(dtype: GgmlDType) -> Option<BlockType> {
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
