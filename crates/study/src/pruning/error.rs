//! Why passages cannot be scored, with the remedy beside the message.

use ken_answer::AnswerError;
use ken_corpus::CorpusError;
use ken_index::IndexError;

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
    /// The corpus cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The corpus cannot be searched.
    #[error(transparent)]
    Index(#[from] IndexError),
}
