//! Models for tests: a language model with a known boundary ([`TableModel`]), one that scores by a
//! function ([`FnModel`]), and an embedder whose vectors follow from the texts ([`FnEmbedder`]).
//! Tests use it, and no program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod embedder;
mod scorer;
mod table;

pub use embedder::{FnEmbedder, HASHED_DIMENSIONS, hashed};
pub use scorer::FnModel;
pub use table::{Call, Fact, TableError, TableModel};
