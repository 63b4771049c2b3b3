//! Why no head can be learned, with the remedy beside the message.

use ken_corpus::CorpusError;
use ken_route::Purpose;
use ken_train::heads::HeadError;

use crate::pruning::PruningError;

/// Why no head can be learned.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The records hold no label.
    #[error("none of the {records} records has a label")]
    NoLabels {
        /// What the labels are for.
        purpose: Purpose,
        /// Records in the file.
        records: usize,
    },
    /// Records of two models.
    #[error("the records are of several models: {id:?} is of another than those before it")]
    SeveralModels {
        /// The first record of another model.
        id: String,
    },
    /// The records are of another model than the one at hand.
    #[error(
        "the records are of another model: its fingerprint was {expected}, and now is {received}"
    )]
    OtherModel {
        /// The fingerprint in the records.
        expected: String,
        /// The fingerprint of the model at hand.
        received: String,
    },
    /// The records were made with other words around the questions.
    #[error("the records were made by another version of ken, with other prompts")]
    OtherPrompts,
    /// A sentence of the records does not stand in the corpus.
    #[error("the labels are of another corpus: {id:?} does not stand in this one")]
    OtherCorpus {
        /// The sentence.
        id: String,
    },
    /// The labels do not let a head be learned.
    #[error("no {} can be learned: {source}", purpose.name())]
    Head {
        /// What the labels are for.
        purpose: Purpose,
        /// Why not.
        source: HeadError,
    },
    /// The corpus cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The vectors of passages cannot be had.
    #[error(transparent)]
    Vectors(#[from] PruningError),
}

impl LearnError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoLabels { .. } => "no_labels",
            Self::SeveralModels { .. } => "several_models",
            Self::OtherModel { .. } => "other_model",
            Self::OtherPrompts => "other_prompts",
            Self::OtherCorpus { .. } => "other_corpus",
            Self::Head { source, .. } => match source {
                HeadError::TooFew { .. } => "too_few_labels",
                HeadError::OneClass { .. } => "one_class",
                HeadError::OneValue { .. } => "one_value",
                HeadError::Interrupted => "interrupted",
                HeadError::Shapes | HeadError::Number { .. } | HeadError::Network(_) => {
                    "bad_vectors"
                }
            },
            Self::Corpus(error) => error.kind(),
            Self::Vectors(error) => error.kind(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let remedy = match self {
            Self::NoLabels { purpose, .. } => match purpose {
                Purpose::Router => {
                    "probe questions with golden_answers: `ken probe QUESTIONS --out RECORDS`"
                }
                Purpose::Pruner => {
                    "label more passages, or with a stronger --writer: `ken mastery label CORPUS --writer URL`"
                }
            },
            Self::SeveralModels { .. } => "learn from the records of one model at a time",
            Self::OtherModel { .. } => {
                "name the model that was probed by --model, or probe this one: `ken probe QUESTIONS --out RECORDS`"
            }
            Self::OtherPrompts => "probe again: `ken probe QUESTIONS --out RECORDS`",
            Self::OtherCorpus { .. } => {
                "name the corpus that was labelled, or label this one: `ken mastery label CORPUS`"
            }
            Self::Head { purpose, source } => return Some(more_labels(*purpose, source)),
            Self::Corpus(error) => return error.hint(),
            Self::Vectors(error) => return error.hint(),
        };
        Some(remedy.to_owned())
    }
}

fn more_labels(purpose: Purpose, source: &HeadError) -> String {
    let command = match purpose {
        Purpose::Router => "`ken probe QUESTIONS` with more questions",
        Purpose::Pruner => "`ken mastery label CORPUS` with a larger --limit",
    };
    match source {
        HeadError::OneClass { .. } if purpose == Purpose::Router => format!(
            "label more by {command}, some that the model knows and some that it does not; --correct contains counts more answers as right"
        ),
        HeadError::TooFew { .. } | HeadError::OneClass { .. } | HeadError::OneValue { .. } => {
            format!("label more by {command}; nothing was written")
        }
        HeadError::Interrupted => "run the same command again; nothing was written".to_owned(),
        HeadError::Shapes | HeadError::Number { .. } | HeadError::Network(_) => {
            "check the embedder or model that the vectors come from".to_owned()
        }
    }
}
