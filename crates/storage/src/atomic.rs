//! A file that appears whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::StorageError;
use crate::folder::{remove, sync_dir};
use crate::not_plain::NotPlain;
use crate::plain::{check_one_name, open_with, parent};

/// A file that is being written beside its final path, under the same name with `.tmp` appended.
///
/// It replaces what is at either path, even a link or a pipe, and never writes through it; only
/// [`AtomicFile::output`] writes to a pipe or a device.
///
/// Until the new file is renamed, the previous one stays in place. Dropping it before that removes it. The next writer
/// overwrites the leftovers of a killed process; processes that write the same file take turns, and the last one wins.
#[derive(Debug)]
pub struct AtomicFile {
    /// `None` only during drop.
    file: Option<BufWriter<File>>,
    /// `None` for a device, and after the renaming.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl AtomicFile {
    /// Starts writing the file for `path`, whose folder must exist.
    ///
    /// # Errors
    /// If the temporary file cannot be created.
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        let file = open_locked(&temporary).map_err(StorageError::new("create", &temporary))?;
        Ok(Self {
            file: Some(BufWriter::new(file)),
            temporary: Some(temporary),
            path: path.to_owned(),
        })
    }

    /// Starts writing an output that a person requested at `path`. A pipe, a terminal or another device there is
    /// written to, since it cannot be replaced.
    ///
    /// # Errors
    /// As [`AtomicFile::create`]; or if the device cannot be opened.
    pub fn output(path: &Path) -> Result<Self, StorageError> {
        if !is_device(path) {
            return Self::create(path);
        }
        let file = File::options().write(true).open(path);
        Ok(Self {
            file: Some(BufWriter::new(
                file.map_err(StorageError::new("open", path))?,
            )),
            temporary: None,
            path: path.to_owned(),
        })
    }

    /// Syncs the contents, so that [`AtomicFile::rename`] has nothing left to wait for.
    ///
    /// # Errors
    /// If it cannot be written or synced.
    pub fn sync(&mut self) -> Result<(), StorageError> {
        let Some(writer) = &mut self.file else {
            return Ok(());
        };
        match &self.temporary {
            Some(temporary) => writer
                .flush()
                .and_then(|()| writer.get_ref().sync_all())
                .map_err(StorageError::new("write", temporary)),
            // A device cannot be synced.
            None => writer
                .flush()
                .map_err(StorageError::new("write", &self.path)),
        }
    }

    /// Syncs the contents and gives the file its name. The name itself is on the disk only once
    /// the folder is synced, as [`AtomicFile::commit`] does.
    ///
    /// # Errors
    /// If it cannot be written, synced or renamed. The previous file is then untouched.
    pub fn rename(mut self) -> Result<(), StorageError> {
        self.sync()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path).map_err(StorageError::new("replace", &self.path))?;
            // Nothing is left to remove on drop.
            self.temporary = None;
        }
        Ok(())
    }

    /// As [`AtomicFile::rename`], and syncs the name.
    ///
    /// # Errors
    /// As there; or if the folder cannot be synced: then the file is in place, but may be lost in a
    /// power loss.
    pub fn commit(self) -> Result<(), StorageError> {
        let folder = self.temporary.is_some().then(|| parent(&self.path));
        let folder = folder.map(Path::to_owned);
        self.rename()?;
        folder.map_or(Ok(()), |folder| sync_dir(&folder))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            if let Some(temporary) = &self.temporary {
                // It is still locked, so this removes no other writer's file.
                let _ = fs::remove_file(temporary);
            }
            // The buffer is discarded, not written.
            let (_file, _buffered) = file.into_parts();
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Some(file) => file.seek(position),
            None => Ok(0),
        }
    }
}

/// Replaces the file at `path` by `contents`, synced with its name when this returns.
///
/// # Errors
/// As [`AtomicFile::commit`].
pub fn replace(path: &Path, contents: &[u8]) -> Result<(), StorageError> {
    finish(AtomicFile::create(path)?, contents)
}

/// As [`replace`], for an output that a person requested at `path`: [`AtomicFile::output`].
///
/// # Errors
/// As [`AtomicFile::commit`].
pub fn output(path: &Path, contents: &[u8]) -> Result<(), StorageError> {
    finish(AtomicFile::output(path)?, contents)
}

/// As [`replace`], for a secret: only the owner may read it, and its permissions are no looser than before.
///
/// # Errors
/// As [`AtomicFile::commit`].
pub fn replace_private(path: &Path, contents: &[u8]) -> Result<(), StorageError> {
    let file = AtomicFile::create(path)?;
    #[cfg(unix)]
    if let Some(writer) = &file.file {
        use std::os::unix::fs::PermissionsExt;
        let before = fs::symlink_metadata(path).ok();
        let before = before.filter(fs::Metadata::is_file);
        let mode = before.map_or(0o600, |before| before.permissions().mode() & 0o600);
        let set = writer
            .get_ref()
            .set_permissions(fs::Permissions::from_mode(mode));
        set.map_err(StorageError::new("protect", path))?;
    }
    finish(file, contents)
}

fn finish(mut file: AtomicFile, contents: &[u8]) -> Result<(), StorageError> {
    let path = file.path.clone();
    file.write_all(contents)
        .map_err(StorageError::new("write", &path))?;
    file.commit()
}

/// Whether `path` is neither a file nor a folder.
fn is_device(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Opens the temporary file, empty, after waiting for any other writer of it. No writer leaves a link, a pipe, or a file
/// with other names, so these are replaced.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let mut options = File::options();
        let options = options.create(true).truncate(false).write(true);
        let opened = open_with(path, options).map_err(|error| error.source);
        let own = opened.and_then(|file| check_one_name(&file).map(|()| file));
        let file = match own {
            Err(error) if NotPlain::in_error(&error).is_some() => {
                remove(path).map_err(|error| error.source)?;
                continue;
            }
            own => own?,
        };
        // On file systems without locks, writers do not see each other.
        let locked = file.lock().is_ok();
        // The previous holder may have renamed or removed it.
        if locked && !is_at(&file, path)? {
            continue;
        }
        if file.metadata()?.len() > 0 {
            file.set_len(0)?;
        }
        return Ok(file);
    }
}

/// Whether `path` still names the open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(found.dev() == own.dev() && found.ino() == own.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// On other systems an open file can be neither renamed nor removed.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let mut unfinished = AtomicFile::create(&path).unwrap();
        unfinished.write_all(b"three").unwrap();
        drop(unfinished);
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(crate::names(dir.path()).unwrap(), ["file"]);
    }

    #[test]
    fn leftovers_of_a_killed_writer_are_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(dir.path().join("file.tmp"), "longer than what comes").unwrap();
        replace(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[test]
    fn writers_of_one_file_take_turns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::thread::scope(|scope| {
            for writer in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..50 {
                        replace(path, &vec![writer; 10_000]).unwrap();
                        let contents = fs::read(path).unwrap();
                        assert_eq!(contents.len(), 10_000);
                        assert!(contents.iter().all(|byte| byte == &contents[0]));
                    }
                });
            }
        });
        assert_eq!(crate::names(dir.path()).unwrap(), ["file"]);
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_written_to_and_stays_one() {
        output(Path::new("/dev/null"), b"text").unwrap();
        assert!(is_device(Path::new("/dev/null")));
        assert!(!Path::new("/dev/null.tmp").exists());
    }

    #[test]
    fn an_error_names_the_file_and_costs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        fs::create_dir_all(path.join("full")).unwrap();
        let error = replace(&path, b"text").unwrap_err();
        assert_eq!(error.action, "replace");
        assert_eq!(error.path, path);
        assert_eq!(crate::names(dir.path()).unwrap(), ["folder"]);
    }
}
