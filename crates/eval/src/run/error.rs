//! Why a run stops, or is refused before it costs anything, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::datastore::SELF;
use ken_answer::{AnswerError, Signal};
use ken_storage::StorageError;

use super::task::Task;
use crate::results::ResultsError;

/// Why a run stopped. The file has all earlier records.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RunError {
    #[error("cannot {task} {id:?}: {source}")]
    #[diagnostic(forward)]
    Work {
        task: Task,
        id: String,
        source: Box<AnswerError>,
    },
    #[error("the {file} has {recorded}")]
    #[diagnostic(remedy = "use the question file of that run, or name a new {out} by <out>")]
    OtherQuestion {
        file: &'static str,
        /// What names a new one: a file or a folder.
        out: &'static str,
        recorded: String,
    },
    #[error("the file of records has {recorded}")]
    #[diagnostic(remedy = "use the corpus of that run, or name a new file by <out>")]
    OtherSentence { recorded: String },
    #[error("stopped after {done} of {total} {items}, whose results are in {out}")]
    #[diagnostic(kind = "interrupted", remedy = "run the same command again to resume")]
    Stopped {
        done: usize,
        total: usize,
        items: &'static str,
        out: PathBuf,
    },
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("{option} needs the probabilities of words, which this model does not report")]
    #[diagnostic(
        remedy = "name another judge by <judge>, or use <correct> contains and <group> string"
    )]
    JudgeCannotScore { option: String },
    #[error("answers are grouped by meaning, which needs an embedder")]
    #[diagnostic(remedy = "name an embedder, or use <group> string")]
    NoEmbedder,
    #[error("cannot compare what the model wrote about the questions: {source}")]
    #[diagnostic(forward)]
    Demonstrate { source: Box<AnswerError> },
    #[error(
        "sources are compared by how likely they make the golden answer, which this model does not report"
    )]
    #[diagnostic(
        remedy = "use a model on this machine, or an endpoint that returns the log probabilities of a prompt, as vLLM does"
    )]
    CannotScore,
    #[error("no corpus is given as a source beside the model itself")]
    #[diagnostic(remedy = "name one by <corpus> DIR")]
    NoCorpus,
    #[error(
        "none of the {questions} questions was probed and stands in a passage that it names by metadata.gold_passage"
    )]
    #[diagnostic(
        remedy = "probe these very questions by <Probe>, or leave <questions> out to have some written"
    )]
    NoLabels { questions: usize },
    #[error("two sources have the name {name:?}")]
    #[diagnostic(remedy = "name them by <corpus> NAME=DIR, none of them {SELF}")]
    SameName { name: String },
    #[error("the question {id:?} was probed with another model or other prompts")]
    #[diagnostic(remedy = "leave the records out, or probe again: <ProbeWithCorpus>")]
    OtherModel { id: String },
    #[error(
        "{path} was recorded before answers had the probabilities of their first tokens, which {signal} needs"
    )]
    #[diagnostic(
        remedy = "delete {path} to have its questions answered and measured again, or name a new folder by <out>"
    )]
    WithoutOpenings { path: PathBuf, signal: Signal },
    #[error(
        "the question {question:?} was probed before answers had the probabilities of their first tokens, which {signal} needs"
    )]
    #[diagnostic(remedy = "leave the records out, or probe again: <ProbeWithCorpus>")]
    ProbedWithoutOpenings { question: String, signal: Signal },
}

impl RunError {
    /// The record under the id is of a different item.
    pub(super) fn other_item(task: Task, recorded: String) -> Self {
        let (file, out) = match task {
            Task::LabelMastery => return Self::OtherSentence { recorded },
            Task::Answer => ("results file", "file"),
            Task::Signals => ("file of signals", "folder"),
            Task::Retrieve => ("file of what was found", "folder"),
            Task::Probe | Task::FirstText | Task::LabelSource => ("file of records", "file"),
        };
        Self::OtherQuestion {
            file,
            out,
            recorded,
        }
    }
}
