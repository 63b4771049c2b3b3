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
