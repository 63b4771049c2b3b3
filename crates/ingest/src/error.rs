//! What can go wrong while documents are ingested.

use ken_corpus::CorpusError;
use ken_documents::ReadError;
use ken_language::ModelError;

/// Why documents could not be ingested. What was published before stays.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error(transparent)]
#[allow(missing_docs)] // the variants are named by what failed
pub enum IngestError {
    Read(#[from] ReadError),
    Embed(#[from] ModelError),
    Corpus(#[from] CorpusError),
    Index(#[from] ken_index::IndexError),
}
