//! Tensors as plain slices.

use candle_core::{CpuStorage, DType, Error, Layout, Result, Shape, Storage, Tensor};

/// Whether a tensor is worked on as a slice.
pub(super) fn is_slice(tensor: &Tensor) -> bool {
    tensor.device().is_cpu() && tensor.dtype() == DType::F32
}

/// The numbers of an operation's argument, which has to be contiguous.
pub(super) fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(numbers), Some((start, end))) => Ok(&numbers[start..end]),
        _ => Err(Error::msg("32-bit numbers in one piece were expected")),
    }
}

/// Runs code on the numbers of a tensor.
pub(super) fn with_slice<R>(tensor: &Tensor, code: impl FnOnce(&[f32]) -> R) -> Result<R> {
    let tensor = tensor.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => Ok(code(slice(storage, layout)?)),
        _ => Err(Error::msg("numbers on the processor were expected")),
    }
}

/// What an operation returns.
pub(super) fn returned(numbers: Vec<f32>, shape: impl Into<Shape>) -> (CpuStorage, Shape) {
    (CpuStorage::F32(numbers), shape.into())
}
