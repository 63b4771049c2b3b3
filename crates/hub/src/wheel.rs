//! Extracting one file or folder from a wheel, which is a zip archive. It neither downloads nor
//! installs.

use std::io::{Read, Write};
use std::path::Path;

use ken_storage::create_dir_all;
use sha2::{Digest, Sha256};

use crate::archive;
use crate::error::{HubError, io_error};
use crate::near_names::nearest;
use crate::progress::{Stage, Watch};
use crate::record::FileRecord;
use crate::transfer::Transfer;

/// The most times that an entry may shrink. Weights do not compress this well; such an entry is a zip bomb.
const MOST_RATIO: u64 = 100;
/// Entries up to this many bytes may have any ratio.
const SMALL_BYTES: u64 = 64 << 20;

/// The extracted files.
pub(crate) struct Unpacked {
    /// The file's name if the path names a file, `None` if it names a folder.
    pub(crate) file: Option<String>,
    /// All files, relative to the target folder, sorted by path.
    pub(crate) files: Vec<FileRecord>,
}

/// Extracts the file or folder `path` of `archive` into the folder `target`: a file under its own
/// name, a folder's content directly. In total it may have at most `most` bytes. The caller must sync
/// the folder.
pub(crate) fn unpack(
    archive: &Path,
    path: &str,
    target: &Path,
    most: u64,
    watch: &mut Watch,
) -> Result<Unpacked, HubError> {
    let container = archive.file_name().unwrap_or_default();
    let container = container.to_string_lossy().into_owned();
    let broken = |detail: String| archive::broken(archive, detail);
    let mut zip = archive::open(archive)?;
    let names: Vec<String> = zip.file_names().map(str::to_owned).collect();
    if let Some(entry) = names.iter().find(|name| is_unsafe(name)) {
        return Err(HubError::UnsafeEntry {
            container,
            entry: entry.clone(),
        });
    }
    let selected = selected_entries(&names, path);
    if selected.is_empty() {
        let files: Vec<String> = names.into_iter().filter(|n| !n.ends_with('/')).collect();
        return Err(HubError::FileNotFound {
            container,
            path: path.to_owned(),
            near: nearest(path, &files, 5),
        });
    }
    let is_file = selected.len() == 1 && selected[0].0 == path;
    let mut files = Vec::with_capacity(selected.len());
    let mut left = most;
    for (name, relative) in selected {
        let entry = zip.by_name(&name).map_err(|e| broken(e.to_string()))?;
        if entry.is_symlink() {
            return Err(HubError::UnsafeEntry {
                container,
                entry: name,
            });
        }
        let total = entry.size();
        let too_large = || HubError::too_large(format!("{path} in {container}"), most);
        left = left.checked_sub(total).ok_or_else(too_large)?;
        if total > SMALL_BYTES && total / MOST_RATIO > entry.compressed_size() {
            return Err(broken(format!(
                "{relative} would unpack to more than {MOST_RATIO} times its size"
            )));
        }
        files.push(write_entry(entry, total, relative, target, archive, watch)?);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Unpacked {
        file: is_file.then(|| files[0].path.clone()),
        files,
    })
}

/// Writes an entry of `archive`, of `total` bytes, to the path `relative` in the folder `target`.
fn write_entry(
    entry: impl Read,
    total: u64,
    relative: String,
    target: &Path,
    archive: &Path,
    watch: &mut Watch,
) -> Result<FileRecord, HubError> {
    let broken = |detail: String| archive::broken(archive, detail);
    let file = target.join(&relative);
    if let Some(parent) = file.parent() {
        create_dir_all(parent)?;
    }
    let mut out = ken_storage::create(&file)?;
    let mut hasher = Sha256::new();
    let transfer = Transfer::whole(Stage::Unpacking, &relative, Some(total), u64::MAX);
    // The archive checks each entry's CRC as it is read.
    let bytes = transfer.run(&mut entry.take(total.saturating_add(1)), watch, |chunk| {
        let chunk = chunk.map_err(|e| broken(format!("{relative}: {e}")))?;
        hasher.update(chunk);
        out.write_all(chunk)
            .map_err(|e| io_error("write", &file, e))
    })?;
    if bytes > total {
        return Err(broken(format!(
            "{relative} exceeds its stated {total} bytes"
        )));
    }
    Ok(FileRecord {
        path: relative,
        bytes,
        sha256: format!("{:x}", hasher.finalize()),
    })
}

/// The entries that `path` names, each with its path relative to the target folder.
fn selected_entries(names: &[String], path: &str) -> Vec<(String, String)> {
    if names.iter().any(|name| name == path) {
        let own_name = path.rsplit('/').next().unwrap_or(path);
        return vec![(path.to_owned(), own_name.to_owned())];
    }
    let folder = format!("{path}/");
    let files = names.iter().filter(|name| !name.ends_with('/'));
    files
        .filter_map(|name| Some((name.clone(), name.strip_prefix(&folder)?.to_owned())))
        .collect()
}

/// Whether an entry's name could lead outside of the target folder.
pub(crate) fn is_unsafe(name: &str) -> bool {
    let trimmed = name.strip_suffix('/').unwrap_or(name);
    let mut parts = trimmed.split('/');
    trimmed.contains(['\\', '\0', ':']) || parts.any(|part| matches!(part, "" | "." | ".."))
}
