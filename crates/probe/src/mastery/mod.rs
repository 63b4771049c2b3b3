//! How well a model masters a sentence (Zero-RAG, section 3.1): the share of questions about the sentence that the
//! model answers from memory.
//!
//! `spans` picks what can be asked for, `write` has a model write a question for each answer, or `compose` has it
//! write both; filters drop bad pairs, for which `judge` asks the model; `score` counts right answers. Callers have
//! the model answer the questions, with their own prompts.

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
