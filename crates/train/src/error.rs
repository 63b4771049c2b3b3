//! What can go wrong with training, each with the thing it went wrong with.

use std::path::{Path, PathBuf};

use ken_model::decoder::DecoderError;

/// Why nothing was trained.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum TrainError {
    /// The model's files cannot be used.
    #[error(transparent)]
    Model(#[from] DecoderError),
    /// A file could not be read or written.
    #[error("cannot use {path}: {source}")]
    #[diagnostic(kind = ken_storage::io_kind(source.kind()), remedy = ken_storage::io_remedy(source.kind(), path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// There is nothing to learn from.
    #[error("there is nothing to learn: no {what} has a token with loss")]
    NothingToLearn {
        /// "sequence" or "pair".
        what: &'static str,
    },
    /// A sequence that the model cannot read.
    #[error("sequence {place} has {received} tokens, the model reads {context}")]
    #[diagnostic(
        kind = "sequence_too_long",
        remedy = "leave longer ones out, or retrieve fewer passages with <k>"
    )]
    TooLong {
        /// Counted from 0.
        place: usize,
        /// Its tokens.
        received: usize,
        /// Most tokens that the model reads.
        context: usize,
    },
    /// A setting out of range.
    #[error("`{setting}` is {received}, expected {expected}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// What was given.
        received: String,
        /// What may be given.
        expected: &'static str,
    },
    /// A module that the model does not have.
    #[error("no module of the model is called `{name}` (it has {known})")]
    UnknownModule {
        /// The name given.
        name: String,
        /// The names that it has.
        known: String,
    },
    /// The loss is no number.
    #[error("the loss is no number after step {step}: the last checkpoint stays as it is")]
    #[diagnostic(
        kind = "loss_not_finite",
        remedy = "lower the learning rate with <learning_rate>, or clip harder with <clip>"
    )]
    NotFinite {
        /// The step, counted from 1.
        step: usize,
    },
    /// A checkpoint of another training, or a broken one.
    #[error("the checkpoint {path} cannot be gone on with: {reason}")]
    #[diagnostic(
        remedy = "train into another folder with <out>, or begin anew in this one with <overwrite>"
    )]
    Checkpoint {
        /// Its folder.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// A tensor operation failed.
    #[error("the training could not be computed: {0}")]
    Compute(#[from] candle_core::Error),
}

impl From<ken_storage::StorageError> for TrainError {
    fn from(error: ken_storage::StorageError) -> Self {
        Self::io(&error.path, error.source)
    }
}

impl TrainError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_path_buf(),
            source,
        }
    }
}
