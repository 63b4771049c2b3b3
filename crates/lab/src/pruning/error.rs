//! Why passages cannot be scored, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::AnswerError;
use ken_corpus::CorpusError;
use ken_diagnostic::{Remedy, remedy};
use ken_index::IndexError;
use ken_storage::StorageError;

/// Why passages cannot be scored.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum PruningError {
    #[error(
        "the pruner was learned with another embedder: its fingerprint was {expected}, and that of the corpus is {received}"
    )]
    #[diagnostic(remedy = "make one for this corpus: <LabelMastery>, then <TrainPruner>")]
    OtherPruner { expected: String, received: String },
    #[error(
        "the pruner was learned for another model: its fingerprint was {expected}, and now is {received}"
    )]
    #[diagnostic(
        remedy = "name the model that was labeled by <model>, or make a pruner for this one: <LabelMastery>, then <TrainPruner>"
    )]
    OtherModel { expected: String, received: String },
    #[error(
        "the pruner has passages read by another model: its fingerprint was {expected}, and now is {received}"
    )]
    #[diagnostic(
        remedy = "name the model that read the passages when the pruner was learned by <model>"
    )]
    OtherReader { expected: String, received: String },
    #[error(transparent)]
    Reading(#[from] AnswerError),
    #[error("the corpus holds no passages that could be pruned")]
    #[diagnostic(kind = "empty_corpus", remedy = "add documents by <Ingest DIR>")]
    NoPassages,
    #[error("none of the {questions} questions has golden answers")]
    #[diagnostic(
        remedy = "each line is one object {{\"id\", \"question\", \"golden_answers\": [..]}}"
    )]
    NoGoldenAnswers { questions: usize },
    #[error("{wanted} passages are to go, and the mastery of {measured} was measured")]
    #[diagnostic(
        remedy = "take a smaller ratio, or a pruner, which predicts the mastery of the others: <method> pruner <pruner> FILE"
    )]
    TooFewLabels { wanted: usize, measured: usize },
    #[error("the corpus keeps no scores named {name:?}")]
    #[diagnostic(remedy = named_scores(kept))]
    UnknownScore {
        name: String,
        /// The names of the scores that it keeps.
        kept: Vec<String>,
    },
    #[error(
        "no ratio keeps the guarantee: with these {questions} questions it cannot be shown that at most {max_loss} of them lose their answer, with confidence {confidence}"
    )]
    #[diagnostic(kind = "promise_not_kept", remedy = more_questions(*needed))]
    NotGuaranteed {
        questions: usize,
        max_loss: f64,
        confidence: f64,
        /// About how many questions like these it would take, if any number would do.
        needed: Option<usize>,
    },
    #[error(
        "{taught} of the {questions} questions made the labels that passages are pruned by, so nothing can be guaranteed for others by them"
    )]
    #[diagnostic(
        remedy = "take questions that no label was made from: hold some out by <LabelMastery> <questions> FILE <records> FILE <held_out> R, and name the same <held_out> R here"
    )]
    TaughtQuestions { taught: usize, questions: usize },
    #[error(transparent)]
    Marks(#[from] StorageError),
    #[error("{path}:{line}: {source}")]
    #[diagnostic(
        remedy = "a line is {{\"passage_id\": \"a.md#3\", \"score\": 0.9, \"reason\": \"known\"}}; nothing was changed"
    )]
    BadPruneLine {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error("stopped before anything was changed")]
    #[diagnostic(kind = "interrupted", remedy = "run the same command again")]
    Stopped,
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

fn named_scores(kept: &[String]) -> Remedy {
    match kept {
        [] => Remedy::from("it keeps none: score its passages first; nothing was changed"),
        kept => Remedy::from(format!("it keeps {}; nothing was changed", kept.join(", "))),
    }
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
