//! The folder of what a server keeps, which one server has at a time: two would take each other's halves of
//! uploads for what a crash left.

use std::fs::File;
use std::path::{Path, PathBuf};

use ken_storage::StorageError;

/// The file by which others are kept out.
const LOCK: &str = "lock";

/// A folder that no other server has.
pub(crate) struct DataFolder {
    path: PathBuf,
    _lock: File,
}

/// Why it cannot be had.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DataFolderError {
    #[error("another server keeps what clients put in in {path}")]
    #[diagnostic(
        kind = "server_data_in_use",
        remedy = "end that server, or name another folder by <server_data> DIR"
    )]
    InUse { path: PathBuf },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl DataFolder {
    /// Takes a folder, which is made where it is not there.
    ///
    /// # Errors
    /// A folder that another server has, or that cannot be written.
    pub(crate) fn take(path: &Path) -> Result<Self, DataFolderError> {
        ken_storage::create_dir_all(path)?;
        let path = path.to_owned();
        match ken_storage::try_lock(&path.join(LOCK))? {
            Some(lock) => Ok(Self { path, _lock: lock }),
            None => Err(DataFolderError::InUse { path }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_it_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let taken = DataFolder::take(&data).unwrap();
        let refused = DataFolder::take(&data).err().unwrap();
        assert!(matches!(refused, DataFolderError::InUse { .. }));
        drop(taken);
        assert!(DataFolder::take(&data).is_ok());
    }
}
