//! A file that is read by position, so that the worst a change to it can do is make a read fail.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::file_bytes::checked_length;
use crate::plain::{open, open_linked};
use crate::{Blocks, HEAP_BYTES, StorageError};

/// A file that is read by position. Files up to [`HEAP_BYTES`] are kept in memory.
#[derive(Debug)]
pub struct ReadAt {
    path: PathBuf,
    contents: Contents,
    length: u64,
    /// The time of the last write when it was opened.
    modified: Option<SystemTime>,
    blocks: Option<Arc<Blocks>>,
}

#[derive(Debug)]
enum Contents {
    Heap(Vec<u8>),
    #[cfg(unix)]
    File(File),
}

impl ReadAt {
    /// Opens a file, which must have `expected_bytes` if given.
    ///
    /// # Errors
    /// If it cannot be opened or read; [`io::ErrorKind::InvalidData`] if it has another size.
    pub fn open(path: &Path, expected_bytes: Option<u64>) -> Result<Self, StorageError> {
        Self::of(open(path)?, path, expected_bytes)
    }

    /// As [`ReadAt::open`], for a file that links may lead to: [`open_linked`].
    ///
    /// # Errors
    /// As [`ReadAt::open`].
    pub fn open_linked(path: &Path) -> Result<Self, StorageError> {
        Self::of(open_linked(path)?, path, None)
    }

    fn of(mut file: File, path: &Path, expected_bytes: Option<u64>) -> Result<Self, StorageError> {
        let modified = modified(&file);
        let length = checked_length(&file, path, expected_bytes)?;
        let contents = if length <= HEAP_BYTES || !cfg!(unix) {
            let mut bytes = vec![0; length as usize];
            file.read_exact(&mut bytes)
                .map_err(StorageError::new("read", path))?;
            Contents::Heap(bytes)
        } else {
            #[cfg(unix)]
            {
                Contents::File(file)
            }
            #[cfg(not(unix))]
            unreachable!("files are read whole there")
        };
        Ok(Self {
            path: path.to_owned(),
            contents,
            length,
            modified,
            blocks: None,
        })
    }

    /// Adds checksums. Blocks are checked against them when they are first read; now, if the file is kept in memory.
    #[must_use]
    pub fn with_blocks(self, blocks: Option<Arc<Blocks>>) -> Self {
        if let (Contents::Heap(bytes), Some(blocks)) = (&self.contents, &blocks) {
            blocks.check(0, bytes);
        }
        Self { blocks, ..self }
    }

    /// Fails once a damaged block was read.
    fn sound(&self) -> Result<(), StorageError> {
        self.blocks.as_ref().map_or(Ok(()), |blocks| blocks.sound())
    }

    /// The range that a read of `range` covers: whole blocks, until these were checked.
    pub fn range_read(&self, range: Range<usize>) -> Range<usize> {
        let blocks = self.blocks.as_ref();
        let whole = blocks.and_then(|blocks| blocks.unchecked(&range));
        whole.unwrap_or(range)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length in bytes that the file had when it was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The open file, if it is not kept in memory.
    pub fn file(&self) -> Option<&File> {
        match &self.contents {
            Contents::Heap(_) => None,
            #[cfg(unix)]
            Contents::File(file) => Some(file),
        }
    }

    /// The bytes of a range; `None` if the range is not within the file.
    ///
    /// # Errors
    /// If they cannot be read; [`io::ErrorKind::UnexpectedEof`] if the file was truncated after it
    /// had been opened.
    pub fn bytes(&self, range: Range<u64>) -> Result<Option<Cow<'_, [u8]>>, StorageError> {
        self.sound()?;
        match &self.contents {
            Contents::Heap(bytes) => Ok(slice(bytes, &range).map(Cow::Borrowed)),
            #[cfg(unix)]
            Contents::File(_) => {
                let mut buffer = Vec::new();
                let is_within = self.bytes_with(range, &mut buffer)?.is_some();
                Ok(is_within.then_some(Cow::Owned(buffer)))
            }
        }
    }

    /// As [`ReadAt::bytes`], read into the caller's buffer if they are not kept in memory.
    pub fn bytes_with<'a>(
        &'a self,
        range: Range<u64>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<&'a [u8]>, StorageError> {
        self.sound()?;
        match &self.contents {
            Contents::Heap(bytes) => Ok(slice(bytes, &range)),
            #[cfg(unix)]
            Contents::File(_) if range.start <= range.end && range.end <= self.length => {
                buffer.resize((range.end - range.start) as usize, 0);
                self.read_into(range.start, buffer)?;
                Ok(Some(buffer))
            }
            #[cfg(unix)]
            Contents::File(_) => Ok(None),
        }
    }

    /// Fills `bytes` with the contents from byte `start` on.
    ///
    /// # Errors
    /// As [`ReadAt::bytes`]; [`io::ErrorKind::UnexpectedEof`] also if the file ends before that.
    pub fn read_into(&self, start: u64, bytes: &mut [u8]) -> Result<(), StorageError> {
        self.check_blocks(start, bytes.len())?;
        let filled = match &self.contents {
            Contents::Heap(all) => usize::try_from(start)
                .ok()
                .and_then(|start| all.get(start..start.checked_add(bytes.len())?))
                .map(|source| bytes.copy_from_slice(source))
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
            #[cfg(unix)]
            Contents::File(file) => {
                use std::os::unix::fs::FileExt;
                file.read_exact_at(bytes, start)
            }
        };
        filled
            .map_err(cut_short)
            .map_err(StorageError::new("read", &self.path))
    }

    /// Checks the blocks around a range, unless they were checked before.
    fn check_blocks(&self, start: u64, length: usize) -> Result<(), StorageError> {
        #[cfg(unix)]
        if let (Contents::File(file), Some(blocks)) = (&self.contents, &self.blocks)
            && let Ok(start) = usize::try_from(start)
            && let Some(whole) = blocks.unchecked(&(start..start.saturating_add(length)))
        {
            use std::os::unix::fs::FileExt;
            let mut read = vec![0; whole.len()];
            file.read_exact_at(&mut read, whole.start as u64)
                .map_err(cut_short)
                .map_err(StorageError::new("read", &self.path))?;
            blocks.check(whole.start, &read);
        }
        #[cfg(not(unix))]
        let _ = (start, length);
        self.sound()
    }

    /// Refuses a file that was written to since it was opened, since reads of it may mix two
    /// states. A file whose name now belongs to another one is unchanged.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it was written to.
    pub fn check_unchanged(&self) -> Result<(), StorageError> {
        let Some(file) = self.file() else {
            return Ok(());
        };
        let length = checked_length(file, &self.path, None)?;
        match length == self.length && modified(file) == self.modified {
            true => Ok(()),
            false => Err(StorageError::new("read", &self.path)(io::Error::new(
                io::ErrorKind::InvalidData,
                "it was changed while it was being read",
            ))),
        }
    }
}

fn slice<'a>(bytes: &'a [u8], range: &Range<u64>) -> Option<&'a [u8]> {
    bytes.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

fn modified(file: &File) -> Option<SystemTime> {
    file.metadata()
        .and_then(|metadata| metadata.modified())
        .ok()
}

/// Explains an unexpected end of file.
fn cut_short(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "it was cut short while it was being read")
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_files_are_read_alike() {
        let dir = tempfile::tempdir().unwrap();
        for length in [0, 100, HEAP_BYTES, HEAP_BYTES + 1000] {
            let path = dir.path().join(length.to_string());
            let written: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            std::fs::write(&path, &written).unwrap();
            let file = ReadAt::open(&path, Some(length)).unwrap();
            for (start, end) in [(0, length), (length / 2, length), (length, length)] {
                let bytes = file.bytes(start..end).unwrap().unwrap();
                assert_eq!(&*bytes, &written[start as usize..end as usize]);
                let mut buffer = vec![7; 3];
                let bytes = file.bytes_with(start..end, &mut buffer).unwrap().unwrap();
                assert_eq!(bytes, &written[start as usize..end as usize]);
            }
            assert!(file.bytes(0..length + 1).unwrap().is_none());
            assert!(file.bytes(u64::MAX - 1..u64::MAX).unwrap().is_none());
            let mapped = crate::Mapped::open(&path, Some(length)).unwrap();
            assert_eq!(&*mapped, &written[..]);
            assert_eq!(mapped.as_ptr() as usize % 8, 0);
        }
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "four").unwrap();
        let error = ReadAt::open(&path, Some(5)).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("4 bytes, not 5"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_is_cut_short_makes_a_read_fail() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![1; HEAP_BYTES as usize + 10]).unwrap();
        let file = ReadAt::open(&path, None).unwrap();
        file.check_unchanged().unwrap();
        std::fs::write(&path, "").unwrap();
        let error = file.bytes(0..100).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::UnexpectedEof);
        let error = file.check_unchanged().unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidData);
    }
}
