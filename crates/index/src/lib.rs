//! Search over a corpus: dense, lexical, and both fused.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod dense;
mod dot;
mod error;
mod fuse;
mod lexical;
mod mode;
mod tokenize;
mod top_k;

pub use error::Error;
pub use mode::Mode;
