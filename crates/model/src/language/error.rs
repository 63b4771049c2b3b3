//! What can go wrong with a language model, wherever it is.

use crate::decoder::DecoderError;
use crate::remote::RemoteError;
use crate::table::TableError;

/// Why a language model did not answer.
#[derive(Debug, thiserror::Error)]
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
    DoesNotChoose,
}

impl LanguageError {
    /// A short name of the error for machines.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Decoder(error) => error.kind(),
            Self::Remote(error) => error.kind(),
            Self::Table(error) => error.kind(),
            Self::DoesNotChoose => "does_not_choose",
        }
    }

    /// What the reader can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Decoder(error) => error.hint(),
            Self::Remote(error) => error.hint(),
            Self::Table(error) => error.hint(),
            Self::DoesNotChoose => Some(
                "train it by `ken train self-route LABELS --out DIR`, and name it by --adapter DIR"
                    .to_owned(),
            ),
        }
    }

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
