//! Why a language model cannot be tuned, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::AnswerError;
use ken_diagnostic::{Remedy, remedy};
use ken_model::decoder::DecoderError;
use ken_storage::StorageError;
use ken_train::TrainError;

use crate::examples::ExamplesError;
use crate::heads::LearnError;

/// The format of a line in a file of examples.
const LINES: &str =
    "each line is {\"prompt\", \"completion\"} or {\"prompt\", \"chosen\", \"rejected\"}";

/// Why a language model cannot be tuned.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TuneError {
    #[error("{path}, line {line}: not an example")]
    #[diagnostic(remedy = Remedy::from(LINES))]
    NotAnExample { path: PathBuf, line: usize },
    #[error("{path} holds no examples")]
    #[diagnostic(remedy = Remedy::from(LINES))]
    NoExamples { path: PathBuf },
    #[error("{path} has another question under the id {id:?}: {recorded:?}")]
    #[diagnostic(remedy = "probe these questions: <Probe>")]
    OtherQuestion {
        path: PathBuf,
        id: String,
        recorded: String,
    },
    #[error("the vocabulary of the model has no names for the marks of sources")]
    #[diagnostic(remedy = "train it by <TrainSelfRoute>, or take a model with reserved tokens")]
    NamelessTokens,
    #[error("an adapter cannot be made on top of another one, {adapter}")]
    #[diagnostic(
        remedy = "merge it into the model: <MergeAdapter {adapter}>, then train with <model> ./merged and without the adapter; or train all weights with <full>"
    )]
    AdapterOnAdapter { adapter: PathBuf },
    #[error("{out} holds what is to be trained")]
    #[diagnostic(remedy = "name another folder by <out>")]
    OutIsSource { out: PathBuf },
    #[error("{out} is not empty")]
    #[diagnostic(remedy = "name another folder, or add <overwrite>")]
    OutNotEmpty { out: PathBuf },
    #[error("stopped after {steps} steps, which are kept in {out}")]
    #[diagnostic(kind = "interrupted", remedy = resume(*began_anew))]
    Stopped {
        steps: usize,
        out: PathBuf,
        /// Whether it was started with `overwrite`, which a repetition would repeat.
        began_anew: bool,
    },
    #[error(transparent)]
    Learn(#[from] LearnError),
    #[error(transparent)]
    Examples(#[from] ExamplesError),
    #[error(transparent)]
    Find(#[from] AnswerError),
    #[error(transparent)]
    Model(#[from] DecoderError),
    #[error(transparent)]
    Train(#[from] TrainError),
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
