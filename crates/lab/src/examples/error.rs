//! Why records give no training examples, with the remedy beside the message.

use ken_answer::AnswerError;
use ken_answer::prompt::Indicator;
use ken_diagnostic::{Action, Remedy, remedy};

fn measure(indicator: Indicator) -> &'static str {
    match indicator {
        Indicator::Mastery => "confidence",
        Indicator::Certainty => "certainty",
    }
}

fn other_threshold(indicator: Indicator) -> Remedy {
    match indicator {
        Indicator::Mastery => remedy!(
            "choose a threshold between what the model knows and what it does not: <threshold>; <TrainKbm> with <soft> may separate what no threshold does; else probe other questions"
        ),
        Indicator::Certainty => remedy!(
            "choose a threshold between answers that agree and answers that do not: <certainty_threshold>; <TrainKbm> with <soft> may separate what no threshold does; else probe other questions"
        ),
    }
}

/// Why records give no training examples.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ExamplesError {
    #[error("none of the {records} records has a label")]
    #[diagnostic(remedy = "label questions with golden answers first: <*labeled_by>")]
    NothingToLearn { records: usize, labeled_by: Action },
    #[error("none of the {records} questions was probed with evidence")]
    #[diagnostic(
        remedy = "probe with the corpus: <ProbeWithCorpus>; or leave <corpus> out, to learn from answers from memory alone"
    )]
    NoEvidence { records: usize },
    #[error("the records are of several models, corpora or prompts")]
    #[diagnostic(remedy = "make all records with one model and the same corpora, in one file")]
    MixedRecords,
    #[error(
        "the sources were labeled with another model: its fingerprint is {expected}, and that of the model to be trained {received}"
    )]
    #[diagnostic(
        remedy = "label with the model that is to be trained, named by <model>: <LabelSources>"
    )]
    OtherModel { expected: String, received: String },
    #[error("all {questions} questions have the same label by their {}", measure(*indicator))]
    #[diagnostic(kind = "one_class", remedy = other_threshold(*indicator))]
    OneSide {
        questions: usize,
        indicator: Indicator,
    },
    #[error("all {questions} questions are answered best by {source_name}")]
    #[diagnostic(remedy = "label more questions, or choose the other rule: <rule>")]
    OneClass {
        questions: usize,
        source_name: String,
    },
    #[error(transparent)]
    Find(#[from] AnswerError),
}
