//! CPU kernels that decoders and encoders share: matrix products with weights in 32 bits and in 4 to 8, attention,
//! norms, activations.
//!
//! Each row is computed by the same operations in the same order whatever the rest of the batch, so results are
//! bit-identical in any batch.

pub(crate) mod attention;
pub(crate) mod elementwise;
pub(crate) mod low_rank;
pub(crate) mod matrix;
#[cfg(test)]
#[path = "tests/measurement.rs"]
mod measurement;
pub(crate) mod norms;
mod precision;
pub(crate) mod quantized;
pub(crate) mod rotation;
pub(crate) mod rows;
mod weight_rate;
pub(crate) mod wide;

pub use elementwise::{sigmoid, softmax_inlined};
pub use norms::rms_norm;
pub use precision::Precision;
pub use quantized::InstructionSet;
pub use rows::task_rows;
pub use weight_rate::weight_rate;
pub use wide::{dot, exp_of_nonpositive, greatest, sum, widest};
