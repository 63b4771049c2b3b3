//! The file system's part of the cache: folders made, deleted, measured, files copied and flushed.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::digest::{CHUNK_BYTES, read_some};
use crate::error::{HubError, io_error};
use crate::progress::{Stage, Watch};

/// Creates a folder and its parents.
pub(crate) fn create_folder(path: &Path) -> Result<(), HubError> {
    Ok(ken_storage::create_dir_all(path)?)
}

/// The paths in a folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, HubError> {
    let entries = std::fs::read_dir(folder).map_err(|e| io_error("read", folder, e))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Deletes as much as possible of the folders in `parent` whose names begin with `prefix`.
pub(crate) fn remove_stale(parent: &Path, prefix: &str) {
    for path in entries(parent).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default();
        if name.to_string_lossy().starts_with(prefix) {
            // The next caller deletes what is left.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// Brings a file to the disk and gives it its final name, which is on the disk too when this
/// returns.
pub(crate) fn settle(from: &Path, to: &Path) -> Result<(), HubError> {
    File::open(from)
        .and_then(|file| file.sync_all())
        .map_err(|e| io_error("flush", from, e))?;
    Ok(ken_storage::rename(from, to)?)
}

/// The size of all files below `folder`; what vanishes meanwhile counts nothing.
pub(crate) fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => folder_bytes(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Copies one file of at most so many bytes, reporting it as a download.
pub(crate) fn copy_file(
    source: &Path,
    destination: &Path,
    label: &str,
    most: u64,
    watch: &mut Watch,
) -> Result<(), HubError> {
    let mut from = File::open(source).map_err(|e| io_error("open", source, e))?;
    let total = from.metadata().ok().map(|m| m.len());
    let too_large = || HubError::TooLarge {
        what: label.to_owned(),
        most,
        announced: total,
    };
    if total.is_some_and(|total| total > most) {
        return Err(too_large());
    }
    let mut to = File::create(destination).map_err(|e| io_error("create", destination, e))?;
    let mut chunk = vec![0u8; CHUNK_BYTES];
    let mut done = 0u64;
    loop {
        watch.step(Stage::Downloading, label, done, total)?;
        let n = read_some(&mut from, &mut chunk).map_err(|e| io_error("read", source, e))?;
        if n == 0 {
            return to.sync_all().map_err(|e| io_error("write", destination, e));
        }
        to.write_all(&chunk[..n])
            .map_err(|e| io_error("write", destination, e))?;
        done += n as u64;
        if done > most {
            return Err(too_large());
        }
    }
}
