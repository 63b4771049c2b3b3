//! Locks by which processes keep out of each other's way.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::StorageError;
use crate::plain::open_with;

/// Locks the file at `path`, which it creates if missing, until the returned file is dropped; `None`
/// if another process holds the lock.
///
/// # Errors
/// If the file cannot be opened or locked.
pub fn try_lock(path: &Path) -> Result<Option<File>, StorageError> {
    let mut options = File::options();
    let options = options.create(true).truncate(false).write(true);
    let file = open_with(path, options)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(StorageError::new("lock", path)(source)),
    }
}
