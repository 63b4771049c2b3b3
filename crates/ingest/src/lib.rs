//! The offline path: documents to passages to vectors to a published generation of a corpus.
//! Answers no question and knows nothing of routes.

mod error;
mod known_vectors;
mod merge;
mod report;
mod run;
mod split;
mod stages;

pub use error::IngestError;
pub use ken_corpus::Cut;
pub use merge::{CompactProgress, compact};
pub use report::Report;
pub use run::{Ingest, ingest};
pub use stages::Progress;
