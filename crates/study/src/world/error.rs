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
        /// People in training that were asked for.
        people: usize,
        /// People in all.
        all: usize,
        /// Fewest in training.
        fewest: usize,
        /// Most in all.
        most: usize,
    },
    /// An exponent that no law of exposures has here.
    #[error("the exponent lies between 0 and {steepest}, and is not {exponent}")]
    #[diagnostic(
        kind = "world_exponent",
        remedy = "choose <exponent> within these bounds; 0.8 is usual"
    )]
    Exponent {
        /// What was asked for.
        exponent: f64,
        /// The largest.
        steepest: f64,
    },
    /// Nothing is to be trained on.
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
    /// The folder holds something already.
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
    /// The settings make another world than they once made.
    #[error("{path} was made by another version of ken, whose worlds are others")]
    #[diagnostic(kind = "other_world", remedy = "make the world again: <MakeWorld>")]
    OtherVersion {
        /// The file.
        path: PathBuf,
    },
    /// A member of the family cannot be written.
    #[error(transparent)]
    Untrained(#[from] DecoderError),
    /// The model that is measured failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model cannot tell how likely an answer is.
    #[error("the model does not tell how likely given answers are")]
    #[diagnostic(remedy = "name a model on this machine")]
    CannotScore,
}
