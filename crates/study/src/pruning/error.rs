//! Why passages cannot be scored, with the remedy beside the message.

use ken_answer::AnswerError;
use ken_corpus::CorpusError;
use ken_index::IndexError;

/// Why passages cannot be scored.
#[derive(Debug, thiserror::Error)]
pub enum PruningError {
    /// The pruner takes other vectors than the corpus has.
    #[error(
        "the pruner was learned with another embedder: its fingerprint was {expected}, and that of the corpus is {received}"
    )]
    OtherEmbedder {
        /// The fingerprint that the pruner names.
        expected: String,
        /// The fingerprint of the corpus's embedder.
        received: String,
    },
    /// The pruner foretells what another model has mastered.
    #[error(
        "the pruner was learned for another model: its fingerprint was {expected}, and now is {received}"
    )]
    OtherModel {
        /// The fingerprint that the pruner names.
        expected: String,
        /// The fingerprint of the model at hand.
        received: String,
    },
    /// The pruner looks at what another model makes of passages than the one at hand.
    #[error(
        "the pruner has passages read by another model: its fingerprint was {expected}, and now is {received}"
    )]
    OtherReader {
        /// The fingerprint that the pruner names.
        expected: String,
        /// The fingerprint of the model at hand.
        received: String,
    },
    /// A model that reads passages failed.
    #[error(transparent)]
    Reading(#[from] AnswerError),
    /// There is nothing to prune.
    #[error("the corpus holds no passages that could be pruned")]
    NoPassages,
    /// No question tells whether answers stay within reach.
    #[error("none of the {questions} questions has golden answers")]
    NoGoldenAnswers {
        /// Questions in the file.
        questions: usize,
    },
    /// The corpus cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The corpus cannot be searched.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl PruningError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OtherEmbedder { .. } => "other_pruner",
            Self::OtherModel { .. } => "other_model",
            Self::OtherReader { .. } => "other_reader",
            Self::Reading(error) => error.kind(),
            Self::NoPassages => "empty_corpus",
            Self::NoGoldenAnswers { .. } => "no_golden_answers",
            Self::Corpus(error) => error.kind(),
            Self::Index(error) => error.kind(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let remedy = match self {
            Self::OtherEmbedder { .. } => {
                "make one for this corpus: `ken mastery label CORPUS`, then `ken train pruner LABELS --corpus DIR --out FILE`"
            }
            Self::OtherModel { .. } => {
                "name the model that was labelled by --model, or make a pruner for this one: `ken mastery label CORPUS`, then `ken train pruner LABELS --corpus DIR --out FILE`"
            }
            Self::OtherReader { .. } => {
                "name the model that read the passages when the pruner was learned by --model"
            }
            Self::Reading(error) => return error.hint(),
            Self::NoPassages => "add documents by `ken ingest PATH… --corpus DIR`",
            Self::NoGoldenAnswers { .. } => {
                "each line is one object {\"id\", \"question\", \"golden_answers\": [..]}"
            }
            Self::Corpus(error) => return error.hint(),
            Self::Index(error) => return error.hint(),
        };
        Some(remedy.to_owned())
    }
}
