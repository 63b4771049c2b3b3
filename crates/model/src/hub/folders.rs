//! The file system's part of the cache: folders made, deleted, measured, files copied and flushed.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::digest::CHUNK_BYTES;
use super::error::{HubError, io_error};
use super::progress::{Stage, Watch};

/// Creates a folder and its parents.
pub(super) fn create_folder(path: &Path) -> Result<(), HubError> {
    std::fs::create_dir_all(path).map_err(|e| io_error("create", path, e))
}

/// Deletes a folder with all it holds; it need not exist.
pub(super) fn remove_folder(path: &Path) -> Result<(), HubError> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(io_error("remove", path, e)),
        _ => Ok(()),
    }
}

/// Flushes a file or folder to the disk. Folders cannot be flushed everywhere; there the rename
/// is still atomic, only later on the disk.
pub(super) fn sync(path: &Path) -> Result<(), HubError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(_) if path.is_dir() => return Ok(()),
        Err(e) => return Err(io_error("open", path, e)),
    };
    match file.sync_all() {
        Err(e) if !path.is_dir() => Err(io_error("flush", path, e)),
        _ => Ok(()),
    }
}

/// The size of all files below `folder`; what vanishes meanwhile counts nothing.
pub(super) fn folder_bytes(folder: &Path) -> u64 {
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

/// Copies one file, reporting it as a download.
pub(super) fn copy_file(
    source: &Path,
    destination: &Path,
    label: &str,
    watch: &mut Watch,
) -> Result<(), HubError> {
    let mut from = File::open(source).map_err(|e| io_error("open", source, e))?;
    let total = from.metadata().ok().map(|m| m.len());
    let mut to = File::create(destination).map_err(|e| io_error("create", destination, e))?;
    let mut chunk = vec![0u8; CHUNK_BYTES];
    let mut done = 0u64;
    loop {
        watch.step(Stage::Downloading, label, done, total)?;
        let n = from
            .read(&mut chunk)
            .map_err(|e| io_error("read", source, e))?;
        if n == 0 {
            return to.sync_all().map_err(|e| io_error("write", destination, e));
        }
        to.write_all(&chunk[..n])
            .map_err(|e| io_error("write", destination, e))?;
        done += n as u64;
    }
}
