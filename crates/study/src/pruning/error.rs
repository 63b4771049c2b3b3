//! Why passages cannot be scored, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::AnswerError;
use ken_corpus::CorpusError;
use ken_diagnostic::{Remedy, remedy};
use ken_index::IndexError;
use ken_storage::StorageError;

/// Why passages cannot be scored.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum PruningError {
    /// The pruner takes other vectors than the corpus has.
    #[error(
        "the pruner was learned with another embedder: its fingerprint was {expected}, and that of the corpus is {received}"
    )]
    #[diagnostic(
        kind = "other_pruner",
        remedy = "make one for this corpus: <LabelMastery>, then <TrainPruner>"
    )]
    OtherEmbedder {
        /// The fingerprint that the pruner names.
        expected: String,
        /// The fingerprint of the corpus's embedder.
        received: String,
    },
    /// The pruner was trained for another model.
    #[error(
        "the pruner was learned for another model: its fingerprint was {expected}, and now is {received}"
    )]
    #[diagnostic(
        remedy = "name the model that was labeled by <model>, or make a pruner for this one: <LabelMastery>, then <TrainPruner>"
    )]
    OtherModel {
        /// The fingerprint that the pruner names.
        expected: String,
        /// The fingerprint of the model at hand.
        received: String,
    },
    /// The pruner reads the features of another model than the one at hand.
    #[error(
        "the pruner has passages read by another model: its fingerprint was {expected}, and now is {received}"
    )]
    #[diagnostic(
        remedy = "name the model that read the passages when the pruner was learned by <model>"
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
    #[diagnostic(kind = "empty_corpus", remedy = "add documents by <Ingest DIR>")]
    NoPassages,
    /// No question can show whether answers remain findable.
    #[error("none of the {questions} questions has golden answers")]
    #[diagnostic(
        remedy = "each line is one object {{\"id\", \"question\", \"golden_answers\": [..]}}"
    )]
    NoGoldenAnswers {
        /// Questions in the file.
        questions: usize,
    },
    /// More passages are to go than were measured.
    #[error("{wanted} passages are to go, and the mastery of {measured} was measured")]
    #[diagnostic(
        remedy = "take a smaller ratio, or a pruner, which predicts the mastery of the others: <method> pruner <pruner> FILE"
    )]
    TooFewLabels {
        /// Those that are to go.
        wanted: usize,
        /// Those that were measured.
        measured: usize,
    },
    /// No ratio keeps the guarantee.
    #[error(
        "no ratio keeps the guarantee: with these {questions} questions it cannot be shown that at most {max_loss} of them lose their answer, with confidence {confidence}"
    )]
    #[diagnostic(kind = "promise_not_kept", remedy = more_questions(*needed))]
    NotGuaranteed {
        /// Questions.
        questions: usize,
        /// The share that may lose their answer.
        max_loss: f64,
        /// The confidence.
        confidence: f64,
        /// About how many questions like these would be needed, if any number would do.
        needed: Option<usize>,
    },
    /// A file that names passages cannot be read.
    #[error(transparent)]
    Marks(#[from] StorageError),
    /// A line of a file that names passages names none.
    #[error("{path}:{line}: {source}")]
    #[diagnostic(
        kind = "bad_prune_line",
        remedy = "a line is {{\"passage_id\": \"a.md#3\", \"score\": 0.9, \"reason\": \"known\"}}; nothing was changed"
    )]
    BadMark {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It was stopped.
    #[error("stopped before anything was changed")]
    #[diagnostic(kind = "interrupted", remedy = "run the same command again")]
    Stopped,
    /// The corpus cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The corpus cannot be searched.
    #[error(transparent)]
    Index(#[from] IndexError),
}

fn more_questions(needed: Option<usize>) -> Remedy {
    match needed {
        Some(needed) => {
            remedy!("about {needed} questions like these would be needed; nothing was changed")
        }
        None => remedy!(
            "no number of questions like these would do: allow a larger <max_coverage_loss>; nothing was changed"
        ),
    }
}
