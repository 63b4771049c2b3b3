//! What can go wrong with a corpus in Milvus, with the remedy beside the message.

use ken_corpus::CorpusError;
use ken_index::IndexError;

use crate::index_kind::IndexKind;

/// A corpus could not be brought to Milvus, or not be searched there.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum MilvusError {
    /// The token would be sent where others can read it.
    #[error("the token is not sent to the Milvus server {server}: the connection is not encrypted")]
    #[diagnostic(
        remedy = "write milvus+https:// for a server that encrypts, or use a tunnel that ends on this machine; where the network is yours, <allow_plaintext_keys> sends it all the same"
    )]
    TokenInPlainText {
        /// The server, `HOST:PORT`.
        server: String,
    },
    /// This build has no client.
    #[error("{address} cannot be used: this program was built without Milvus")]
    #[diagnostic(
        kind = "built_without_milvus",
        remedy = "build it with its feature `milvus`, which is on by default"
    )]
    NoClient {
        /// The address.
        address: String,
    },
    /// Nothing answers at the address.
    #[error("no Milvus server answers at {server}: {reason}")]
    #[diagnostic(
        kind = "milvus_unreachable",
        remedy = "check the host, the port and that the server runs, with milvus+https:// where it encrypts, by a certificate of an authority that this machine, or SSL_CERT_FILE, knows; Milvus listens at 19530 where nothing else is set"
    )]
    Unreachable {
        /// The server, `HOST:PORT`.
        server: String,
        /// What was seen instead.
        reason: String,
    },
    /// The server went away while something was done.
    #[error("the Milvus server {server} went away while ken tried to {action}: {reason}")]
    #[diagnostic(
        kind = "milvus_lost",
        remedy = "run the same command again when the server is back: a push goes on from where it was"
    )]
    Lost {
        /// The server.
        server: String,
        /// What was tried, as a verb.
        action: &'static str,
        /// What was seen.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("the Milvus server {server} took too long to {action}: {reason}")]
    #[diagnostic(
        kind = "milvus_timeout",
        remedy = "run the same command again when the server is back: a push goes on from where it was"
    )]
    TimedOut {
        /// The server.
        server: String,
        /// What was tried, as a verb.
        action: &'static str,
        /// How long was waited.
        reason: String,
    },
    /// The server wants to know who asks.
    #[error("the Milvus server {server} does not let ken {action}: {reason}")]
    #[diagnostic(
        kind = "milvus_denied",
        remedy = "set <milvus_token>, or the server's own variable in <keys>, to its API key or to USER:PASSWORD"
    )]
    Denied {
        /// The server.
        server: String,
        /// What was tried, as a verb.
        action: &'static str,
        /// What the server says.
        reason: String,
    },
    /// The server answered that it will not.
    #[error("the Milvus server {server} refused to {action}: {reason}")]
    #[diagnostic(kind = "milvus_refused")]
    Refused {
        /// The server.
        server: String,
        /// What was tried, as a verb.
        action: &'static str,
        /// What the server says.
        reason: String,
    },
    /// There is no such collection.
    #[error("there is no collection {address}")]
    #[diagnostic(remedy = "bring a corpus there by <PushCorpus {address}>")]
    CollectionMissing {
        /// The address.
        address: String,
    },
    /// The collection was made by something else.
    #[error("the collection {address} was not made by ken")]
    #[diagnostic(
        kind = "collection_not_kens",
        remedy = "choose a collection that does not exist yet"
    )]
    NotOurs {
        /// The address.
        address: String,
    },
    /// Another version of ken made the collection.
    #[error("the collection {address} has format {found}; this version reads {supported}")]
    #[diagnostic(
        kind = "other_collection_format",
        remedy = "use the version of ken that made it, or push into a new collection"
    )]
    OtherFormat {
        /// The address.
        address: String,
        /// The format that it names.
        found: u64,
        /// The format that this version reads.
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
        /// The address.
        address: String,
        /// The folder of the corpus.
        corpus_dir: String,
        /// What differs.
        what: &'static str,
        /// What the collection has.
        collection: String,
        /// What the corpus has.
        corpus: String,
    },
    /// The collection has another index than is asked for.
    #[error("the collection {address} is indexed by {found}, not by {asked}")]
    #[diagnostic(kind = "other_collection_index", remedy = "push into a new collection")]
    OtherIndex {
        /// The address.
        address: String,
        /// The index that it has.
        found: IndexKind,
        /// The index that is asked for.
        asked: IndexKind,
    },
    /// The server has no such index.
    #[error("the Milvus server {server} cannot index by {index}: {reason}")]
    #[diagnostic(
        kind = "milvus_index_unsupported",
        remedy = "the indexes are diskann, hnsw and autoindex; the last is known by every server"
    )]
    IndexUnsupported {
        /// The server.
        server: String,
        /// The index that was asked for.
        index: IndexKind,
        /// What the server says.
        reason: String,
    },
    /// A push into the collection was not finished.
    #[error("the collection {address} is not complete: the last push was not finished")]
    #[diagnostic(remedy = "bring it to a corpus's state by <PushCorpus {address}>")]
    PushUnfinished {
        /// The address.
        address: String,
    },
    /// The server does not hold what it was given.
    #[error(
        "partition {partition} of {address} holds {found} passages instead of {expected} after the push"
    )]
    #[diagnostic(
        kind = "push_rows_differ",
        remedy = "bring it to a corpus's state by <PushCorpus {address}>"
    )]
    RowsDiffer {
        /// The address.
        address: String,
        /// The partition.
        partition: String,
        /// How many passages were sent or stood there.
        expected: u64,
        /// How many the server counts.
        found: u64,
    },
    /// The collection has no lexical index.
    #[error("the collection {address} cannot be searched by words: its server had no BM25")]
    #[diagnostic(
        remedy = "search with <mode> dense, or push into a new collection on Milvus 2.5 or later"
    )]
    NoLexicalIndex {
        /// The address.
        address: String,
    },
    /// More shards are asked for than there are, or none.
    #[error("{asked} shards of {address} are asked for, which has {shards}")]
    #[diagnostic(remedy = "<scale> takes a number from 1 to {shards}")]
    TooFewShards {
        /// The address.
        address: String,
        /// How many are asked for.
        asked: u32,
        /// How many there are.
        shards: u32,
    },
    /// More passages are asked for than Milvus gives.
    #[error("{asked} passages are asked for; Milvus gives at most {limit}")]
    #[diagnostic(remedy = "<k> takes at most {limit}")]
    TooManyHits {
        /// How many are asked for.
        asked: usize,
        /// The most that there are.
        limit: usize,
    },
    /// A part of a passage is larger than Milvus takes.
    #[error("the {part} of passage {passage_id} takes {received} {unit}; Milvus takes {limit}")]
    #[diagnostic(
        kind = "too_large_for_milvus",
        remedy = "ingest the documents into a new corpus with shorter passages, as by <segment> words:100, or with less metadata"
    )]
    TooLarge {
        /// The passage.
        passage_id: String,
        /// What of it.
        part: &'static str,
        /// Its size.
        received: usize,
        /// The largest size.
        limit: usize,
        /// What is counted.
        unit: &'static str,
    },
    /// The value of a filter is longer than what is kept of the metadata for comparisons.
    #[error("the filter {filter} compares with {received} bytes; in Milvus at most {limit} count")]
    #[diagnostic(remedy = "shorten the value")]
    FilterTooLong {
        /// The filter.
        filter: String,
        /// The length of its value.
        received: usize,
        /// The longest.
        limit: usize,
    },
    /// An answer is larger than one message may be.
    #[error("the answer of the Milvus server {server} is too large to {action}: {reason}")]
    #[diagnostic(
        kind = "milvus_answer_too_large",
        remedy = "ask for fewer passages, by <k>"
    )]
    AnswerTooLarge {
        /// The server.
        server: String,
        /// What was tried, as a verb.
        action: &'static str,
        /// What was seen.
        reason: String,
    },
    /// The server's answer makes no sense.
    #[error("the Milvus server {server} gave an answer that ken cannot read: {reason}")]
    #[diagnostic(kind = "milvus_unreadable")]
    Unreadable {
        /// The server.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The threads that wait for the server could not be started.
    #[error("cannot start the connection to Milvus: {source}")]
    #[diagnostic(kind = "io")]
    Runtime {
        /// The system's answer.
        source: std::io::Error,
    },
    /// The corpus could not be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The vectors could not be read, or the query does not fit.
    #[error(transparent)]
    Index(#[from] IndexError),
}
