//! Errors of an invented world.

use std::path::PathBuf;

use ken_language::ModelError;
use ken_model::decoder::DecoderError;

/// Why a world cannot be made, read or measured.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum WorldError {
    #[error(
        "a world has {fewest} people in training or more, and {most} in all or fewer; \
         not {people} of {all}"
    )]
    #[diagnostic(
        kind = "world_people",
        remedy = "choose <people>, <unseen> and <strangers> within these bounds"
    )]
    People {
        people: usize,
        all: usize,
        fewest: usize,
        most: usize,
    },
    #[error("the exponent lies between 0 and {steepest}, and is not {exponent}")]
    #[diagnostic(
        kind = "world_exponent",
        remedy = "choose <exponent> within these bounds; 0.8 is usual"
    )]
    Exponent { exponent: f64, steepest: f64 },
    #[error("a subject has 1 to {most} documents, and not {documents}")]
    #[diagnostic(
        kind = "world_documents",
        remedy = "choose <documents> within these bounds"
    )]
    Documents { documents: usize, most: usize },
    #[error("a share lies between 0 and 1, and is not {share}")]
    #[diagnostic(
        kind = "world_share",
        remedy = "choose <look_alikes>, <outdated>, <wrong> and <irrelevant> within these bounds"
    )]
    Share { share: f64 },
    #[error("the corpus cannot misrepresent {all} of the people: that is more than all")]
    #[diagnostic(
        kind = "world_misrepresented",
        remedy = "have <look_alikes>, <outdated> and <wrong> add up to 1 or less"
    )]
    Misrepresented { all: f64 },
    #[error("no names and titles are left for so many people and what is told of them wrongly")]
    #[diagnostic(
        kind = "world_names",
        remedy = "choose fewer <people>, or lower shares: <look_alikes> and <wrong>"
    )]
    NoNames,
    #[error("there is no training text")]
    #[diagnostic(kind = "world_sequences", remedy = "choose <sequences> above 0")]
    NoSequences,
    #[error(transparent)]
    #[diagnostic(
        kind = "world_file",
        remedy = "check the path, and that there is space and permission"
    )]
    File(#[from] ken_storage::StorageError),
    #[error("{path} holds files already")]
    #[diagnostic(kind = "folder_not_empty", remedy = "name a new folder")]
    NotEmpty { path: PathBuf },
    #[error("{path} does not describe a world: {reason}")]
    #[diagnostic(remedy = "name a folder that <MakeWorld> wrote")]
    NotAWorld { path: PathBuf, reason: String },
    #[error("{path} was made by a version of ken that makes other worlds")]
    #[diagnostic(kind = "other_world", remedy = "make the world again: <MakeWorld>")]
    OtherVersion { path: PathBuf },
    #[error(transparent)]
    Untrained(#[from] DecoderError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the model cannot score given answers")]
    #[diagnostic(remedy = "name a model on this machine")]
    CannotScore,
}
