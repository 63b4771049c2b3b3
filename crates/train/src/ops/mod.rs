//! The operations of a decoder, with their derivatives. On the CPU in 32 bits each is one fused pass
//! over plain slices, with matrix products by `rten-gemm`. On other devices and in 64 bits it is
//! composed of candle's operations, against which the tests check the fused passes.
//!
//! Activations are rows, one per token, of concatenated sequences without padding.

/// The value of code that is compiled for the widest vectors of this machine.
macro_rules! widest {
    ($code:expr) => {
        ken_model::kernels::widest(
            #[inline(always)]
            || $code,
        )
    };
}

mod attention;
mod dropout;
mod frozen;
mod gate;
mod likelihood;
mod memory;
mod norm;
mod pair;
mod product;
mod projection;

pub(crate) use attention::{AttentionShape, attend};
pub(crate) use dropout::Dropout;
pub(crate) use frozen::Frozen;
pub(crate) use gate::gate;
pub(crate) use likelihood::log_probabilities;
pub(crate) use memory::{is_slice, with_slices};
pub(crate) use norm::rms_norm;
pub(crate) use pair::Pair;
pub(crate) use projection::{product, projected};
pub(crate) use widest;

/// Rows of a width per parallel task.
fn task_rows(width: usize) -> usize {
    /// Enough numbers to be worth another thread.
    const NUMBERS: usize = 1 << 14;
    NUMBERS.div_ceil(width.max(1))
}

/// The dot product, summed in 32 lanes.
#[inline(always)]
fn dot(one: &[f32], other: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 32];
    for (one, other) in one.chunks(32).zip(other.chunks(32)) {
        for ((lane, x), y) in lanes.iter_mut().zip(one).zip(other) {
            *lane += x * y;
        }
    }
    lanes.iter().sum()
}
