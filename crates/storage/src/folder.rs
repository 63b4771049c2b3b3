//! Folders whose entries survive a crash.
//!
//! A file's name is an entry of its folder. Syncing the file syncs its contents; only syncing the
//! folder syncs the name.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::StorageError;
use crate::plain::{check_plain, if_any, open, parent};

/// Creates a folder and its missing parents, and syncs each new entry.
///
/// # Errors
/// If a folder cannot be created or synced.
pub fn create_dir_all(dir: &Path) -> Result<(), StorageError> {
    create_by(dir, &fs::DirBuilder::new())
}

/// As [`create_dir_all`]; only this user may enter the folders that it creates.
///
/// # Errors
/// As [`create_dir_all`].
pub fn create_private_dir_all(dir: &Path) -> Result<(), StorageError> {
    #[allow(unused_mut, reason = "other systems have no modes")]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    create_by(dir, &builder)
}

/// As [`create_dir_all`], but refuses a link in the place of `dir` or, if that is missing, of its nearest parent that
/// exists.
///
/// # Errors
/// As [`create_dir_all`]; or if there is a link or no folder.
pub fn create_plain_dir_all(dir: &Path) -> Result<(), StorageError> {
    let nearest = dir.ancestors().find(|path| path.symlink_metadata().is_ok());
    nearest.map_or(Ok(()), check_plain)?;
    create_dir_all(dir)
}

fn create_by(dir: &Path, builder: &fs::DirBuilder) -> Result<(), StorageError> {
    if dir.as_os_str().is_empty() || is_dir(dir)? {
        return Ok(());
    }
    if let Some(parent) = dir.parent() {
        create_by(parent, builder)?;
    }
    match builder.create(dir) {
        Ok(()) => {}
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_dir(dir)? => {}
        Err(error) => return Err(StorageError::new("create", dir)(error)),
    }
    sync_dir(parent(dir))
}

/// Whether there is a folder at `path`, or a link to one. An error is not "no": a folder that cannot be read
/// just now must not count as missing.
///
/// # Errors
/// If the system does not say.
pub fn is_dir(path: &Path) -> Result<bool, StorageError> {
    let found = if_any(fs::metadata(path), "look at", path)?;
    Ok(found.is_some_and(|found| found.is_dir()))
}

/// Syncs a folder's list of entries. Only Unix needs and allows it.
///
/// # Errors
/// If it cannot be opened or synced.
pub fn sync_dir(dir: &Path) -> Result<(), StorageError> {
    if cfg!(unix) {
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(StorageError::new("sync", dir))?;
    }
    Ok(())
}

/// Syncs every file and folder below `dir`, and `dir` itself, and returns the files, sorted.
///
/// # Errors
/// If one of them cannot be listed, opened or synced, or is no plain file.
pub fn sync_tree(dir: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(StorageError::new("list", &folder))?;
        for entry in entries {
            let entry = entry.map_err(StorageError::new("list", &folder))?;
            let path = entry.path();
            let file_type = entry.file_type();
            if file_type
                .map_err(StorageError::new("look at", &path))?
                .is_dir()
            {
                folders.push(path);
            } else {
                let synced = open(&path)?.sync_all();
                synced.map_err(StorageError::new("sync", &path))?;
                files.push(path);
            }
        }
        sync_dir(&folder)?;
    }
    files.sort_unstable();
    Ok(files)
}

/// Renames a file or folder whose contents are already synced, and syncs the new name.
///
/// # Errors
/// If it cannot be renamed, or a folder cannot be synced.
pub fn rename(from: &Path, to: &Path) -> Result<(), StorageError> {
    fs::rename(from, to).map_err(StorageError::new("create", to))?;
    sync_dir(parent(to))?;
    match parent(from) == parent(to) {
        true => Ok(()),
        false => sync_dir(parent(from)),
    }
}

/// Removes a file or a whole folder, if it exists. The removal is not synced, so the caller must
/// cope with a file that reappears after a crash.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(path: &Path) -> Result<(), StorageError> {
    // A link to a folder is removed, not what it points to.
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StorageError::new("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The names in a folder, sorted.
///
/// # Errors
/// If it cannot be listed.
pub fn names(folder: &Path) -> Result<Vec<String>, StorageError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(StorageError::new("list", folder))? {
        let entry = entry.map_err(StorageError::new("list", folder))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}
