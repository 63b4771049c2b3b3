//! Locks by which processes keep out of each other's way.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::StorageError;
use crate::plain::open_with;

/// Locks the file at `path`, which is created if missing, until what is returned is dropped; `None`
/// where another process holds it.
///
/// # Errors
/// A file that cannot be opened or locked.
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
