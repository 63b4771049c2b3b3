//! What can go wrong with a language model, wherever it is.

use crate::decoder::DecoderError;
use crate::remote::RemoteError;
use crate::table::TableError;

/// Why a language model did not answer.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum LanguageError {
    /// The decoder on this machine failed.
    #[error(transparent)]
    Decoder(#[from] DecoderError),
    /// The endpoint failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The table of a model made for tests does not hold what was asked for.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The model was not trained to choose where its knowledge comes from.
    #[error("the model was not trained to choose between what it knows and a corpus")]
    #[diagnostic(remedy = "train it by <TrainSelfRoute>, and name it by <adapter> DIR")]
    DoesNotChoose,
}

impl LanguageError {
    /// Whether the model could still answer another prompt: it is this one that does not fit.
    #[must_use]
    pub fn concerns_prompt(&self) -> bool {
        match self {
            Self::Decoder(error) => matches!(
                error,
                DecoderError::ContextExceeded { .. } | DecoderError::UnknownToken { .. }
            ),
            Self::Remote(error) => error.concerns_prompt(),
            Self::Table(_) | Self::DoesNotChoose => false,
        }
    }
}
