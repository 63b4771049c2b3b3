//! What can go wrong while a question is answered.

use ken_model::embedder::EmbedderError;
use ken_model::encoder::EncoderError;
use ken_model::language::LanguageError;
use ken_route::CannotChoose;

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// Nothing was asked.
    #[error("the question is empty")]
    EmptyQuestion,
    /// The question alone fills the model's context.
    #[error(
        "the question has {received} tokens; at most {limit} fit beside the instructions and the answer"
    )]
    QuestionTooLong {
        /// Tokens of the question.
        received: usize,
        /// Tokens that fit.
        limit: usize,
    },
    /// The policy chose the corpus, and there is none.
    #[error("the policy retrieves, but no corpus is open")]
    NoCorpus,
    /// There is nothing to retrieve from.
    #[error("the corpus {path} holds no passages")]
    EmptyCorpus {
        /// The corpus folder, or its address.
        path: std::path::PathBuf,
    },
    /// The corpus was embedded by another model than the one that now has that name.
    #[error(
        "the corpus {path} was embedded by {expected}, which has changed since: its fingerprint is now {received}"
    )]
    OtherEmbedder {
        /// The corpus folder, or its address.
        path: std::path::PathBuf,
        /// What the corpus names.
        expected: String,
        /// The fingerprint of the embedder given.
        received: String,
    },
    /// The policy decides by a router, and none is named.
    #[error("the policy `router` needs a router, and none is named")]
    NoRouter,
    /// The router looks at the probabilities of the first token, which the model does not tell.
    #[error("the router needs the entropy of the first token, which this model does not tell")]
    NoFirstToken,
    /// The router was learned with something else than what answers now.
    #[error(
        "the router was learned with another {what}: its fingerprint was {expected}, and now is {received}"
    )]
    OtherRouter {
        /// What differs: the model, the embedder or the prompts.
        what: &'static str,
        /// The fingerprint that the router names.
        expected: String,
        /// The fingerprint of what is there.
        received: String,
        /// The command that makes the router anew.
        renewal: &'static str,
    },
    /// The policy decides by a model that was trained on a boundary, and none is named.
    #[error(
        "the policy `kbm`, or a router that looks at it, needs a model that was trained on what the language model knows, and none is named"
    )]
    NoAssessor,
    /// It was trained on what another model knows.
    #[error(
        "the model of the policy `kbm` was trained on another {what}: its fingerprint was {expected}, and now is {received}"
    )]
    OtherAssessor {
        /// What differs: the model or the prompts.
        what: &'static str,
        /// The fingerprint that it was trained on.
        expected: String,
        /// The fingerprint of what is there.
        received: String,
    },
    /// The keys of the datastore were taken with something else than what answers now.
    #[error(
        "the keys of the datastore were taken with another {what}: its fingerprint was {expected}, and now is {received}"
    )]
    OtherDatastore {
        /// What differs: the model or the prompts.
        what: &'static str,
        /// The fingerprint that the datastore names.
        expected: String,
        /// The fingerprint of what is there.
        received: String,
    },
    /// The datastore cannot be used.
    #[error(transparent)]
    Datastore(#[from] crate::datastore::DatastoreError),
    /// The language model was stopped.
    #[error("stopped before the answer was written")]
    Interrupted,
    /// The language model failed.
    #[error(transparent)]
    Model(#[from] LanguageError),
    /// The embedder failed.
    #[error(transparent)]
    Embed(#[from] EmbedderError),
    /// The cross-encoder failed.
    #[error(transparent)]
    CrossEncode(#[from] EncoderError),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] ken_index::IndexError),
    /// The search in Milvus failed.
    #[error(transparent)]
    Milvus(#[from] ken_milvus::MilvusError),
    /// The policy cannot choose.
    #[error(transparent)]
    Route(#[from] CannotChoose),
}

impl AnswerError {
    /// A short name of the error for machines.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::EmptyQuestion => "empty_question",
            Self::QuestionTooLong { .. } => "question_too_long",
            Self::NoCorpus => "no_corpus",
            Self::EmptyCorpus { .. } => "empty_corpus",
            Self::OtherEmbedder { .. } => "other_embedder",
            Self::NoRouter => "no_router",
            Self::NoFirstToken => "no_first_token",
            Self::OtherRouter { .. } => "other_router",
            Self::NoAssessor => "no_assessor",
            Self::OtherAssessor { .. } => "other_assessor",
            Self::OtherDatastore { .. } => "other_datastore",
            Self::Datastore(e) => e.kind(),
            Self::Interrupted => "interrupted",
            Self::Model(e) => e.kind(),
            Self::Embed(e) => e.kind(),
            Self::CrossEncode(e) => e.kind(),
            Self::Search(e) => e.kind(),
            Self::Milvus(e) => e.kind(),
            Self::Route(e) => e.kind(),
        }
    }

    /// Whether another question could still be answered: it is this one that does not fit.
    #[must_use]
    pub fn concerns_question(&self) -> bool {
        match self {
            Self::EmptyQuestion | Self::QuestionTooLong { .. } => true,
            Self::Model(error) => error.concerns_prompt(),
            Self::Embed(error) => error.concerns_text(),
            Self::CrossEncode(error) => error.concerns_text(),
            _ => false,
        }
    }

    /// What the reader can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::EmptyQuestion => Some("write the question in quotes".to_owned()),
            Self::QuestionTooLong { .. } => Some("shorten the question".to_owned()),
            Self::NoCorpus => Some("name a corpus, or use the policy `never`".to_owned()),
            Self::EmptyCorpus { path } if path.starts_with("milvus:") => {
                Some("push a corpus there that holds passages".to_owned())
            }
            Self::EmptyCorpus { path } => Some(format!(
                "add documents: `ken ingest PATH… --corpus {}`",
                path.display()
            )),
            Self::OtherEmbedder { expected, .. } => Some(format!(
                "bring back the model that {expected} was, or ingest the documents into a new corpus"
            )),
            Self::Model(e) => e.hint(),
            Self::Embed(e) => e.hint(),
            Self::CrossEncode(e) => e.hint(),
            Self::Search(e) => e.hint(),
            Self::Milvus(e) => e.hint(),
            Self::Route(e) => Some(e.hint()),
            Self::NoRouter => Some(
                "name it by --router FILE; `ken train router RECORDS --out FILE` makes one"
                    .to_owned(),
            ),
            Self::NoFirstToken => Some(
                "use a model on this machine, or a router of embeddings: `ken train router RECORDS --from embedding --out FILE`"
                    .to_owned(),
            ),
            Self::NoAssessor => Some(
                "name it by --kbm DIR; `ken train kbm RECORDS --out DIR` makes one".to_owned(),
            ),
            Self::OtherAssessor { .. } => Some(
                "use the model that it was trained on, or train it anew: `ken train kbm RECORDS --out DIR`, from records of `ken probe`"
                    .to_owned(),
            ),
            Self::OtherRouter { renewal, .. } => Some(format!(
                "use what it was learned with, or {renewal}, from records of `ken probe`"
            )),
            Self::OtherDatastore { .. } => Some(
                "use the model that they were taken with, or make it anew: `ken datastore make LABELS --out DIR`"
                    .to_owned(),
            ),
            Self::Datastore(e) => e.hint(),
            Self::Interrupted => None,
        }
    }
}
