//! How well a model masters a sentence (Zero-RAG, section 3.1): the share of questions to what the
//! sentence says that the model answers without it.
//!
//! The path: `spans` picks what can be asked for, `write` has a question written to each, or `compose` has both written,
//! and bad pairs are dropped, for which `judge` asks a model; `score` counts right answers. Answering the questions
//! is the business of whoever has the prompts for it.

mod compose;
mod judge;
mod lines;
mod pair;
mod score;
mod spans;
mod wording;
mod write;

pub use pair::{AnswersFrom, Pair, Stated};
pub use score::{Mastery, mastery};
pub use wording::fingerprint;
pub use write::{Dropped, WriteOptions, Written, write_pairs};
