//! What a decoder is made of, with its derivatives. On the processor in 32 bits each step is one
//! fused pass over plain slices, with products by `rten-gemm`; everywhere else, and in 64 bits, the
//! same steps are put together from candle's operations, which is also what the fused ones are held
//! against.
//!
//! Activations are rows, one a token, and sequences stand one behind the other without padding.

mod attention;
mod dropout;
mod fixed;
mod gate;
mod likelihood;
mod memory;
mod norm;
mod pair;
mod product;
mod projection;

pub(crate) use attention::{AttentionShape, attend};
pub(crate) use dropout::Dropout;
pub(crate) use fixed::Fixed;
pub(crate) use gate::gate;
pub(crate) use likelihood::log_probabilities;
pub(crate) use norm::rms_norm;
pub(crate) use pair::Pair;
pub(crate) use projection::{product, projected};

/// Rows of a width that are worth a task of their own.
fn task_rows(width: usize) -> usize {
    /// Numbers whose pass takes longer than handing it to another thread.
    const NUMBERS: usize = 1 << 14;
    NUMBERS.div_ceil(width.max(1))
}
