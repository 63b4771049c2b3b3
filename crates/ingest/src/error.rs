//! What can go wrong while documents are taken in.

use ken_corpus::CorpusError;
use ken_documents::ReadError;
use ken_language::ModelError;

/// Why documents could not be taken in. What was published before stays.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum IngestError {
    /// A document could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A passage could not be embedded.
    #[error(transparent)]
    Embed(#[from] ModelError),
    /// The corpus could not be written.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The indexes could not be written.
    #[error(transparent)]
    Index(#[from] ken_index::IndexError),
}
