//! What can go wrong while a question is answered.

use std::path::{Path, PathBuf};

use ken_corpus::CorpusError;
use ken_diagnostic::{Remedy, remedy};
use ken_language::ModelError;
use ken_policy::CannotChoose;

use crate::measure::mismatch::Mismatch;

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what variants and fields are")]
pub enum AnswerError {
    #[error("the question is empty")]
    #[diagnostic(remedy = "write the question in quotes")]
    EmptyQuestion,
    /// The question alone fills the model's context.
    #[error(
        "the question has {received} tokens; at most {limit} fit beside the instructions and the answer"
    )]
    #[diagnostic(remedy = "shorten the question")]
    QuestionTooLong { received: usize, limit: usize },
    #[error("the policy retrieves, but no corpus is open")]
    #[diagnostic(remedy = "name a corpus, or use the policy `never`")]
    NoCorpus,
    #[error("the corpus {path} holds no passages")]
    #[diagnostic(remedy = filled(path))]
    EmptyCorpus { path: PathBuf },
    #[error("the passages of {path} cannot be listed: a search service only searches")]
    #[diagnostic(remedy = "name a corpus in a folder or in Milvus")]
    NotListed { path: PathBuf },
    /// The corpus was embedded by another model than the one that now has that name.
    #[error(
        "the corpus {path} was embedded by {expected}, which has changed since: its fingerprint is now {received}"
    )]
    #[diagnostic(
        remedy = "bring back the model that {expected} was, or ingest the documents into a new corpus"
    )]
    OtherEmbedder {
        path: PathBuf,
        expected: String,
        received: String,
    },
    #[error("the policy `{policy}` measures nothing of a question")]
    #[diagnostic(
        kind = "policy_without_signal",
        remedy = "name one that does, such as certainty or prompt"
    )]
    MeasuresNothing { policy: String },
    #[error("the policy `router` needs a router, and none is named")]
    #[diagnostic(remedy = "name it by <router> FILE; <TrainRouter> makes one")]
    NoRouter,
    #[error("the router needs the entropy of the first token, which this model does not report")]
    #[diagnostic(
        remedy = "use a model on this machine, or a router of embeddings: <TrainEmbeddingRouter>"
    )]
    NoFirstToken,
    /// The router was trained with something else than what answers now.
    #[error("the router was learned with {mismatch}")]
    #[diagnostic(
        remedy = "use what it was learned with, or train it again: <*renewal>, from records of <Probe>"
    )]
    OtherRouter {
        mismatch: Mismatch,
        renewal: ken_diagnostic::Action,
    },
    #[error("the policy `evidence:gate` needs a gate, and none is named")]
    #[diagnostic(remedy = "name it by <gate> FILE; <TrainGate> makes one")]
    NoGate,
    #[error("the gate was trained with {0}")]
    #[diagnostic(
        remedy = "use what it was trained with, or train it again: <TrainGate>, from records of <ProbeWithCorpus>"
    )]
    OtherGate(Mismatch),
    #[error("the gate needs the log probabilities of answers, which this model does not report")]
    #[diagnostic(remedy = "use a model that does, or <policy> evidence:cosine, which needs none")]
    NoEvidenceNumbers,
    #[error(
        "the policy `kbm`, or a router that looks at it, needs a model that was trained on what the language model knows, and none is named"
    )]
    #[diagnostic(remedy = "name it by <kbm> DIR; <TrainKbm> makes one")]
    NoAssessor,
    #[error("the model of the policy `kbm` was trained on {0}")]
    #[diagnostic(
        remedy = "use the model that it was trained on, train it again: <TrainKbm>, from records of <Probe>; or let it decide for another model: <kbm_for_any_model>"
    )]
    OtherAssessor(Mismatch),
    #[error(
        "`{by}` asks the model of the policy `kbm` about evidence, and that was trained on none"
    )]
    #[diagnostic(
        remedy = "train one with evidence: <TrainKbm>, with <corpus>, from records of <ProbeWithCorpus>; or leave the review by `kbm` out"
    )]
    AssessorWithoutEvidence { by: String },
    #[error(transparent)]
    Datastore(#[from] crate::measure::datastore::DatastoreError),
    #[error("stopped before the answer was written")]
    Interrupted,
    /// The language model, the embedder or the cross-encoder failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Search(#[from] ken_index::IndexError),
    #[error(transparent)]
    Milvus(#[from] ken_milvus::MilvusError),
    #[error(transparent)]
    Service(#[from] ken_search_service::ServiceError),
    #[error(transparent)]
    Route(#[from] CannotChoose),
}

impl From<CorpusError> for AnswerError {
    fn from(error: CorpusError) -> Self {
        Self::Search(error.into())
    }
}

impl AnswerError {
    /// Whether another question could still be answered: it is this one that does not fit.
    pub fn concerns_question(&self) -> bool {
        match self {
            Self::EmptyQuestion | Self::QuestionTooLong { .. } => true,
            Self::Model(error) => error.concerns_input(),
            _ => false,
        }
    }
}

fn filled(corpus: &Path) -> Remedy {
    if corpus.starts_with("milvus:") {
        "push a corpus there that holds passages".into()
    } else {
        let corpus = corpus.display();
        remedy!("add documents: <Ingest {corpus}>")
    }
}
