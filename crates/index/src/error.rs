//! What can go wrong in the index, with the remedy beside the message.
//!
//! Errors of the corpus itself pass through unchanged.

use std::path::PathBuf;

use ken_storage::{io_hint, io_kind};

/// An error of writing, opening or searching an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A segment has no file of vectors.
    #[error("the vectors file {} is missing", path.display())]
    VectorsMissing {
        /// Where the file should be.
        path: PathBuf,
    },
    /// The vectors file does not hold one vector per passage.
    #[error(
        "the vectors file {} is damaged: it has {received_bytes} bytes, but {passages} vectors of {dimensions} dimensions take {expected_bytes}",
        path.display()
    )]
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
    GraphDamaged {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The vector of a passage to be written does not fit the corpus.
    #[error("the vector of passage {passage_id} has {received} dimensions, not {expected}")]
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
    VectorNotFinite {
        /// The passage with the bad vector.
        passage_id: String,
    },
    /// The vector of the query does not fit the corpus.
    #[error("the query vector has {received} dimensions, but the corpus has {expected}")]
    QueryDimensions {
        /// Dimensions of the query vector.
        received: usize,
        /// Dimensions of the vectors of the corpus.
        expected: usize,
    },
    /// The vector of the query holds NaN or an infinity.
    #[error("the query vector holds a number that is not finite")]
    QueryNotFinite,
    /// A dense or hybrid search without a query vector.
    #[error("{mode} search needs the vector of the query")]
    QueryVectorMissing {
        /// The mode that was asked for.
        mode: crate::Mode,
    },
    /// A lexical index cannot be read, or was written in another layout.
    #[error("the lexical index {} is damaged: {reason}", path.display())]
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
    /// A name that is no search mode.
    #[error("unknown search mode {received:?} (dense, lexical and hybrid are known)")]
    UnknownMode {
        /// The name that was given.
        received: String,
    },
    /// A name that says nothing about how vectors are stored and searched.
    #[error(
        "unknown way to store and search vectors {received:?} (auto, exact, graph and disk are known, each also with :f16 or :int8)"
    )]
    UnknownDenseLayout {
        /// The name that was given.
        received: String,
    },
    /// What was being written was given up since the caller asked for it.
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

impl IndexError {
    /// A short name of the kind of error, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => io_kind(source.kind()),
            Self::VectorsMissing { .. } => "vectors_missing",
            Self::VectorsSize { .. } => "vectors_size",
            Self::GraphDamaged { .. } => "graph_damaged",
            Self::VectorLength { .. } => "vector_count",
            Self::VectorNotFinite { .. } => "vector_not_finite",
            Self::QueryDimensions { .. } => "query_dimensions",
            Self::QueryNotFinite => "query_not_finite",
            Self::QueryVectorMissing { .. } => "query_vector_missing",
            Self::LexicalDamaged { .. } => "lexical_damaged",
            Self::LexicalWrite { .. } => "lexical_write",
            Self::UnknownMode { .. } => "unknown_mode",
            Self::UnknownDenseLayout { .. } => "unknown_dense_layout",
            Self::Cancelled => "cancelled",
            Self::Corpus(error) => error.kind(),
        }
    }

    /// What to do about it, where something can be done.
    pub fn hint(&self) -> Option<String> {
        let ingest_again = "the corpus is damaged: ingest the documents into a new corpus";
        match self {
            Self::VectorsMissing { .. }
            | Self::VectorsSize { .. }
            | Self::GraphDamaged { .. }
            | Self::LexicalDamaged { .. } => Some(ingest_again.to_owned()),
            Self::QueryDimensions { .. } => Some(
                "embed the query with the embedder that the corpus was ingested with".to_owned(),
            ),
            Self::QueryVectorMissing { .. } => {
                Some("give the query a vector, or search in the mode lexical".to_owned())
            }
            Self::VectorNotFinite { .. } | Self::QueryNotFinite => {
                Some("the embedder is broken: verify its files".to_owned())
            }
            Self::Io { path, source } => io_hint(source.kind(), path),
            Self::Corpus(error) => error.hint(),
            Self::Cancelled
            | Self::LexicalWrite { .. }
            | Self::VectorLength { .. }
            | Self::UnknownMode { .. }
            | Self::UnknownDenseLayout { .. } => None,
        }
    }
}
