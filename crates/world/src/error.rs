//! What can go wrong with an invented world.

use std::path::PathBuf;

use ken_language::ModelError;
use ken_model::decoder::DecoderError;

/// Why a world cannot be made, read or measured.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum WorldError {
    /// Too few people for a tail, or too many for the names.
    #[error(
        "a world has {fewest} people in training or more, and {most} in all or fewer; \
         not {people} of {all}"
    )]
    #[diagnostic(
        kind = "world_people",
        remedy = "choose <people>, <unseen> and <strangers> within these bounds"
    )]
    People {
        /// People in training.
        people: usize,
        /// People in all.
        all: usize,
        /// Fewest in training.
        fewest: usize,
        /// Most in all.
        most: usize,
    },
    /// An exponent out of bounds.
    #[error("the exponent lies between 0 and {steepest}, and is not {exponent}")]
    #[diagnostic(
        kind = "world_exponent",
        remedy = "choose <exponent> within these bounds; 0.8 is usual"
    )]
    Exponent {
        /// The requested one.
        exponent: f64,
        /// The largest.
        steepest: f64,
    },
    /// No training texts were requested.
    #[error("there is no training text")]
    #[diagnostic(kind = "world_sequences", remedy = "choose <sequences> above 0")]
    NoSequences,
    /// A file of the world cannot be read or written.
    #[error(transparent)]
    #[diagnostic(
        kind = "world_file",
        remedy = "check the path, and that there is space and permission"
    )]
    File(#[from] ken_storage::StorageError),
    /// The folder is not empty.
    #[error("{path} holds files already")]
    #[diagnostic(kind = "folder_not_empty", remedy = "name a new folder")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The file is not what `ken world make` writes.
    #[error("{path} does not describe a world: {reason}")]
    #[diagnostic(remedy = "name a folder that <MakeWorld> wrote")]
    NotAWorld {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The settings no longer make the world that they made.
    #[error("{path} was made by a version of ken that makes other worlds")]
    #[diagnostic(kind = "other_world", remedy = "make the world again: <MakeWorld>")]
    OtherVersion {
        /// The file.
        path: PathBuf,
    },
    /// A model of the family cannot be written.
    #[error(transparent)]
    Untrained(#[from] DecoderError),
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model cannot score answers.
    #[error("the model cannot score given answers")]
    #[diagnostic(remedy = "name a model on this machine")]
    CannotScore,
}
