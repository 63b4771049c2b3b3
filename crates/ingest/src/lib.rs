//! The offline path: documents to passages to vectors to a published generation of a corpus.
//! Answers no question and knows nothing of routes.

mod cut;
mod error;
mod run;
mod stages;

pub use cut::Cut;
pub use error::IngestError;
pub use run::{Ingest, Progress, Report, ingest};
