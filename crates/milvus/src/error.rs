//! The errors of corpora in Milvus, with the remedy beside the message.

use ken_corpus::{CorpusError, Part, Setting};
use ken_diagnostic::{Remedy, remedy};
use ken_index::IndexError;

use crate::index_kind::VectorIndex;

/// A corpus could not be pushed to Milvus or searched there.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs)] // the messages say what variants and fields are
pub enum MilvusError {
    /// Refused before connecting: the token would be sent where others can read it.
    #[error("the token is not sent to the Milvus server {server}: the connection is not encrypted")]
    #[diagnostic(
        remedy = "write milvus+https:// for a server that encrypts, or use a tunnel that ends on this machine; where the network is yours, <allow_plaintext_keys> sends it all the same"
    )]
    TokenInPlainText { server: String },
    #[error("{address} cannot be used: this program was built without Milvus")]
    #[diagnostic(
        kind = "built_without_milvus",
        remedy = "build ken with its client: <BuildWithMilvus>"
    )]
    NoClient { address: String },
    #[error("no Milvus server answers at {server}: {reason}")]
    #[diagnostic(
        kind = "milvus_unreachable",
        remedy = "check the host, the port and that the server runs, with milvus+https:// where it encrypts, by a certificate of an authority that this machine, or SSL_CERT_FILE, knows; Milvus listens at 19530 where nothing else is set"
    )]
    Unreachable { server: String, reason: String },
    /// A call failed. `action` is what was tried, as a verb.
    #[error("{}", failure.message(server, action, reason))]
    #[diagnostic(kind = failure.kind(), remedy = failure.remedy())]
    Call {
        failure: Failure,
        server: String,
        action: &'static str,
        reason: String,
    },
    #[error("there is no collection {address}")]
    #[diagnostic(remedy = "bring a corpus there by <PushCorpus {address}>")]
    CollectionMissing { address: String },
    #[error("the collection {collection} was not made to take turns behind {address}")]
    #[diagnostic(
        remedy = "push to another name, or drop that collection if it is not needed; nothing was changed"
    )]
    CollectionInTheWay { address: String, collection: String },
    #[error("the collection {address} was not made by ken")]
    #[diagnostic(
        kind = "collection_not_kens",
        remedy = "choose a collection that does not exist yet"
    )]
    NotOurs { address: String },
    #[error("the collection {address} has format {found}; this version reads {supported}")]
    #[diagnostic(
        kind = "other_collection_format",
        remedy = "use the version of ken that made it, or push into a new collection"
    )]
    OtherFormat {
        address: String,
        found: u64,
        supported: u64,
    },
    /// The collection holds another corpus than the one that is pushed.
    #[error(
        "the collection {address} has the {what} {collection}, the corpus {corpus_dir} has {corpus}"
    )]
    #[diagnostic(
        kind = "collection_of_another_corpus",
        remedy = "push into a new collection"
    )]
    OtherCorpus {
        address: String,
        corpus_dir: String,
        what: Setting,
        collection: String,
        corpus: String,
    },
    #[error("the collection {address} is indexed by {found}, not by {requested}")]
    #[diagnostic(kind = "other_collection_index", remedy = "push into a new collection")]
    OtherIndex {
        address: String,
        found: VectorIndex,
        requested: VectorIndex,
    },
    #[error("the Milvus server {server} cannot index by {index}: {reason}")]
    #[diagnostic(
        kind = "milvus_index_unsupported",
        remedy = "take autoindex, which every server has, with numbers of f32"
    )]
    IndexUnsupported {
        server: String,
        index: VectorIndex,
        reason: String,
    },
    #[error("the collection {address} is not complete: the last push was not finished")]
    #[diagnostic(remedy = "bring it to a corpus's state by <PushCorpus {address}>")]
    PushUnfinished { address: String },
    #[error("{address} was brought to another state while part {part} was pushed")]
    #[diagnostic(
        remedy = "let all jobs push the same generation of the corpus, and start each of them again"
    )]
    PushOvertaken { address: String, part: Part },
    #[error(
        "partition {partition} of {address} holds {found} passages instead of {expected} after the push"
    )]
    #[diagnostic(
        kind = "push_rows_differ",
        remedy = "bring it to a corpus's state by <PushCorpus {address}>"
    )]
    RowsDiffer {
        address: String,
        partition: String,
        expected: u64,
        found: u64,
    },
    #[error("the collection {address} cannot be searched by words: its server had no BM25")]
    #[diagnostic(
        remedy = "search with <mode> dense, or push into a new collection on Milvus 2.5 or later"
    )]
    NoLexicalIndex { address: String },
    #[error("{requested} shards of {address} are requested, which has {shards}")]
    #[diagnostic(remedy = "<scale> takes a number from 1 to {shards}")]
    TooFewShards {
        address: String,
        requested: u32,
        shards: u32,
    },
    #[error("{requested} passages are requested; Milvus returns at most {limit}")]
    #[diagnostic(remedy = "<k> takes at most {limit}")]
    TooManyHits { requested: usize, limit: usize },
    #[error("the {part} of passage {passage_id} takes {received} {unit}; Milvus takes {limit}")]
    #[diagnostic(
        kind = "too_large_for_milvus",
        remedy = "ingest the documents into a new corpus with shorter passages, as by <segment> words:100, or with less metadata"
    )]
    TooLarge {
        passage_id: String,
        part: &'static str,
        received: usize,
        limit: usize,
        unit: &'static str,
    },
    #[error("{wanted} passages are to go, and {scored} of {address} have a score")]
    #[diagnostic(remedy = "take a smaller ratio, or score more passages; nothing was changed")]
    TooFewScores {
        address: String,
        wanted: usize,
        scored: usize,
    },
    /// The value of a filter is longer than the prefix of metadata that is kept for comparisons.
    #[error("the filter {filter} compares with {received} bytes; in Milvus at most {limit} count")]
    #[diagnostic(remedy = "shorten the value")]
    FilterTooLong {
        filter: String,
        received: usize,
        limit: usize,
    },
    #[error(
        "the filter {filter} cannot be asked of Milvus: it compares whole values, not how they begin"
    )]
    #[diagnostic(remedy = "compare whole values, with = or IN")]
    FilterNotPossible { filter: String },
    #[error("the Milvus server {server} gave an answer that ken cannot read: {reason}")]
    #[diagnostic(kind = "milvus_unreadable")]
    Unreadable { server: String, reason: String },
    #[error("cannot start the connection to Milvus: {source}")]
    #[diagnostic(kind = "io")]
    Runtime { source: std::io::Error },
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl MilvusError {
    /// Whether the server refused the call.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Call { failure, .. } if *failure == Failure::Refused)
    }
}

/// How a call can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The connection broke.
    Lost,
    /// The server did not answer in time.
    TimedOut,
    /// The token is missing or wrong.
    Denied,
    /// The server refused the call.
    Refused,
    /// The answer is larger than one message may be.
    AnswerTooLarge,
}

impl Failure {
    fn kind(self) -> &'static str {
        match self {
            Self::Lost => "milvus_lost",
            Self::TimedOut => "milvus_timeout",
            Self::Denied => "milvus_denied",
            Self::Refused => "milvus_refused",
            Self::AnswerTooLarge => "milvus_answer_too_large",
        }
    }

    fn remedy(self) -> Option<Remedy> {
        Some(match self {
            Self::Lost | Self::TimedOut => remedy!(
                "run the same command again when the server is back: a push resumes where it stopped"
            ),
            Self::Denied => remedy!(
                "set <milvus_token>, or the server's own variable in <keys>, to its API key or to USER:PASSWORD"
            ),
            Self::AnswerTooLarge => remedy!("ask for fewer passages, by <k>"),
            Self::Refused => return None,
        })
    }

    fn message(self, server: &str, action: &str, reason: &str) -> String {
        let (before, failed) = match self {
            Self::Lost => ("the", "went away while ken tried to"),
            Self::TimedOut => ("the", "took too long to"),
            Self::Denied => ("the", "does not let ken"),
            Self::Refused => ("the", "refused to"),
            Self::AnswerTooLarge => ("the answer of the", "is too large to"),
        };
        format!("{before} Milvus server {server} {failed} {action}: {reason}")
    }
}
