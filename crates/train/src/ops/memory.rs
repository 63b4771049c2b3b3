//! Tensors as plain slices.

use candle_core::{CpuStorage, DType, Error, Layout, Result, Shape, Storage, Tensor};

/// Whether a tensor is processed as a slice: 32 bits on the CPU.
pub(crate) fn is_slice(tensor: &Tensor) -> bool {
    tensor.device().is_cpu() && tensor.dtype() == DType::F32
}

/// The numbers of an operation's argument, which must be contiguous.
pub(super) fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(numbers), Some((start, end))) => Ok(&numbers[start..end]),
        _ => Err(Error::msg("contiguous 32-bit numbers were expected")),
    }
}

/// Runs code on the numbers of tensors.
pub(crate) fn with_slices<const N: usize, R>(
    tensors: [&Tensor; N],
    code: impl FnOnce([&[f32]; N]) -> Result<R>,
) -> Result<R> {
    let tensors = tensors
        .into_iter()
        .map(Tensor::contiguous)
        .collect::<Result<Vec<_>>>()?;
    let storages: Vec<_> = tensors.iter().map(Tensor::storage_and_layout).collect();
    let mut slices = [&[][..]; N];
    for (numbers, (storage, layout)) in slices.iter_mut().zip(&storages) {
        let Storage::Cpu(storage) = &**storage else {
            return Err(Error::msg("numbers on the CPU were expected"));
        };
        *numbers = slice(storage, layout)?;
    }
    code(slices)
}

/// A gradient in the shape of its tensor, as `bwd` returns it.
pub(super) fn gradient_of(tensor: &Tensor, numbers: Vec<f32>) -> Result<Option<Tensor>> {
    Tensor::from_vec(numbers, tensor.shape(), tensor.device()).map(Some)
}

/// The output of an operation.
pub(super) fn returned(numbers: Vec<f32>, shape: impl Into<Shape>) -> (CpuStorage, Shape) {
    (CpuStorage::F32(numbers), shape.into())
}
