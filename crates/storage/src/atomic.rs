//! A file that appears whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::StorageError;
use crate::folder::{parent, sync_dir};

/// A file that is being written beside its place, under the same name with `.tmp` at its end.
///
/// Until it is renamed, what stood in its place stands there still. Dropped before that, it goes.
/// What a killed process left is overwritten by the next one; two processes that write the same
/// file take turns, and the last one wins.
#[derive(Debug)]
pub struct AtomicFile {
    /// `None` once it has been renamed.
    file: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Begins to write the file for `path`, whose folder must exist.
    ///
    /// # Errors
    /// Where the file beside it cannot be created.
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        let file = open_locked(&temporary).map_err(StorageError::new("create", &temporary))?;
        Ok(Self {
            file: Some(BufWriter::new(file)),
            temporary,
            path: path.to_owned(),
        })
    }

    /// Brings the contents to the disk, so that [`AtomicFile::rename`] has nothing left to wait for.
    ///
    /// # Errors
    /// Where it cannot be written or synced.
    pub fn sync(&mut self) -> Result<(), StorageError> {
        match &mut self.file {
            Some(writer) => writer
                .flush()
                .and_then(|()| writer.get_ref().sync_all())
                .map_err(StorageError::new("write", &self.temporary)),
            None => Ok(()),
        }
    }

    /// Brings the contents to the disk and gives the file its name. The name itself is not on the
    /// disk before the folder is synced; [`AtomicFile::commit`] does that too.
    ///
    /// # Errors
    /// Where it cannot be written, synced or renamed. What stood there before is untouched.
    pub fn rename(mut self) -> Result<(), StorageError> {
        let Some(mut writer) = self.file.take() else {
            return Ok(());
        };
        let renamed = writer
            .flush()
            .and_then(|()| writer.get_ref().sync_all())
            .map_err(StorageError::new("write", &self.temporary))
            .and_then(|()| {
                fs::rename(&self.temporary, &self.path)
                    .map_err(StorageError::new("replace", &self.path))
            });
        if renamed.is_err() {
            // The file is still locked, so this removes nobody else's.
            let _ = fs::remove_file(&self.temporary);
        }
        renamed
    }

    /// As [`AtomicFile::rename`], and brings the name to the disk.
    ///
    /// # Errors
    /// As there; or where the folder cannot be synced: then the file is in its place, but may be
    /// gone after a power loss.
    pub fn commit(self) -> Result<(), StorageError> {
        let folder = parent(&self.path).to_owned();
        self.rename()?;
        sync_dir(&folder)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = fs::remove_file(&self.temporary);
            // What is buffered is not wanted any more.
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

/// Puts `contents` at `path`, whole and on the disk with its name when this returns.
///
/// # Errors
/// As [`AtomicFile::commit`].
pub fn replace(path: &Path, contents: &[u8]) -> Result<(), StorageError> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(contents)
        .map_err(StorageError::new("write", path))?;
    file.commit()
}

/// Opens the file beside, empty, and waits for whoever writes to it already.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        // Where the file system knows no locks, writers do not see each other.
        let locked = file.lock().is_ok();
        // The one who had it may have renamed or removed it.
        if locked && !is_at(&file, path)? {
            continue;
        }
        // What is no file, such as a device, has no length to be cut.
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
    match fs::metadata(path) {
        Ok(found) => Ok(found.dev() == own.dev() && found.ino() == own.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere an open file can be neither renamed nor removed.
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
                        let found = fs::read(path).unwrap();
                        assert_eq!(found.len(), 10_000);
                        assert!(found.iter().all(|byte| byte == &found[0]));
                    }
                });
            }
        });
        assert_eq!(crate::names(dir.path()).unwrap(), ["file"]);
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
