//! Joins studies of other models or scales that several machines measured: their cells side by side in a new folder.
//! `parts` joins those of other questions.

use std::path::{Path, PathBuf};

use ken_eval::part::is_part;
use ken_storage::{StorageError, create_dir_all, replace};

use super::condition::Cell;
use super::error::ScalingError;
use super::evidence::evidence_file;
use super::manifest::Manifest;
use super::records::signals_file;

/// Joins the folders of some studies into `out`, which may already be a study. Returns the joined manifest and the
/// cells that have no records in any folder.
///
/// # Errors
/// Studies of different grids, cells that two folders have and that differ, files that cannot be read or written.
pub fn join(parts: &[PathBuf], out: &Path) -> Result<(Manifest, Vec<Cell>), ScalingError> {
    let mut whole = Manifest::read_any(out)?;
    for part in parts {
        if is_part(part) {
            let path = part.clone();
            return Err(ScalingError::PartOfStudy { path });
        }
        let manifest = Manifest::read(part)?;
        whole = Some(match whole {
            Some(whole) => whole.joined(manifest)?,
            None => manifest,
        });
    }
    let Some(whole) = whole else {
        return Err(ScalingError::NotAStudy {
            path: out.to_owned(),
        });
    };
    let mut missing = Vec::new();
    for cell in whole.cells() {
        let copied = copy(parts, out, &cell.file(), &cell.to_string())?;
        let evidence = evidence_file(&cell.dataset, &cell.condition);
        copy_first(parts, out, &evidence)?;
        let signals = signals_file(&cell.dataset, &cell.model);
        copy_first(parts, out, &signals)?;
        if !copied {
            missing.push(cell);
        }
    }
    whole.write(out)?;
    Ok((whole, missing))
}

/// Copies a file of records from the part that has it; if several do, they must be equal, or the longest must begin
/// with all others. Returns whether any part has it.
fn copy(parts: &[PathBuf], out: &Path, file: &Path, cell: &str) -> Result<bool, ScalingError> {
    let mut best: Option<(PathBuf, Vec<u8>)> = None;
    for part in std::iter::once(out).chain(parts.iter().map(PathBuf::as_path)) {
        let path = part.join(file);
        if !path.exists() {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(StorageError::new("read", &path))?;
        best = Some(match best {
            Some((owner, known)) if known.starts_with(&bytes) => (owner, known),
            Some((_, known)) if bytes.starts_with(&known) => (part.to_owned(), bytes),
            Some((owner, _)) => {
                let (cell, other) = (cell.to_owned(), part.to_owned());
                return Err(ScalingError::CellsOverlap {
                    cell,
                    one: owner,
                    other,
                });
            }
            None => (part.to_owned(), bytes),
        });
    }
    let Some((part, bytes)) = best else {
        return Ok(false);
    };
    if part != out {
        write(out, file, &bytes)?;
    }
    Ok(true)
}

/// Copies a file from the first part that has it, unless it exists.
fn copy_first(parts: &[PathBuf], out: &Path, file: &Path) -> Result<(), ScalingError> {
    let mut all = parts.iter().map(|part| part.join(file));
    match all.find(|path| path.exists()) {
        Some(path) if !out.join(file).exists() => {
            let bytes = std::fs::read(&path).map_err(StorageError::new("read", &path))?;
            write(out, file, &bytes)
        }
        _ => Ok(()),
    }
}

fn write(out: &Path, file: &Path, bytes: &[u8]) -> Result<(), ScalingError> {
    let target = out.join(file);
    create_dir_all(target.parent().unwrap_or(out))?;
    Ok(replace(&target, bytes)?)
}
