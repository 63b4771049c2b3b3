//! Why a run stops, or is refused before anything is paid for, with the remedy beside the message.

use ken_answer::AnswerError;
use ken_answer::datastore::SELF;

use super::task::Task;
use crate::results::ResultsError;

/// Why a run stopped. All records before it are in the file.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No other item could be worked on either.
    #[error("cannot {task} {id:?}: {source}")]
    Work {
        /// What was done.
        task: Task,
        /// The item at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The file holds a record of another item with this id.
    #[error("the {} has {recorded}", task.file())]
    OtherItem {
        /// What was to be done.
        task: Task,
        /// The shared id.
        id: String,
        /// What the file has under it.
        recorded: String,
    },
    /// A record could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The model that is to judge answers does not score.
    #[error("{option} asks a model how likely a word is, which this one does not tell")]
    JudgeCannotScore {
        /// The option that needs it.
        option: String,
    },
    /// Answers are to be told apart by meaning, and no embedder was given.
    #[error("answers are grouped by meaning, and there is no embedder to tell it")]
    NoEmbedder,
    /// The first texts cannot be told apart.
    #[error("cannot compare what the model wrote about the questions: {source}")]
    Demonstrate {
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The model that is to label questions does not score.
    #[error(
        "sources are told apart by how likely the model holds the golden answer, which this model does not tell"
    )]
    CannotScore,
    /// There is nothing to compare the model with.
    #[error("no corpus is given as a source beside the model itself")]
    NoCorpus,
    /// Two sources have one name.
    #[error("two sources have the name {name:?}")]
    SameName {
        /// The shared name.
        name: String,
    },
    /// Probe records of another model, or of other prompts.
    #[error("the question {id:?} was probed with another model or other prompts")]
    OtherModel {
        /// The question.
        id: String,
    },
}

impl RunError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Work { source, .. } | Self::Demonstrate { source } => source.kind(),
            Self::OtherItem { task, .. } => match task {
                Task::LabelMastery => "other_sentence",
                _ => "other_question",
            },
            Self::Results(error) => error.kind(),
            Self::JudgeCannotScore { .. } => "judge_cannot_score",
            Self::NoEmbedder => "no_embedder",
            Self::CannotScore => "cannot_score",
            Self::NoCorpus => "no_corpus",
            Self::SameName { .. } => "same_name",
            Self::OtherModel { .. } => "other_model",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let remedy = match self {
            Self::Work { source, .. } | Self::Demonstrate { source } => return source.hint(),
            Self::Results(error) => return error.hint(),
            Self::OtherItem { task, .. } => match task {
                Task::LabelMastery => "use the corpus of that run, or name a new file by --out",
                Task::Signals => "use the question file of that run, or name a new folder by --out",
                _ => "use the question file of that run, or name a new file by --out",
            },
            Self::JudgeCannotScore { .. } => {
                "name another judge by --judge, or use --correct contains and --group string"
            }
            Self::NoEmbedder => "name an embedder, or use --group string",
            Self::CannotScore => {
                "use a model on this machine, or an endpoint that tells the log probabilities of a \
                 prompt, as vLLM does"
            }
            Self::NoCorpus => "name one by --corpus DIR",
            Self::SameName { .. } => {
                return Some(format!(
                    "name them by --corpus NAME=DIR, none of them {SELF}"
                ));
            }
            Self::OtherModel { .. } => {
                "leave the records out, or probe again: `ken probe QUESTIONS --corpus DIR`"
            }
        };
        Some(remedy.to_owned())
    }
}
