//! For tests only: a language model that knows a table of facts ([`TableModel`]), one that scores by a function
//! ([`FnModel`]), an embedder whose vectors are a function of the text ([`FnEmbedder`]), a guarantee, assertions,
//! tables of cases, and values with a few fields changed ([`has!`], [`says!`], [`holds!`], [`fails!`], [`cases!`],
//! [`with!`]).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod assertions;
mod embedder;
mod guarantee;
mod scorer;
mod table;

pub use assertions::extended;
pub use embedder::{FnEmbedder, HASHED_DIMENSIONS, hashed};
pub use guarantee::{guarantee, guarantee_of_answers};
pub use scorer::FnModel;
#[doc(hidden)]
pub use serde_json;
pub use table::{Call, Fact, TableError, TableModel};
