//! The online path: a question to a route, evidence, an answer with citations, and a trace of it
//! all. Takes no documents in.

mod answer;
mod back_end;
mod cite;
mod error;
mod evidence;
mod first_line;
mod pipeline;
mod prompt;
mod retrieve;

pub use answer::{Answer, Citation, Retrieved, Tokens};
pub use back_end::BackEnd;
pub use error::AnswerError;
pub use pipeline::{Event, Pipeline, Settings};
pub use retrieve::Retriever;
