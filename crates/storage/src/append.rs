//! A file that grows by whole lines. A crash loses at most the lines of the last seconds.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::StorageError;
use crate::folder::{create_dir_all, sync_dir};
use crate::plain::{check_one_name, open_with, parent};

/// The first append this long after the last sync syncs the file.
const SYNC_EVERY: Duration = Duration::from_secs(2);

/// A file that this process alone appends to.
///
/// The system gets an append at once, so it survives the end of the process. It survives a power loss once it has been
/// synced, which happens every few seconds and when the file is dropped. After a power loss, parts that were not synced
/// may read as zeros; readers drop such lines ([`AppendFile::is_torn`]).
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
    /// The length in bytes without the leftovers of a failed append.
    length: u64,
    synced: Instant,
    is_dirty: bool,
}

impl AppendFile {
    /// Opens the file, or creates it with its folders, and syncs its name. It calls `lock` before
    /// it changes anything.
    ///
    /// # Errors
    /// If it cannot be created, opened or synced; a link, a pipe, or a file with other names, which would
    /// change with it; and any error of `lock`.
    pub fn open<E: From<StorageError>>(
        path: &Path,
        lock: impl FnOnce(&File) -> Result<(), E>,
    ) -> Result<Self, E> {
        create_dir_all(parent(path))?;
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = open_with(path, options)?;
        check_one_name(&file).map_err(StorageError::new("append to", path))?;
        lock(&file)?;
        let length = file
            .metadata()
            .map_err(StorageError::new("read", path))?
            .len();
        sync_dir(parent(path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            length,
            synced: Instant::now(),
            is_dirty: false,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The contents of the file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&mut self) -> Result<Vec<u8>, StorageError> {
        let mut bytes = Vec::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.read_to_end(&mut bytes))
            .map_err(StorageError::new("read", &self.path))?;
        Ok(bytes)
    }

    /// Whether a line of a text file lost its contents in a power loss: parts that the file system had not
    /// written read as zeros, which no text contains.
    pub fn is_torn(line: &[u8]) -> bool {
        line.contains(&0)
    }

    /// Truncates the file to `length` bytes.
    ///
    /// # Errors
    /// If it cannot be truncated.
    pub fn truncate(&mut self, length: u64) -> Result<(), StorageError> {
        self.length = length;
        self.is_dirty = true;
        self.cut().map_err(StorageError::new("write", &self.path))
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// If they cannot be written, e.g. for lack of space; the file then holds none of them. Or if earlier
    /// appends cannot be synced.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.is_dirty = true;
        if let Err(error) = self.file.write_all(bytes) {
            // If a part of the append cannot be removed now, the reader drops it: it is not a whole line.
            let _ = self.cut();
            return Err(StorageError::new("write", &self.path)(error));
        }
        self.length += bytes.len() as u64;
        match self.synced.elapsed() >= SYNC_EVERY {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Syncs all appends.
    ///
    /// # Errors
    /// If the system cannot.
    pub fn sync(&mut self) -> Result<(), StorageError> {
        if !self.is_dirty {
            return Ok(());
        }
        self.file
            .sync_data()
            .map_err(StorageError::new("sync", &self.path))?;
        self.synced = Instant::now();
        self.is_dirty = false;
        Ok(())
    }

    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length)).map(|_| ())
    }
}

impl Drop for AppendFile {
    fn drop(&mut self) {
        // Callers that need the error call `sync` first.
        let _ = self.sync();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> AppendFile {
        AppendFile::open::<StorageError>(path, |_| Ok(())).unwrap()
    }

    #[test]
    fn what_is_appended_is_read_and_can_be_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/folder/lines");
        let mut file = open(&path);
        file.append(b"one\n").unwrap();
        file.append(b"tw").unwrap();
        drop(file);
        let mut file = open(&path);
        assert_eq!(file.read().unwrap(), b"one\ntw");
        file.truncate(4).unwrap();
        file.append(b"three\n").unwrap();
        file.sync().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\nthree\n");
    }

    #[test]
    fn a_line_of_zeros_is_torn() {
        assert!(AppendFile::is_torn(b"{\"id\":\0\0\0\0"));
        assert!(!AppendFile::is_torn("{\"id\":\"日\"}".as_bytes()));
    }
}
