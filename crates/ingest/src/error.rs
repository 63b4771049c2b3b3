//! What can go wrong while documents are taken in.

use ken_corpus::CorpusError;
use ken_documents::ReadError;
use ken_model::embedder::EmbedderError;

/// Why documents could not be taken in. What was published before stays.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// A document could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A passage could not be embedded.
    #[error(transparent)]
    Embed(#[from] EmbedderError),
    /// The corpus could not be written.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The indexes could not be written.
    #[error(transparent)]
    Index(#[from] ken_index::IndexError),
}

impl IngestError {
    /// A short name of the error for machines.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Read(e) => e.kind(),
            Self::Embed(e) => e.kind(),
            Self::Corpus(e) => e.kind(),
            Self::Index(e) => e.kind(),
        }
    }

    /// What the reader can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Read(e) => e.hint(),
            Self::Embed(e) => e.hint(),
            Self::Corpus(e) => e.hint(),
            Self::Index(e) => e.hint(),
        }
    }
}
