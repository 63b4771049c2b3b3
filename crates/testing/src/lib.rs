//! Models for tests: a language model with a known boundary ([`TableModel`]), one that scores by a
//! function ([`FnModel`]), and an embedder whose vectors follow from the texts ([`FnEmbedder`]); and a guarantee.
//! Tests use it, and no program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod embedder;
mod guarantee;
mod scorer;
mod table;

pub use embedder::{FnEmbedder, HASHED_DIMENSIONS, hashed};
pub use guarantee::{guarantee, guarantee_of_answers};
pub use scorer::FnModel;
pub use table::{Call, Fact, TableError, TableModel};
