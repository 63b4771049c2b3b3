//! The folder of a server's data, which one server has at a time: two would take each other's unfinished uploads for
//! leftovers of a crash.

use std::fs::File;
use std::path::{Path, PathBuf};

use ken_storage::StorageError;

/// The file that keeps other servers out.
const LOCK: &str = "lock";

/// A folder that no other server has.
pub(crate) struct DataFolder {
    path: PathBuf,
    _lock: File,
}

/// Why the folder cannot be taken.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum DataFolderError {
    #[error("another server keeps what clients put in in {path}")]
    #[diagnostic(remedy = "end that server, or name another folder by <server_data> DIR")]
    ServerDataInUse { path: PathBuf },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl DataFolder {
    /// Takes a folder, which is created if it is missing, for this user alone: it holds questions and uploads.
    ///
    /// # Errors
    /// A folder that another server has, that cannot be written, or in which something is a link, a pipe,
    /// a socket or a device.
    pub(crate) fn take(path: &Path) -> Result<Self, DataFolderError> {
        ken_storage::create_private_dir_all(path)?;
        ken_storage::check_below(path)?;
        let path = path.to_owned();
        match ken_storage::try_lock(&path.join(LOCK))? {
            Some(lock) => Ok(Self { path, _lock: lock }),
            None => Err(DataFolderError::ServerDataInUse { path }),
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
        assert!(matches!(refused, DataFolderError::ServerDataInUse { .. }));
        drop(taken);
        assert!(DataFolder::take(&data).is_ok());
    }

    #[test]
    #[cfg(unix)]
    fn it_is_this_users_alone_and_nothing_in_it_leads_elsewhere() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        drop(DataFolder::take(&data).unwrap());
        let mode = data.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        for name in [
            "files",
            "jobs/job_1",
            "traces/000000000000.jsonl",
            "corpora/a/corpus",
            "lock",
        ] {
            let place = data.join(name);
            ken_storage::create_dir_all(place.parent().unwrap()).unwrap();
            ken_storage::remove(&place).unwrap();
            symlink(folder.path(), &place).unwrap();
            let refused = DataFolder::take(&data).err().unwrap();
            assert_eq!(refused.kind(), "not_a_plain_file");
            assert!(refused.to_string().contains(name), "{refused}");
            ken_storage::remove(&place).unwrap();
        }
        // The folder itself may be on another disk.
        symlink("data", folder.path().join("link")).unwrap();
        assert!(DataFolder::take(&folder.path().join("link")).is_ok());
    }
}
