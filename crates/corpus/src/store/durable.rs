//! Writes that survive a crash: a file appears whole or not at all, and is on the disk before
//! the next step begins.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::CorpusError;

/// Puts `contents` at `path` in one step, replacing what was there. The rename is the commit;
/// the folder itself still has to be brought to the disk with [`sync_dir`].
pub(super) fn replace_file(path: &Path, contents: &[u8]) -> Result<(), CorpusError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let mut file = File::create(&temporary).map_err(CorpusError::io("create", &temporary))?;
    file.write_all(contents)
        .and_then(|()| file.sync_all())
        .map_err(CorpusError::io("write", &temporary))?;
    fs::rename(&temporary, path).map_err(CorpusError::io("replace", path))
}

/// Brings a folder's list of names to the disk. Only Unix needs and allows it.
///
/// # Errors
/// [`CorpusError::Io`].
pub fn sync_dir(dir: &Path) -> Result<(), CorpusError> {
    if cfg!(unix) {
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(CorpusError::io("sync", dir))?;
    }
    Ok(())
}

/// Brings every file and folder below `dir` to the disk and returns the files, sorted.
///
/// # Errors
/// [`CorpusError::Io`].
pub fn sync_tree(dir: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(CorpusError::io("list", &folder))?;
        for entry in entries {
            let path = entry.map_err(CorpusError::io("list", &folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                File::open(&path)
                    .and_then(|file| file.sync_all())
                    .map_err(CorpusError::io("sync", &path))?;
                files.push(path);
            }
        }
        sync_dir(&folder)?;
    }
    files.sort_unstable();
    Ok(files)
}

/// Removes a file or a whole folder; that it is not there is fine.
pub(super) fn remove(path: &Path) -> Result<(), CorpusError> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(CorpusError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The names in a folder, sorted.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, CorpusError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(CorpusError::io("list", folder))? {
        let entry = entry.map_err(CorpusError::io("list", folder))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}
