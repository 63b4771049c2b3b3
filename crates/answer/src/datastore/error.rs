//! What can go wrong with a datastore.

use std::path::PathBuf;

/// Why a datastore cannot be used or changed. What it held before is kept.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum DatastoreError {
    /// The system refused.
    #[error(transparent)]
    #[diagnostic(
        kind = "datastore_file",
        remedy = "check that the folder exists, is writable and has space left"
    )]
    File(#[from] ken_storage::StorageError),
    /// The folder holds no datastore, or a broken one.
    #[error("{} is not a datastore that can be used: {reason}", path.display())]
    #[diagnostic(kind = "not_a_datastore", remedy = "make one by <MakeDatastore>")]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Someone else is changing it.
    #[error("{} is being changed by another process", path.display())]
    #[diagnostic(
        kind = "datastore_locked",
        remedy = "wait until it is done; answering is possible meanwhile"
    )]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// It was changed since it was opened.
    #[error("{} was changed by another process in the meantime", path.display())]
    #[diagnostic(kind = "datastore_changed", remedy = "run it again")]
    Changed {
        /// The folder.
        path: PathBuf,
    },
    /// Something else lies in the folder.
    #[error("{} is not empty", path.display())]
    #[diagnostic(kind = "out_not_empty", remedy = "name another folder")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// No entry has the id.
    #[error("no entry has the id {id:?}")]
    #[diagnostic(remedy = "<ListDatastore> shows them")]
    NoSuchEntry {
        /// The id.
        id: String,
    },
    /// Two entries have one id.
    #[error("two entries have the id {id:?}")]
    #[diagnostic(remedy = "give each an id of its own")]
    SameId {
        /// The id.
        id: String,
    },
    /// The model was not trained to choose the source.
    #[error("there is no source {name:?}; there are {}", known.join(", "))]
    NoSuchSource {
        /// The name given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The keys cannot be read or written.
    #[error(transparent)]
    #[diagnostic(remedy = "make one by <MakeDatastore>")]
    Keys(#[from] ken_index::IndexError),
}
