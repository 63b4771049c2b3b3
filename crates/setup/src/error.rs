//! Why settings cannot be taken, or what they name cannot be opened, with the remedy beside the
//! message.

use std::path::PathBuf;

use ken_answer::{AnswerError, DatastoreError};
use ken_corpus::CorpusError;
use ken_hub::HubError;
use ken_index::IndexError;
use ken_milvus::MilvusError;
use ken_model::decoder::DecoderError;
use ken_model::encoder::EncoderError;
use ken_model::remote::RemoteError;
use ken_route::HeadFileError;

/// Why settings cannot be taken, or what they name cannot be opened.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum SetupError {
    /// The settings file cannot be read.
    #[error("cannot read the settings {path}: {source}")]
    #[diagnostic(kind = "config", remedy = "check the path after <config>")]
    SettingsUnreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The settings file is no TOML.
    #[error("{path} is not TOML: {reason}, at line {line}")]
    #[diagnostic(kind = "config")]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
        /// Counted from 1.
        line: usize,
    },
    /// The settings file has a key that is no setting.
    #[error("unknown key `{key}` in {path}")]
    #[diagnostic(kind = "config", remedy = "{remedy}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The file.
        path: PathBuf,
        /// The keys that may be meant.
        remedy: String,
    },
    /// The settings file gives a setting a table or a list.
    #[error("`{key}` in {path} is of type {found}; a text or a number is expected")]
    #[diagnostic(kind = "config")]
    WrongType {
        /// The setting.
        key: String,
        /// The file.
        path: PathBuf,
        /// The type that it has.
        found: &'static str,
    },
    /// A setting cannot have this value.
    #[error("{given}: {reason}")]
    #[diagnostic(kind = "config")]
    BadValue {
        /// The setting, with its value and where that was given.
        given: String,
        /// Why not.
        reason: String,
    },
    /// The last shards are to be searched, but not how many.
    #[error("the last shards are to be searched, but not how many is said")]
    #[diagnostic(remedy = "add <scale> N")]
    ScaleNotNamed,
    /// No corpus is named.
    #[error("no corpus is named")]
    #[diagnostic(
        remedy = "give <corpus> DIR, set KEN_CORPUS, or write corpus = \"DIR\" to ken.toml"
    )]
    CorpusNotNamed,
    /// A folder is needed, and the corpus is in Milvus.
    #[error("this cannot be done with a corpus in Milvus, as {address} is")]
    #[diagnostic(
        remedy = "do it with the corpus's folder, and bring the result there by <PushCorpus {address}>"
    )]
    CorpusInMilvus {
        /// Its address.
        address: String,
    },
    /// An adapter for a model whose weights are not here.
    #[error(
        "an adapter is merged into the weights of a model on this machine, not of one behind an endpoint"
    )]
    #[diagnostic(remedy = "serve the merged model, which <ExportModel> writes")]
    AdapterOfEndpoint,
    /// The embedder of a corpus is gone.
    #[error("the embedder of the corpus {corpus} is no longer at {reference}")]
    #[diagnostic(
        kind = "local_missing",
        remedy = "name where it is now by <embedder> REF"
    )]
    EmbedderMissing {
        /// The corpus.
        corpus: PathBuf,
        /// Where its embedder was.
        reference: String,
    },
    /// The embedder that was named is not the one that the corpus was made with.
    #[error("{named} is not the embedder of the corpus {corpus}, which was made with {made_with}")]
    #[diagnostic(remedy = "leave <embedder> out, or name where the corpus's own embedder is now")]
    OtherEmbedder {
        /// The corpus.
        corpus: PathBuf,
        /// The embedder that was named.
        named: String,
        /// The one that it was made with.
        made_with: String,
    },
    /// A corpus names an embedder that nobody agreed to.
    #[error(
        "the corpus {corpus} names the embedder {reference}, which {what}: nothing was asked of it"
    )]
    // Without the reference, which is a stranger's text: remedies are copied into shells.
    #[diagnostic(
        remedy = "if you trust it, name it yourself by <embedder> REF or as `embedder` in ken.toml, or take whatever corpora name by <trust_corpus_embedder>"
    )]
    EmbedderNotTrusted {
        /// The corpus.
        corpus: PathBuf,
        /// The embedder.
        reference: String,
        /// What would happen.
        what: &'static str,
    },
    /// The variable that holds a server's key is empty.
    #[error("the variable {variable}, which holds the key for {origin}, is not set")]
    #[diagnostic(remedy = "set {variable}, or take {origin} out of [keys] in ken.toml")]
    KeyNotSet {
        /// The variable.
        variable: String,
        /// The server.
        origin: String,
    },
    /// A model that says nothing of what another one knows.
    #[error("{folder} was not trained on what a model knows")]
    #[diagnostic(remedy = "<TrainKbm> makes one that was")]
    NotKbm {
        /// Its folder.
        folder: PathBuf,
    },
    /// Model files cannot be had.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// A decoder cannot be opened.
    #[error(transparent)]
    Decoder(#[from] DecoderError),
    /// An encoder cannot be opened.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// An endpoint cannot be used.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A corpus cannot be opened.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The search files of a corpus cannot be opened.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A collection in Milvus cannot be opened.
    #[error(transparent)]
    Milvus(#[from] MilvusError),
    /// A router cannot be read.
    #[error(transparent)]
    Head(#[from] HeadFileError),
    /// A policy datastore cannot be opened.
    #[error(transparent)]
    Datastore(#[from] DatastoreError),
    /// What was opened does not go together.
    #[error(transparent)]
    Answer(Box<AnswerError>),
    /// A path cannot be made absolute.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<AnswerError> for SetupError {
    fn from(error: AnswerError) -> Self {
        Self::Answer(Box::new(error))
    }
}
