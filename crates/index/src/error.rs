//! What can go wrong in the index, with the remedy beside the message.
//!
//! Errors of the corpus itself pass through unchanged.

use std::io::ErrorKind;
use std::path::PathBuf;

use ken_corpus::CorpusError;
use ken_diagnostic::Remedy;
use ken_storage::{StorageError, io_kind, io_remedy};

use crate::mode::Mode;

const INGEST_AGAIN: &str = "the corpus is damaged: ingest the documents into a new corpus";

/// An error of writing, opening or searching an index.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs)] // the messages say what variants and fields are
pub enum IndexError {
    #[error(transparent)]
    #[diagnostic(kind = io_kind(&_0.source), remedy = io_remedy(&_0.source, &_0.path))]
    Io(StorageError),
    #[error("the vectors file {path} is missing")]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    VectorsMissing { path: PathBuf },
    #[error(
        "the vectors file {path} is damaged: it has {received_bytes} bytes, but {passages} vectors of {dimensions} dimensions take {expected_bytes}"
    )]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    VectorsSize {
        path: PathBuf,
        received_bytes: u64,
        expected_bytes: u64,
        passages: usize,
        dimensions: usize,
    },
    #[error("the graph {path} is damaged: {reason}")]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    GraphDamaged { path: PathBuf, reason: String },
    #[error("the vector of passage {passage_id} has {received} dimensions, not {expected}")]
    #[diagnostic(kind = "vector_count")]
    VectorLength {
        passage_id: String,
        received: usize,
        expected: usize,
    },
    #[error("the vector of passage {passage_id} holds a number that is not finite")]
    #[diagnostic(remedy = "the embedder is broken: verify its files")]
    VectorNotFinite { passage_id: String },
    #[error("the query vector has {received} dimensions, but the corpus has {expected}")]
    #[diagnostic(remedy = "embed the query with the embedder that the corpus was ingested with")]
    QueryDimensions { received: usize, expected: usize },
    #[error("the query vector holds a number that is not finite")]
    #[diagnostic(remedy = "the embedder is broken: verify its files")]
    QueryNotFinite,
    #[error("{mode} search needs the vector of the query")]
    #[diagnostic(remedy = "give the query a vector, or search in the mode lexical")]
    QueryVectorMissing { mode: Mode },
    /// A lexical index cannot be read, or was written in another layout.
    #[error("the lexical index {path} is damaged: {reason}")]
    #[diagnostic(remedy = Remedy::from(INGEST_AGAIN))]
    LexicalDamaged { path: PathBuf, reason: String },
    /// Tantivy failed, though the system refused nothing.
    #[error("cannot write the lexical index {path}: {source}")]
    LexicalWrite {
        path: PathBuf,
        source: Box<tantivy::TantivyError>,
    },
    #[error(
        "unknown way to store and search vectors {received:?} (auto, exact, graph and disk are known, each also with :f16 or :int8)"
    )]
    UnknownDenseLayout { received: String },
    #[error("writing the index was cancelled")]
    Cancelled,
    #[error(transparent)]
    Corpus(#[from] CorpusError),
}

/// Damage is reported as the corpus does.
impl From<StorageError> for IndexError {
    fn from(error: StorageError) -> Self {
        match error.source.kind() {
            ErrorKind::InvalidData => Self::Corpus(error.into()),
            _ => Self::Io(error),
        }
    }
}
