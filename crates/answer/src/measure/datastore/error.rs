//! What can go wrong with a datastore.

use std::path::PathBuf;

use ken_diagnostic::Remedy;

use crate::measure::mismatch::Mismatch;

/// Why a datastore cannot be used or changed. It keeps its content.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what variants and fields are")]
pub enum DatastoreError {
    #[error(transparent)]
    #[diagnostic(
        kind = "datastore_file",
        remedy = ken_storage::not_plain_remedy(&_0.source, &_0.path).unwrap_or_else(|| {
            Remedy::from("check that the folder exists, is writable and has space left")
        })
    )]
    File(#[from] ken_storage::StorageError),
    /// The folder holds no datastore, or a broken one.
    #[error("{path} is not a datastore that can be used: {reason}")]
    #[diagnostic(kind = "not_a_datastore", remedy = "<MakeDatastore> makes one")]
    Damaged { path: PathBuf, reason: String },
    #[error("{path} is being changed by another process")]
    #[diagnostic(
        kind = "datastore_locked",
        remedy = "wait until it is done; answering is possible meanwhile"
    )]
    Locked { path: PathBuf },
    #[error("{path} was changed by another process in the meantime")]
    #[diagnostic(kind = "datastore_changed", remedy = "run it again")]
    Changed { path: PathBuf },
    #[error("{path} is not empty")]
    #[diagnostic(kind = "out_not_empty", remedy = "name another folder")]
    NotEmpty { path: PathBuf },
    #[error("no entry has the id {id:?}")]
    #[diagnostic(remedy = "<ListDatastore> shows them")]
    NoSuchEntry { id: String },
    #[error(
        "the vote of the entry {id:?} is not divided into shares from 0 to 1 of sources that there are"
    )]
    #[diagnostic(remedy = "give it one source, or shares of known sources")]
    BadShares { id: String },
    #[error("two entries have the id {id:?}")]
    #[diagnostic(remedy = "give each an id of its own")]
    SameId { id: String },
    /// The model was not trained to choose the source.
    #[error("there is no source {name:?}; there are {}", known.join(", "))]
    NoSuchSource { name: String, known: Vec<String> },
    #[error("the keys of the datastore were taken with {0}")]
    #[diagnostic(
        kind = "other_datastore",
        remedy = "use the model that they were taken with, or make it again: <MakeDatastore>"
    )]
    OtherModel(Mismatch),
    #[error(transparent)]
    #[diagnostic(remedy = "<MakeDatastore> makes one")]
    Keys(#[from] ken_index::IndexError),
}
