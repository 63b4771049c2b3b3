//! What can go wrong with a datastore.

use std::path::PathBuf;

/// Why a datastore cannot be used or changed. What it held before is kept.
#[derive(Debug, thiserror::Error)]
pub enum DatastoreError {
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder holds no datastore, or a broken one.
    #[error("{} is not a datastore that can be used: {reason}", path.display())]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Someone else is changing it.
    #[error("{} is being changed by another process", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// It was changed since it was opened.
    #[error("{} was changed by another process in the meantime", path.display())]
    Changed {
        /// The folder.
        path: PathBuf,
    },
    /// Something else lies in the folder.
    #[error("{} is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// No entry has the id.
    #[error("no entry has the id {id:?}")]
    NoSuchEntry {
        /// The id.
        id: String,
    },
    /// Two entries have one id.
    #[error("two entries have the id {id:?}")]
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
    Keys(#[from] ken_index::IndexError),
}

impl From<ken_storage::StorageError> for DatastoreError {
    fn from(error: ken_storage::StorageError) -> Self {
        Self::File {
            action: error.action,
            path: error.path,
            source: error.source,
        }
    }
}

impl DatastoreError {
    /// A short name for machines.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::File { .. } => "datastore_file",
            Self::Damaged { .. } => "not_a_datastore",
            Self::Locked { .. } => "datastore_locked",
            Self::Changed { .. } => "datastore_changed",
            Self::NotEmpty { .. } => "out_not_empty",
            Self::NoSuchEntry { .. } => "no_such_entry",
            Self::SameId { .. } => "same_id",
            Self::NoSuchSource { .. } => "no_such_source",
            Self::Keys(error) => error.kind(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File { .. } => {
                Some("check that the folder exists, is writable and has space left".to_owned())
            }
            Self::Damaged { .. } | Self::Keys(_) => {
                Some("make one by `ken datastore make LABELS --out DIR`".to_owned())
            }
            Self::Locked { .. } => {
                Some("wait until it is done; answering is possible meanwhile".to_owned())
            }
            Self::Changed { .. } => Some("run it again".to_owned()),
            Self::NotEmpty { .. } => Some("name another folder".to_owned()),
            Self::NoSuchEntry { .. } => Some("`ken datastore list DIR` shows them".to_owned()),
            Self::SameId { .. } => Some("give each an id of its own".to_owned()),
            Self::NoSuchSource { .. } => None,
        }
    }
}
