//! Listing, deleting and flushing files of the cache.

use std::path::{Path, PathBuf};

use crate::error::{HubError, io_error};

/// The paths in a folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, HubError> {
    let entries = std::fs::read_dir(folder).map_err(|e| io_error("read", folder, e))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// All files below `folder` with their sizes in bytes, without those that vanish meanwhile.
pub(crate) fn files_below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    for path in entries(folder).unwrap_or_default() {
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => files.extend(files_below(&path)),
            Ok(metadata) => files.push((path, metadata.len())),
            Err(_) => {}
        }
    }
    files
}

/// Deletes as much as possible of the folders in `parent` whose names begin with `prefix`.
pub(crate) fn remove_stale(parent: &Path, prefix: &str) {
    for path in entries(parent).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(prefix) {
            // The next call deletes the rest.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Flushes a file and gives it its final name, durably.
pub(crate) fn settle(from: &Path, to: &Path) -> Result<(), HubError> {
    let synced = ken_storage::open(from)?.sync_all();
    synced.map_err(|e| io_error("flush", from, e))?;
    Ok(ken_storage::rename(from, to)?)
}
