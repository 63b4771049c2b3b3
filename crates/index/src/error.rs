//! What can go wrong in the index, with the remedy beside the message.
//!
//! Errors of the corpus itself pass through unchanged.

use std::path::PathBuf;

use ken_diagnostic::Remedy;
use ken_storage::{io_kind, io_remedy};

use crate::mode::Mode;

const INGEST_AGAIN: &str = "the corpus is damaged: ingest the documents into a new corpus";

/// An error of writing, opening or searching an index.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum IndexError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    #[diagnostic(kind = io_kind(source.kind()), remedy = io_remedy(source.kind(), path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A segment has no file of vectors.
    #[error("the vectors file {} is missing", path.display())]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    VectorsMissing {
        /// Where the file should be.
        path: PathBuf,
    },
    /// The vectors file does not hold one vector per passage.
    #[error(
        "the vectors file {} is damaged: it has {received_bytes} bytes, but {passages} vectors of {dimensions} dimensions take {expected_bytes}",
        path.display()
    )]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    VectorsSize {
        /// The damaged file.
        path: PathBuf,
        /// Its size.
        received_bytes: u64,
        /// The size that follows from `passages` and `dimensions`.
        expected_bytes: u64,
        /// Passages in the segment.
        passages: usize,
        /// Numbers per vector.
        dimensions: usize,
    },
    /// The graph of a segment's vectors is not what the segment needs.
    #[error("the graph {} is damaged: {reason}", path.display())]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    GraphDamaged {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The vector of a passage to be written does not fit the corpus.
    #[error("the vector of passage {passage_id} has {received} dimensions, not {expected}")]
    #[diagnostic(kind = "vector_count")]
    VectorLength {
        /// The passage.
        passage_id: String,
        /// Numbers received.
        received: usize,
        /// Dimensions of the vectors of the corpus.
        expected: usize,
    },
    /// The vector of a passage to be written holds NaN or an infinity.
    #[error("the vector of passage {passage_id} holds a number that is not finite")]
    #[diagnostic(remedy = "the embedder is broken: verify its files")]
    VectorNotFinite {
        /// The passage with the bad vector.
        passage_id: String,
    },
    /// The vector of the query does not fit the corpus.
    #[error("the query vector has {received} dimensions, but the corpus has {expected}")]
    #[diagnostic(remedy = "embed the query with the embedder that the corpus was ingested with")]
    QueryDimensions {
        /// Dimensions of the query vector.
        received: usize,
        /// Dimensions of the vectors of the corpus.
        expected: usize,
    },
    /// The vector of the query holds NaN or an infinity.
    #[error("the query vector holds a number that is not finite")]
    #[diagnostic(remedy = "the embedder is broken: verify its files")]
    QueryNotFinite,
    /// A dense or hybrid search without a query vector.
    #[error("{mode} search needs the vector of the query")]
    #[diagnostic(remedy = "give the query a vector, or search in the mode lexical")]
    QueryVectorMissing {
        /// The requested mode.
        mode: Mode,
    },
    /// A lexical index cannot be read, or was written in another layout.
    #[error("the lexical index {} is damaged: {reason}", path.display())]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    LexicalDamaged {
        /// The folder of the index.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A lexical index could not be written, though the system did not refuse it.
    #[error("cannot write the lexical index {}: {source}", path.display())]
    LexicalWrite {
        /// The folder of the index.
        path: PathBuf,
        /// What tantivy said.
        source: Box<tantivy::TantivyError>,
    },
    /// A name that says nothing about how vectors are stored and searched.
    #[error(
        "unknown way to store and search vectors {received:?} (auto, exact, graph and disk are known, each also with :f16 or :int8)"
    )]
    UnknownDenseLayout {
        /// The name that was given.
        received: String,
    },
    /// The caller canceled the writing.
    #[error("writing the index was cancelled")]
    Cancelled,
    /// The corpus could not be read.
    #[error(transparent)]
    Corpus(#[from] ken_corpus::CorpusError),
}

impl From<ken_storage::StorageError> for IndexError {
    fn from(error: ken_storage::StorageError) -> Self {
        Self::Io {
            path: error.path,
            source: error.source,
        }
    }
}
