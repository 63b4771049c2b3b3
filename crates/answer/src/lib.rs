//! The online path: a question to a route, evidence, an answer with citations, and a trace of it
//! all. Takes no documents in.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::print_stderr
    )
)]

mod answer;
mod back_end;
mod cite;
mod error;
mod evidence;
mod finding;
mod pipeline;
pub mod prompt;
mod rerank;
mod retrieve;

pub use answer::{Answer, Citation, Retrieved, Tokens};
pub use back_end::BackEnd;
pub use error::AnswerError;
pub use finding::Finding;
pub use pipeline::{Event, Pipeline, Settings};
pub use prompt::Posed;
pub use rerank::{Rerank, Reranker, Reranking, UnknownRerank};
pub use retrieve::Retriever;
