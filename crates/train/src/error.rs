//! Training errors.

use std::io;
use std::path::{Path, PathBuf};

use ken_model::decoder::DecoderError;

/// Why a training failed.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TrainError {
    #[error(transparent)]
    Model(#[from] DecoderError),
    #[error("cannot use {path}: {source}")]
    #[diagnostic(kind = ken_storage::io_kind(source), remedy = ken_storage::io_remedy(source, path))]
    Io { path: PathBuf, source: io::Error },
    #[error("there is nothing to learn: no {what} has a token with a loss")]
    NothingToLearn { what: &'static str },
    /// `place` counts from 0.
    #[error("sequence {place} has {received} tokens, but the model's context is {context}")]
    #[diagnostic(
        kind = "sequence_too_long",
        remedy = "leave longer ones out, or retrieve fewer passages with <k>"
    )]
    TooLong {
        place: usize,
        received: usize,
        context: usize,
    },
    #[error("this model cannot be trained: training does not support {what}")]
    #[diagnostic(
        kind = "untrainable_model",
        remedy = "train another model: Llama, Mistral, Qwen2, Qwen2.5, Qwen3 or Phi-3"
    )]
    Untrainable { what: &'static str },
    #[error("`{setting}` is {received}, expected {expected}")]
    Setting {
        setting: &'static str,
        received: String,
        expected: &'static str,
    },
    #[error("no module of the model is called `{name}` (it has {known})")]
    UnknownModule { name: String, known: String },
    #[error("the loss is not a number after step {step}; the last checkpoint is kept")]
    #[diagnostic(
        kind = "loss_not_finite",
        remedy = "lower the learning rate with <learning_rate>, or clip harder with <clip>"
    )]
    NotFinite { step: usize },
    #[error("the checkpoint {path} cannot be resumed: {reason}")]
    #[diagnostic(
        remedy = "train into another folder with <out>, or start over in this one with <overwrite>"
    )]
    Checkpoint { path: PathBuf, reason: String },
    #[error("a tensor operation failed: {0}")]
    Compute(#[from] candle_core::Error),
}

impl From<ken_storage::StorageError> for TrainError {
    fn from(error: ken_storage::StorageError) -> Self {
        Self::io(&error.path, error.source)
    }
}

impl TrainError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            source,
        }
    }
}

/// Checks that a setting `holds`.
pub(crate) fn require(
    setting: &'static str,
    received: f64,
    expected: &'static str,
    holds: bool,
) -> Result<(), TrainError> {
    if holds {
        return Ok(());
    }
    Err(TrainError::Setting {
        setting,
        received: received.to_string(),
        expected,
    })
}
