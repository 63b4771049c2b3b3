//! The errors of ingesting documents.

use ken_corpus::CorpusError;
use ken_documents::ReadError;
use ken_language::ModelError;

/// Documents could not be ingested. Generations published before stay.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error(transparent)]
#[allow(missing_docs)] // the variants are named by what failed
pub enum IngestError {
    Read(#[from] ReadError),
    Embed(#[from] ModelError),
    Corpus(#[from] CorpusError),
    Index(#[from] ken_index::IndexError),
}
