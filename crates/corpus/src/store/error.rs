//! What can go wrong with a stored corpus, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use ken_diagnostic::{Remedy, remedy};
use ken_storage::{StorageError, io_kind, io_remedy};

use super::shards::Sharding;

/// A corpus could not be opened, read or written.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum CorpusError {
    /// The folder holds no published generation.
    #[error("{path} is not a corpus")]
    #[diagnostic(remedy = "make one with <Ingest {path}>")]
    NotACorpus {
        /// The folder that was to be opened.
        path: PathBuf,
    },
    /// `CURRENT` is gone or out of date, while generations are there that a person may want back.
    #[error("{path} holds {}, but {reason}", described(generations))]
    #[diagnostic(
        remedy = "<RepairCorpus {path}> goes on from the newest generation that is whole; if files are still being copied, wait for the rest. Nothing was changed"
    )]
    CurrentLost {
        /// The corpus folder.
        path: PathBuf,
        /// What is wrong with `CURRENT`.
        reason: String,
        /// The generations whose manifests are there, ascending.
        generations: Vec<u64>,
    },
    /// No generation of the corpus can be read.
    #[error("no generation of the corpus {path} can be read")]
    #[diagnostic(
        kind = "corpus_unrecoverable",
        remedy = "restore it from a copy, or ingest the documents into a new folder; where {path}/segments/*/passages.jsonl is left, it still holds the text, one passage a line"
    )]
    Unrecoverable {
        /// The corpus folder.
        path: PathBuf,
    },
    /// Another process published while this one had the corpus to itself.
    #[error("the corpus {path} is at generation {found}, not at {expected} as its writer left it")]
    #[diagnostic(kind = "corpus_overtaken", remedy = "run the command again")]
    Overtaken {
        /// The corpus folder.
        path: PathBuf,
        /// The generation that this writer published.
        expected: u64,
        /// The generation that is published now; 0 for none.
        found: u64,
    },
    /// The folder that was to become a corpus holds other files.
    #[error("{path} holds other files and is not a corpus")]
    #[diagnostic(remedy = "choose a new or an empty folder")]
    FolderInUse {
        /// The folder that was to become a corpus.
        path: PathBuf,
    },
    /// Another writer has the corpus open.
    #[error("another process is writing to the corpus {path}")]
    #[diagnostic(
        kind = "corpus_locked",
        remedy = "wait until it is done; searching is possible meanwhile"
    )]
    Locked {
        /// The corpus folder.
        path: PathBuf,
    },
    /// Another version of ken wrote this corpus.
    #[error("{path} has corpus format {found}; this version reads {supported}")]
    #[diagnostic(
        kind = "other_corpus_format",
        remedy = "use the version of ken that wrote it, or ingest the documents again into a new corpus"
    )]
    OtherFormat {
        /// The manifest.
        path: PathBuf,
        /// The format that the manifest names.
        found: u32,
        /// The format that this version reads.
        supported: u32,
    },
    /// A file of the corpus does not hold what it should.
    #[error("{path} is damaged: {reason}")]
    #[diagnostic(kind = "corpus_damaged", remedy = drop_and_ingest())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that the generation names is gone.
    #[error("{path} is missing from the corpus")]
    #[diagnostic(kind = "corpus_file_missing", remedy = drop_and_ingest())]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// The corpus was embedded by another model.
    #[error(
        "the corpus {path} was embedded by {corpus_embedder} ({corpus_dimensions} dimensions), not by {given_embedder} ({given_dimensions} dimensions)"
    )]
    #[diagnostic(remedy = "use the embedder {corpus_embedder}, or ingest into a new corpus")]
    OtherEmbedder {
        /// The corpus folder.
        path: PathBuf,
        /// The reference of the corpus's embedder.
        corpus_embedder: String,
        /// The length of the corpus's vectors.
        corpus_dimensions: usize,
        /// The reference of the given embedder.
        given_embedder: String,
        /// The length of the given embedder's vectors.
        given_dimensions: usize,
    },
    /// The corpus was cut into other passages.
    #[error("the corpus {path} was cut by {corpus_segmentation}, not by {given_segmentation}")]
    #[diagnostic(
        remedy = "use the segmentation {corpus_segmentation}, or ingest into a new corpus"
    )]
    OtherSegmentation {
        /// The corpus folder.
        path: PathBuf,
        /// How the corpus was cut.
        corpus_segmentation: String,
        /// How the new documents are cut.
        given_segmentation: String,
    },
    /// The corpus was split in another way.
    #[error(
        "the corpus {path} has {} shards (seed {}), not {} (seed {})",
        corpus.count, corpus.seed, given.count, given.seed
    )]
    #[diagnostic(remedy = as_sharded(*corpus))]
    OtherSharding {
        /// The corpus folder.
        path: PathBuf,
        /// How the corpus was split.
        corpus: Sharding,
        /// How the new documents are to be split.
        given: Sharding,
    },
    /// The vectors of the corpus are stored or searched in another way.
    #[error("the dense search of the corpus {path} is {corpus_dense}, not {given_dense}")]
    #[diagnostic(remedy = "use <dense> {corpus_dense}, or ingest into a new corpus")]
    OtherDense {
        /// The corpus folder.
        path: PathBuf,
        /// How the corpus stores and searches vectors.
        corpus_dense: String,
        /// How it is to.
        given_dense: String,
    },
    /// More shards are asked for than there are, or none.
    #[error("{asked} shards of {path} are asked for, which has {shards}")]
    #[diagnostic(remedy = "<scale> takes a number from 1 to {shards}")]
    TooFewShards {
        /// The corpus folder.
        path: PathBuf,
        /// How many are asked for.
        asked: u32,
        /// How many there are.
        shards: u32,
    },
    /// Two corpora that are to be joined hold the same shard.
    #[error("{path} holds shard {shard}, which is there already")]
    #[diagnostic(
        remedy = "make each part by <IngestShard> with an I of its own; nothing was changed"
    )]
    ShardTwice {
        /// The second of them.
        path: PathBuf,
        /// The shard, counted from 0.
        shard: u32,
    },
    /// There is no such shard.
    #[error("there is no shard {shard} of {shards}")]
    #[diagnostic(remedy = Remedy::from(format!("shards are counted from 0 to {}", shards.saturating_sub(1))))]
    UnknownShard {
        /// What was asked for, counted from 0.
        shard: u32,
        /// How many there are.
        shards: u32,
    },
    /// A document that is to be changed is not in the corpus.
    #[error("the corpus holds no document {id:?}")]
    #[diagnostic(remedy = "<ExportCorpus> lists what it holds; nothing was changed")]
    UnknownDocument {
        /// The document id.
        id: String,
    },
    /// A passage that is to be changed is not in the corpus.
    #[error("the corpus holds no passage {id:?}")]
    #[diagnostic(remedy = "a passage id is DOCUMENT#N, as <Search> shows it; nothing was changed")]
    UnknownPassage {
        /// The passage id.
        id: String,
    },
    /// A generation is not kept.
    #[error("the corpus {path} keeps no generation {number}")]
    #[diagnostic(remedy = Remedy::from(format!("it keeps {}", numbers(kept))))]
    UnknownGeneration {
        /// The corpus folder.
        path: PathBuf,
        /// What was asked for.
        number: u64,
        /// What there is.
        kept: Vec<u64>,
    },
    /// One stage was given two documents of one id.
    #[error("the document id {id:?} was added twice")]
    #[diagnostic(remedy = "give each document an id of its own")]
    DuplicateDocument {
        /// The document id.
        id: String,
    },
    /// A segment or corpus outgrew its counters.
    #[error("the segment {path} is full: it holds at most {limit} documents and passages")]
    #[diagnostic(remedy = "publish more often")]
    SegmentFull {
        /// The staged segment.
        path: PathBuf,
        /// The most documents, and passages, of a segment.
        limit: u32,
    },
    /// The system refused to read or write.
    #[error(transparent)]
    #[diagnostic(kind = io_kind(_0.source.kind()), remedy = io_remedy(_0.source.kind(), &_0.path))]
    Io(StorageError),
}

impl CorpusError {
    /// Wraps a system error with what was tried on which path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let error = StorageError::new(action, path);
        move |source| Self::Io(error(source))
    }

    /// What opening a file for which a size is recorded says of it.
    pub(super) fn opening(error: StorageError) -> Self {
        match error.source.kind() {
            io::ErrorKind::NotFound => Self::MissingFile { path: error.path },
            _ => error.into(),
        }
    }

    pub(super) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Another size than the recorded one, or an end that comes too early, is damage; what else the
/// system refuses may work again.
impl From<StorageError> for CorpusError {
    fn from(error: StorageError) -> Self {
        match error.source.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                Self::damaged(&error.path, error.source.to_string())
            }
            _ => Self::Io(error),
        }
    }
}

fn described(generations: &[u64]) -> String {
    match generations {
        [] => "segments of a corpus".to_owned(),
        [one] => format!("generation {one}"),
        _ => format!("the generations {}", numbers(generations)),
    }
}

fn numbers(generations: &[u64]) -> String {
    let numbers: Vec<String> = generations.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

fn drop_and_ingest() -> Remedy {
    remedy!(
        "<VerifyCorpus> names all that is damaged, and with <repair> drops it; ingesting the documents again then brings them back"
    )
}

fn as_sharded(Sharding { count, seed }: Sharding) -> Remedy {
    remedy!("use <shards> {count} <shard_seed> {seed}, or ingest into a new corpus")
}
