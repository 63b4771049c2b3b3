//! The errors of reading settings and of opening what they name, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::{AnswerError, DatastoreError};
use ken_corpus::CorpusError;
use ken_hub::HubError;
use ken_index::IndexError;
use ken_milvus::MilvusError;
use ken_model::decoder::{DecoderError, ReadAs};
use ken_model::encoder::EncoderError;
use ken_model::remote::RemoteError;
use ken_policy::{GuaranteeFileError, HeadFileError};
use ken_search_service::ServiceError;
use ken_storage::StorageError;

/// A setting cannot be taken, or what it names cannot be opened.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SetupError {
    #[error("cannot read the settings {path}: {source}")]
    #[diagnostic(kind = "config", remedy = "check the path after <config>")]
    SettingsUnreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot write the settings {path}: {source}")]
    #[diagnostic(
        kind = "config",
        remedy = "write the setting into the file, or name another by <config>"
    )]
    SettingsUnwritable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} is not TOML: {reason}, at line {line}")]
    #[diagnostic(
        kind = "config",
        remedy = "write it as KEY = VALUE, with texts in quotes: corpus = \"notes.ken\""
    )]
    NotToml {
        path: PathBuf,
        reason: String,
        line: usize,
    },
    #[error("unknown key `{key}` in {path}")]
    #[diagnostic(kind = "config", remedy = "{remedy}")]
    UnknownKey {
        key: String,
        path: PathBuf,
        remedy: String,
    },
    #[error("there is no setting `{name}`")]
    #[diagnostic(kind = "config", remedy = "{remedy}")]
    UnknownSetting { name: String, remedy: String },
    #[error("`{key}` in {path} is of type {found}; a text or a number is expected")]
    #[diagnostic(kind = "config")]
    WrongType {
        key: String,
        path: PathBuf,
        found: &'static str,
    },
    #[error("{given}: {reason}")]
    #[diagnostic(kind = "config")]
    BadValue { given: String, reason: String },
    #[error("the last shards are to be searched, but not how many is said")]
    #[diagnostic(remedy = "add <scale> N")]
    ScaleNotNamed,
    #[error("no corpus is named")]
    #[diagnostic(
        remedy = "give <corpus> DIR, set KEN_CORPUS, or write corpus = \"DIR\" to ken.toml"
    )]
    CorpusNotNamed,
    #[error(
        "this needs the files of a corpus, and {address} is a collection in Milvus, which holds passages alone"
    )]
    #[diagnostic(
        remedy = "do it with the corpus's folder, and bring the result there by <PushCorpus {address}>"
    )]
    CorpusInMilvus { address: String },
    #[error("this cannot be done with a corpus behind a search service, as {address} is")]
    #[diagnostic(remedy = "do it with a corpus in a folder, made by <Ingest DIR>")]
    CorpusBehindService { address: String },
    #[error(
        "an adapter is merged into the weights of a model on this machine, not of one behind an endpoint"
    )]
    #[diagnostic(remedy = "serve the merged model, which <ExportModel> writes")]
    AdapterOfEndpoint,
    #[error("{url} is a model's server, and this takes a model on this machine")]
    #[diagnostic(remedy = "name a model on this machine by <model> REF")]
    ModelElsewhere { url: String },
    #[error(
        "the form `{form}` of prompts is one of models on this machine; an endpoint is sent what it accepts"
    )]
    #[diagnostic(remedy = "leave <prompt_form> at auto")]
    PromptFormOfEndpoint { form: ReadAs },
    #[error("the embedder of the corpus {corpus} is no longer at {reference}")]
    #[diagnostic(
        kind = "local_missing",
        remedy = "name where it is now by <embedder> REF"
    )]
    EmbedderMissing { corpus: PathBuf, reference: String },
    #[error("{named} is not the embedder of the corpus {corpus}, which was made with {made_with}")]
    #[diagnostic(remedy = "leave <embedder> out, or name where the corpus's own embedder is now")]
    OtherEmbedder {
        corpus: PathBuf,
        named: String,
        made_with: String,
    },
    #[error(
        "the corpus {corpus} names the embedder {reference}, which {what}: nothing was asked of it"
    )]
    // Leaves out the reference, which a stranger wrote: people copy remedies into shells.
    #[diagnostic(
        remedy = "if you trust it, name it yourself by <embedder> REF or as `embedder` in ken.toml, or take whatever corpora name by <trust_corpus_embedder>"
    )]
    EmbedderNotTrusted {
        corpus: PathBuf,
        reference: String,
        what: &'static str,
    },
    #[error("the variable {variable}, which holds the key for {origin}, is not set")]
    #[diagnostic(remedy = "set {variable}, or take {origin} out of [keys] in ken.toml")]
    KeyNotSet { variable: String, origin: String },
    #[error(
        "{variable} is not sent to {origin}, which only ken.toml in the working directory names"
    )]
    #[diagnostic(
        remedy = "if that is right, name the address by a flag or a variable, or the file by <config> or KEN_CONFIG"
    )]
    KeyWithheld { variable: String, origin: String },
    #[error("{folder} was not trained on what a model knows")]
    #[diagnostic(remedy = "<TrainKbm> makes one that was")]
    NotKbm { folder: PathBuf },
    #[error(
        "the adapter {folder} of the policy `kbm` was trained on another model than the one that answers: {reason}"
    )]
    #[diagnostic(remedy = "name the model that it was trained on by <kbm_model>")]
    OtherKbmBase { folder: PathBuf, reason: String },
    #[error("{policy} was tuned with {then}, and here is {now}: its threshold says nothing")]
    #[diagnostic(
        remedy = "answer as it was tuned, tune again by <Tune>, or name another policy by <policy>"
    )]
    TunedOtherwise {
        policy: String,
        then: String,
        now: String,
    },
    #[error("{} does not say what a policy was tuned for: {reason}", path.display())]
    #[diagnostic(remedy = "tune again by <Tune>, or take `tuned` out of ken.toml")]
    NotTuned { path: PathBuf, reason: String },
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Decoder(#[from] DecoderError),
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Milvus(#[from] MilvusError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Head(#[from] HeadFileError),
    #[error(transparent)]
    Guarantee(#[from] GuaranteeFileError),
    #[error(transparent)]
    Datastore(#[from] DatastoreError),
    #[error(transparent)]
    Answer(Box<AnswerError>),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<AnswerError> for SetupError {
    fn from(error: AnswerError) -> Self {
        Self::Answer(Box::new(error))
    }
}

impl SetupError {
    /// Whether an endpoint is absent or not ready, which may pass.
    #[must_use]
    pub fn is_absent_endpoint(&self) -> bool {
        matches!(self, Self::Remote(error) if error.is_absent())
    }
}
