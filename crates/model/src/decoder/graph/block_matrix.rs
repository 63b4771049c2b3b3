//! A matrix of 4 to 8 bits that is still in its file.

use std::ops::Range;
use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{Device, Tensor};
use ken_storage::ReadAt;

use crate::decoder::error::DecoderError;
use crate::kernels::quantized::{BlockType, QuantizedMatrix};

/// A matrix `[rows, inputs]` in a type of blocks with kernels. It is read by its users, piece by piece and from
/// several threads, so that memory never holds it twice.
pub(in crate::decoder) struct BlockMatrix {
    pub(in crate::decoder) file: Arc<ReadAt>,
    /// The offset of its first byte.
    pub(in crate::decoder) start: u64,
    pub(in crate::decoder) dtype: GgmlDType,
    pub(in crate::decoder) block: BlockType,
    pub(in crate::decoder) rows: usize,
    pub(in crate::decoder) inputs: usize,
    /// The width of heads, if the file stores the rows of rotary pairs side by side (row `2i + j` of a head) and the
    /// graph needs them half a head apart (row `i + j * width / 2`).
    pub(in crate::decoder) paired: Option<usize>,
}

impl BlockMatrix {
    /// Lays it out for products.
    ///
    /// # Errors
    /// A file that cannot be read, rows that are not whole blocks.
    pub(in crate::decoder) fn laid_out(&self) -> Result<QuantizedMatrix, DecoderError> {
        self.row_bytes()?;
        let read = |rows: Range<usize>, room: &mut [u8]| self.read(rows, room);
        QuantizedMatrix::read(self.block, self.rows, self.inputs, read)
    }

    /// The weights in 32 bits.
    ///
    /// # Errors
    /// As [`BlockMatrix::laid_out`].
    pub(in crate::decoder) fn dense(&self) -> Result<Tensor, DecoderError> {
        let mut data = vec![0; self.rows * self.row_bytes()?];
        self.read(0..self.rows, &mut data)?;
        let storage = QStorage::from_data(data.into(), &Device::Cpu, self.dtype)?;
        let tensor = QTensor::new(storage, (self.rows, self.inputs))?;
        Ok(tensor.dequantize(&Device::Cpu)?)
    }

    fn row_bytes(&self) -> Result<usize, DecoderError> {
        let (block, inputs) = (self.block, self.inputs);
        if inputs.is_multiple_of(block.inputs()) {
            return Ok(inputs / block.inputs() * block.bytes());
        }
        let message = format!("rows of {inputs} weights are not whole blocks of {block:?}");
        Err(DecoderError::Compute(candle_core::Error::msg(message)))
    }

    /// Reads rows as the file stores them.
    fn read(&self, rows: Range<usize>, room: &mut [u8]) -> Result<(), DecoderError> {
        let row_bytes = self.row_bytes()?;
        let offset = |row: usize| self.start + (row * row_bytes) as u64;
        let Some(width) = self.paired else {
            return Ok(self.file.read_into(offset(rows.start), room)?);
        };
        for (row, room) in rows.zip(room.chunks_exact_mut(row_bytes)) {
            let (head, place) = (row / width, row % width);
            let (j, i) = (place / (width / 2), place % (width / 2));
            let row = head * width + 2 * i + j;
            self.file.read_into(offset(row), room)?;
        }
        Ok(())
    }
}
