//! Why records give no training examples, with the remedy beside the message.

use ken_answer::AnswerError;
use ken_diagnostic::Action;

/// Why records give no training examples.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum ExamplesError {
    /// No record has a label.
    #[error("none of the {records} records has a label")]
    #[diagnostic(
        kind = "nothing_to_learn",
        remedy = "label questions with golden answers first: <*labeled_by>"
    )]
    NoLabels {
        /// Records.
        records: usize,
        /// What labels questions.
        labeled_by: Action,
    },
    /// The records are of several models, corpora or prompts.
    #[error("the records are of several models, corpora or prompts")]
    #[diagnostic(
        kind = "mixed_records",
        remedy = "make all records with one model and the same corpora, in one file"
    )]
    Mixed,
    /// The labels were measured with another model than the one to be trained.
    #[error(
        "the sources were labeled with another model: its fingerprint is {expected}, and that of the model to be trained {received}"
    )]
    #[diagnostic(
        remedy = "label with the model that is to be trained, named by <model>: <LabelSources>"
    )]
    OtherModel {
        /// The fingerprint in the records.
        expected: String,
        /// That of the model.
        received: String,
    },
    /// All questions have the same label: all are known, or none.
    #[error("all {questions} questions have the same label")]
    #[diagnostic(
        kind = "one_class",
        remedy = "choose a threshold between what the model knows and what it does not: <threshold>; <TrainKbm> with <soft> may separate what no threshold does; else probe other questions"
    )]
    OneSide {
        /// Questions with an indicator.
        questions: usize,
    },
    /// All questions have one source.
    #[error("all {questions} questions are answered best by {source_name}")]
    #[diagnostic(
        kind = "one_class",
        remedy = "label more questions, or choose the other rule: <rule>"
    )]
    OneSource {
        /// Questions with a label.
        questions: usize,
        /// Their source.
        source_name: String,
    },
    /// The evidence could not be found again.
    #[error(transparent)]
    Find(#[from] AnswerError),
}
