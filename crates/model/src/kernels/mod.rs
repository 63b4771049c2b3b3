//! CPU kernels that decoders and encoders share: matrix products in 32 and 8 bits, attention, norms,
//! activations. They know nothing of layers, files or texts.
//!
//! Each row is computed by the same operations in the same order whatever the rest of the batch, so
//! results are bit-identical in any batch.

pub(crate) mod attention;
mod blocks;
pub(crate) mod elementwise;
mod int8;
pub(crate) mod matrix;
pub(crate) mod norms;
mod precision;
mod quantize;
pub(crate) mod rows;
pub(crate) mod wide;

pub use elementwise::gated_silu;
pub use norms::rms_norm;
pub use precision::{Precision, UnknownName};
pub use wide::{exp_of_nonpositive, greatest, sum, widest};
