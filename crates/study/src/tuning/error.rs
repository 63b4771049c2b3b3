//! Why a language model is not trained, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::AnswerError;
use ken_diagnostic::{Remedy, remedy};
use ken_model::decoder::DecoderError;
use ken_storage::StorageError;
use ken_train::TrainError;

use crate::learn::LearnError;
use crate::training_examples::ExamplesError;

/// What a line of a file of examples is.
const LINES: &str =
    "each line is {\"prompt\", \"completion\"} or {\"prompt\", \"chosen\", \"rejected\"}";

/// Why a language model is not trained.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum TuneError {
    /// A line of a file of examples is none.
    #[error("{path}, line {line}: not an example")]
    #[diagnostic(remedy = Remedy::from(LINES))]
    NotAnExample {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A file of examples is empty.
    #[error("{path} holds no examples")]
    #[diagnostic(remedy = Remedy::from(LINES))]
    NoExamples {
        /// The file.
        path: PathBuf,
    },
    /// Records of another question under an id.
    #[error("{path} has another question under the id {id:?}: {recorded:?}")]
    #[diagnostic(remedy = "probe these questions: <Probe>")]
    OtherQuestion {
        /// The file of records.
        path: PathBuf,
        /// The shared id.
        id: String,
        /// The question in the file.
        recorded: String,
    },
    /// The tokens that mark sources have no text.
    #[error("the vocabulary of the model has no names for the marks of sources")]
    #[diagnostic(remedy = "train it by <TrainSelfRoute>, or take a model with reserved tokens")]
    NamelessTokens,
    /// An adapter would be made on top of another one.
    #[error("an adapter cannot be made on top of another one, {adapter}")]
    #[diagnostic(
        remedy = "merge it into the model: <MergeAdapter {adapter}>, then train with <model> ./merged and without the adapter; or train all weights with <full>"
    )]
    AdapterOnAdapter {
        /// The other one.
        adapter: PathBuf,
    },
    /// The result would be written over what it is made from.
    #[error("{out} holds what is to be trained")]
    #[diagnostic(remedy = "name another folder by <out>")]
    OutIsSource {
        /// The folder.
        out: PathBuf,
    },
    /// The folder holds something else.
    #[error("{out} is not empty")]
    #[diagnostic(remedy = "name another folder, or add <overwrite>")]
    OutNotEmpty {
        /// The folder.
        out: PathBuf,
    },
    /// The training was stopped, and can be resumed.
    #[error("stopped after {steps} steps, which are kept in {out}")]
    #[diagnostic(kind = "interrupted", remedy = resume(*began_anew))]
    Stopped {
        /// Steps done.
        steps: usize,
        /// The folder.
        out: PathBuf,
        /// Whether it was told to begin anew there, which it would do again.
        began_anew: bool,
    },
    /// Records that do not fit.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The records give no training examples.
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    /// Passages cannot be found.
    #[error(transparent)]
    Find(#[from] AnswerError),
    /// The model's files cannot be used.
    #[error(transparent)]
    Model(#[from] DecoderError),
    /// The training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn resume(began_anew: bool) -> Remedy {
    match began_anew {
        true => remedy!("run the same command again without <overwrite> to resume"),
        false => "run the same command again to resume".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_that_began_anew_is_resumed_without_beginning_anew() {
        let remedy = |began_anew| {
            let (steps, out) = (0, "tuned".into());
            let stopped = TuneError::Stopped {
                steps,
                out,
                began_anew,
            };
            stopped.remedy().unwrap()
        };
        assert!(remedy(true).mentions("without overwrite"));
        assert!(!remedy(false).mentions("overwrite"));
    }
}
