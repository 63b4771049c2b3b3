//! Why a head cannot be learned, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::AnswerError;
use ken_diagnostic::{Remedy, remedy};
use ken_model::decoder::DecoderError;
use ken_policy::Purpose;
use ken_train::heads::HeadError;

use crate::pruning::PruningError;

/// Why a head cannot be learned.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum LearnError {
    #[error("none of the {records} records has a label")]
    #[diagnostic(remedy = more_records(*purpose))]
    NoLabels { purpose: Purpose, records: usize },
    #[error("none of the {records} records holds two samples from memory or more")]
    #[diagnostic(
        kind = "no_labels",
        remedy = "probe with <samples> 10, without golden answers if there are none: <Probe>"
    )]
    NoSamples { records: usize },
    #[error("the records are of several models: {id:?} is of another than those before it")]
    #[diagnostic(remedy = "learn from the records of one model at a time")]
    SeveralModels { id: String },
    #[error(
        "the records are of another model: its fingerprint was {expected}, and now is {received}"
    )]
    #[diagnostic(remedy = "name the model that was probed by <model>, or probe this one: <Probe>")]
    OtherModel { expected: String, received: String },
    #[error("the records were made with other prompts")]
    #[diagnostic(remedy = "probe again: <Probe>")]
    OtherPrompts,
    #[error("the labels are of another corpus: {id:?} does not stand in this one")]
    #[diagnostic(remedy = "name the corpus that was labeled, or label this one: <LabelMastery>")]
    OtherCorpus { id: String },
    #[error("the kbm model was taught all {questions} questions")]
    #[diagnostic(
        kind = "no_labels",
        remedy = "hold some out with <held_out> 0.5: <TrainKbm>"
    )]
    AllTaught { questions: usize },
    #[error("{folder} does not say which questions it was taught")]
    #[diagnostic(remedy = "name a model that <TrainSelfRoute> or <TrainKbm> trained")]
    UnknownSplit { folder: PathBuf },
    #[error("stopped before the last question; nothing was written")]
    #[diagnostic(kind = "interrupted", remedy = "run the same command again")]
    Stopped,
    #[error("no {} can be learned: {source}", purpose.name())]
    #[diagnostic(kind = head_code(source), remedy = more_labels(*purpose, source))]
    Head { purpose: Purpose, source: HeadError },
    #[error(transparent)]
    Vectors(#[from] PruningError),
    #[error(transparent)]
    Model(Box<AnswerError>),
    #[error(transparent)]
    Origin(#[from] DecoderError),
}

impl LearnError {
    pub(super) fn of_head(purpose: Purpose, source: HeadError) -> Self {
        Self::Head { purpose, source }
    }
}

impl From<AnswerError> for LearnError {
    fn from(error: AnswerError) -> Self {
        Self::Model(Box::new(error))
    }
}

fn head_code(source: &HeadError) -> &'static str {
    match source {
        HeadError::TooFew { .. } => "too_few_labels",
        HeadError::OneClass { .. } => "one_class",
        HeadError::OneValue { .. } => "one_value",
        HeadError::NotClasses => "not_classes",
        HeadError::Interrupted => "interrupted",
        HeadError::Shapes | HeadError::Number { .. } | HeadError::Network(_) => "bad_vectors",
    }
}

fn more_records(purpose: Purpose) -> Remedy {
    match purpose {
        Purpose::Router => remedy!("probe questions with golden_answers: <Probe>"),
        Purpose::Gate => remedy!(
            "probe questions with golden_answers, with a corpus and a model that reports log probabilities: <ProbeWithCorpus>"
        ),
        Purpose::Pruner => {
            remedy!("label more passages, or with a stronger <writer>: <LabelMastery>")
        }
    }
}

fn more_labels(purpose: Purpose, source: &HeadError) -> Remedy {
    match (source, purpose) {
        (HeadError::OneValue { .. }, Purpose::Router) => remedy!(
            "the model is equally sure of all these questions: probe others, or with more <samples>: <Probe>"
        ),
        (HeadError::OneClass { .. }, Purpose::Router) => remedy!(
            "label more by <Probe> with more questions, some that the model knows and some that it does not; <correct> contains counts more answers as right"
        ),
        (HeadError::NotClasses, _) => remedy!("use <head> logistic"),
        (HeadError::Interrupted, _) => "run the same command again; nothing was written".into(),
        (HeadError::Shapes | HeadError::Number { .. } | HeadError::Network(_), _) => {
            "check the embedder or model that the vectors come from".into()
        }
        (_, Purpose::Router) => {
            remedy!("label more by <Probe> with more questions; nothing was written")
        }
        (HeadError::OneValue { .. }, Purpose::Gate) => remedy!(
            "probe questions of which evidence helps some and harms others: <ProbeWithCorpus>"
        ),
        (_, Purpose::Gate) => {
            remedy!("probe more questions: <ProbeWithCorpus>; nothing was written")
        }
        (_, Purpose::Pruner) => {
            remedy!("label more by <LabelMastery> with a larger <limit>; nothing was written")
        }
    }
}
