//! How well a model masters a sentence (Zero-RAG, section 3.1): the share of questions about the sentence that the
//! model answers from memory.
//!
//! `spans` picks what can be asked for, `write` has a model write a question for each answer, or `compose` has it
//! write both; filters drop bad pairs, for which `judge` asks the model. Callers have the model answer the questions,
//! with their own prompts, and count the right answers.

mod compose;
mod judge;
mod lines;
mod pair;
mod spans;
mod wording;
mod write;

pub use pair::{AnswersFrom, Pair, Stated};
pub use wording::fingerprint;
pub use write::{Dropped, WriteOptions, Written, write_pairs};
