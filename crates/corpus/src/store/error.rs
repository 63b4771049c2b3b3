//! What can go wrong with a stored corpus, with the remedy beside the message.

use std::io;
use std::path::{Path, PathBuf};

use ken_diagnostic::{Remedy, remedy};
use ken_storage::{StorageError, io_kind, io_remedy};

use super::settings::Setting;

/// Most numbers that a message lists.
const LISTED: usize = 20;

/// A corpus could not be opened, read or written.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs)] // the messages say what variants and fields are
pub enum CorpusError {
    /// The folder holds no published generation.
    #[error("{path} is not a corpus")]
    #[diagnostic(remedy = make_one(path, *holds_files))]
    NotACorpus {
        path: PathBuf,
        /// Whether it is a folder of other files: perhaps those to ingest.
        holds_files: bool,
    },
    /// `CURRENT` is gone or out of date, but there are generations that a person may want back.
    #[error("{path} holds {}, but {reason}", described(generations))]
    #[diagnostic(
        remedy = "<RepairCorpus {path}> resumes from the newest generation that is whole; if files are still being copied, wait for the rest. Nothing was changed"
    )]
    CurrentLost {
        path: PathBuf,
        reason: String,
        /// Those whose manifests exist, ascending.
        generations: Vec<u64>,
    },
    #[error("no generation of the corpus {path} can be read")]
    #[diagnostic(
        kind = "corpus_unrecoverable",
        remedy = "restore it from a copy, or ingest the documents into a new folder; where {path}/segments/*/passages.jsonl is left, it still holds the text, one passage a line"
    )]
    Unrecoverable { path: PathBuf },
    /// Another process published despite the lock; `found` is 0 for none.
    #[error("the corpus {path} is at generation {found}, not at {expected} as its writer left it")]
    #[diagnostic(kind = "corpus_overtaken", remedy = "run the command again")]
    Overtaken {
        path: PathBuf,
        expected: u64,
        found: u64,
    },
    #[error("{path} cannot hold a backup of {corpus}: {reason}")]
    #[diagnostic(
        remedy = "choose a new or an empty folder beside the corpus, or the folder of its last backup; nothing was changed"
    )]
    BackupRefused {
        path: PathBuf,
        corpus: PathBuf,
        reason: String,
    },
    #[error("{path} holds other files and is not a corpus")]
    #[diagnostic(remedy = "choose a new or an empty folder")]
    FolderInUse { path: PathBuf },
    #[error("another process is writing to the corpus {path}")]
    #[diagnostic(
        kind = "corpus_locked",
        remedy = "wait until it is done; searching is possible meanwhile"
    )]
    Locked { path: PathBuf },
    #[error("{path} has corpus format {found}; this version reads {supported}")]
    #[diagnostic(
        kind = "other_corpus_format",
        remedy = "use the version of ken that wrote it, or ingest the documents again into a new corpus"
    )]
    OtherFormat {
        path: PathBuf,
        found: u32,
        supported: u32,
    },
    #[error("{path} is damaged: {reason}")]
    #[diagnostic(kind = "corpus_damaged", remedy = drop_and_ingest())]
    Damaged { path: PathBuf, reason: String },
    #[error("{path} is missing from the corpus")]
    #[diagnostic(kind = "corpus_file_missing", remedy = drop_and_ingest())]
    MissingFile { path: PathBuf },
    /// The given settings are not those of the corpus.
    #[error("the {setting} of the corpus {path} is {own}, not {given}")]
    #[diagnostic(kind = setting.kind(), remedy = remedy.clone())]
    OtherSettings {
        path: PathBuf,
        setting: Setting,
        own: String,
        given: String,
        remedy: Remedy,
    },
    #[error("{requested} shards of {path} are requested, which has {shards}")]
    #[diagnostic(remedy = "<scale> takes a number from 1 to {shards}")]
    TooFewShards {
        path: PathBuf,
        requested: u32,
        shards: u32,
    },
    /// Two corpora to be joined hold the same shard.
    #[error("{path} holds shard {shard}, which is there already")]
    #[diagnostic(
        remedy = "make each part by <IngestShard> with an I of its own; nothing was changed"
    )]
    ShardTwice { path: PathBuf, shard: u32 },
    /// Corpora to be joined into a whole one leave shards out.
    #[error(
        "{number} of {count} shards missing: no part holds {}",
        numbers(shards)
    )]
    #[diagnostic(
        remedy = "name the parts of all shards, each made by <IngestShard>, or join these already by <partial>; nothing was changed"
    )]
    ShardsMissing {
        number: usize,
        count: u32,
        /// Those that no part holds, a few of which may have no documents.
        shards: Vec<u32>,
    },
    #[error("there is no shard {shard} of {shards}")]
    #[diagnostic(remedy = Remedy::from(format!("shards are counted from 0 to {}", shards.saturating_sub(1))))]
    UnknownShard { shard: u32, shards: u32 },
    #[error("the corpus holds no document {id:?}")]
    #[diagnostic(remedy = "<ListDocuments> lists what it holds; nothing was changed")]
    UnknownDocument { id: String },
    #[error("the corpus holds no passage {id:?}")]
    #[diagnostic(remedy = "a passage id is DOCUMENT#N, as <Search> shows it; nothing was changed")]
    UnknownPassage { id: String },
    #[error("{name:?} cannot name a score")]
    #[diagnostic(
        remedy = "a name has up to 64 small letters, digits and underscores, as mastery; nothing was changed"
    )]
    BadScoreName { name: String },
    #[error("no passage is pruned for the reason {reason:?}")]
    #[diagnostic(remedy = "nothing was changed")]
    NothingPruned { reason: String },
    #[error("the corpus {path} keeps no generation {number}")]
    #[diagnostic(remedy = Remedy::from(format!("it keeps {}", numbers(kept))))]
    UnknownGeneration {
        path: PathBuf,
        number: u64,
        kept: Vec<u64>,
    },
    #[error("the document id {id:?} was added twice")]
    #[diagnostic(remedy = "give each document an id of its own")]
    DuplicateDocument { id: String },
    #[error("the segment {path} is full: it holds at most {limit} documents and passages")]
    #[diagnostic(remedy = "publish more often")]
    SegmentFull { path: PathBuf, limit: u32 },
    #[error(transparent)]
    #[diagnostic(kind = io_kind(&_0.source), remedy = io_remedy(&_0.source, &_0.path))]
    Io(StorageError),
}

impl CorpusError {
    /// Wraps a system error with the failed action and its path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let error = StorageError::new(action, path);
        move |source| Self::Io(error(source))
    }

    /// The error for a file of a generation that cannot be opened or read.
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

/// A size other than the recorded one, or an early end, is damage; other errors of the system may
/// be temporary.
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

/// The first numbers, and how many more there are.
fn numbers(all: &[impl ToString]) -> String {
    let first: Vec<String> = all.iter().take(LISTED).map(ToString::to_string).collect();
    match all.len().saturating_sub(LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// How to make a corpus of this name, or one of the files in the folder of this name.
fn make_one(path: &Path, holds_files: bool) -> Remedy {
    let name = path.components().as_path().display();
    match holds_files {
        true => {
            remedy!("to search the files in it, make a corpus of them with <Ingest {name}.ken>")
        }
        false => remedy!("make one with <Ingest {name}>"),
    }
}

fn drop_and_ingest() -> Remedy {
    remedy!(
        "<VerifyCorpus> names all that is damaged, and with <repair> drops it; ingesting the documents again then brings them back"
    )
}
