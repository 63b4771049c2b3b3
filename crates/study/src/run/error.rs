//! Why a run stops, or is refused before anything is paid for, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::AnswerError;
use ken_answer::datastore::SELF;

use super::task::Task;
use crate::results::ResultsError;

/// Why a run stopped. All records before it are in the file.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum RunError {
    /// No other item could be worked on either.
    #[error("cannot {task} {id:?}: {source}")]
    #[diagnostic(forward)]
    Work {
        /// What was done.
        task: Task,
        /// The item at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The file holds a record of another question with this id, or of other answers or choices.
    #[error("the {file} has {recorded}")]
    #[diagnostic(remedy = "use the question file of that run, or name a new {out} by <out>")]
    OtherQuestion {
        /// Which file.
        file: &'static str,
        /// What a new one would be named by: a file or a folder.
        out: &'static str,
        /// The shared id.
        id: String,
        /// What the file has under it.
        recorded: String,
    },
    /// The file holds a record of another sentence with this id.
    #[error("the file of records has {recorded}")]
    #[diagnostic(remedy = "use the corpus of that run, or name a new file by <out>")]
    OtherSentence {
        /// The shared id.
        id: String,
        /// What the file has under it.
        recorded: String,
    },
    /// It was cancelled, and can be resumed.
    #[error("stopped after {done} of {total} {items}, whose results are in {out}")]
    #[diagnostic(kind = "interrupted", remedy = "run the same command again to resume")]
    Stopped {
        /// Items with a record.
        done: usize,
        /// Items in all.
        total: usize,
        /// What they are.
        items: &'static str,
        /// The file of records.
        out: PathBuf,
    },
    /// A record could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The model that is to judge answers does not score.
    #[error("{option} needs the probabilities of words, which this model does not report")]
    #[diagnostic(
        remedy = "name another judge by <judge>, or use <correct> contains and <group> string"
    )]
    JudgeCannotScore {
        /// The option that needs it.
        option: String,
    },
    /// Answers are grouped by meaning, and no embedder was given.
    #[error("answers are grouped by meaning, which needs an embedder")]
    #[diagnostic(remedy = "name an embedder, or use <group> string")]
    NoEmbedder,
    /// The first texts cannot be clustered.
    #[error("cannot compare what the model wrote about the questions: {source}")]
    #[diagnostic(forward)]
    Demonstrate {
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The model that is to label questions does not score.
    #[error(
        "sources are compared by how likely they make the golden answer, which this model does not report"
    )]
    #[diagnostic(
        remedy = "use a model on this machine, or an endpoint that returns the log probabilities of a prompt, as vLLM does"
    )]
    CannotScore,
    /// There is nothing to compare the model with.
    #[error("no corpus is given as a source beside the model itself")]
    #[diagnostic(remedy = "name one by <corpus> DIR")]
    NoCorpus,
    /// No probed question says anything of the corpus.
    #[error(
        "none of the {questions} questions was probed and stands in a passage that it names by metadata.gold_passage"
    )]
    #[diagnostic(
        kind = "no_labels",
        remedy = "probe these very questions by <Probe>, or leave <questions> out to have some written"
    )]
    NothingProbed {
        /// Questions.
        questions: usize,
    },
    /// Two sources have one name.
    #[error("two sources have the name {name:?}")]
    #[diagnostic(remedy = "name them by <corpus> NAME=DIR, none of them {SELF}")]
    SameName {
        /// The shared name.
        name: String,
    },
    /// Probe records of another model, or of other prompts.
    #[error("the question {id:?} was probed with another model or other prompts")]
    #[diagnostic(remedy = "leave the records out, or probe again: <ProbeWithCorpus>")]
    OtherModel {
        /// The question.
        id: String,
    },
}

impl RunError {
    /// What is recorded under the id is another item.
    pub(super) fn other_item(task: Task, id: &str, recorded: String) -> Self {
        let id = id.to_owned();
        let (file, out) = match task {
            Task::LabelMastery => return Self::OtherSentence { id, recorded },
            Task::Answer => ("results file", "file"),
            Task::Signals => ("file of signals", "folder"),
            Task::Probe | Task::FirstText | Task::LabelSource => ("file of records", "file"),
        };
        Self::OtherQuestion {
            file,
            out,
            id,
            recorded,
        }
    }
}
