//! A file that is read piece by piece, so that no change to it can do more than make a read fail.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::mapped::checked_length;
use crate::{HEAP_BYTES, StorageError};

/// A file whose pieces are read by their position. Files up to [`HEAP_BYTES`] are kept in memory.
#[derive(Debug)]
pub struct ReadAt {
    path: PathBuf,
    contents: Contents,
    length: u64,
    /// When it was last written to, as of its opening.
    modified: Option<SystemTime>,
}

#[derive(Debug)]
enum Contents {
    Heap(Vec<u8>),
    #[cfg(unix)]
    File(File),
}

impl ReadAt {
    /// Opens a file, which must have `expected_bytes` where that is given.
    ///
    /// # Errors
    /// Where it cannot be opened or read; [`io::ErrorKind::InvalidData`] where it has another size.
    pub fn open(path: &Path, expected_bytes: Option<u64>) -> Result<Self, StorageError> {
        let mut file = File::open(path).map_err(StorageError::new("open", path))?;
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
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length in bytes that the file had when it was opened.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The open file, where it is not kept in memory.
    #[must_use]
    pub fn file(&self) -> Option<&File> {
        match &self.contents {
            Contents::Heap(_) => None,
            #[cfg(unix)]
            Contents::File(file) => Some(file),
        }
    }

    /// The bytes of a range; `None` where the range is not within the file.
    ///
    /// # Errors
    /// Where they cannot be read; [`io::ErrorKind::UnexpectedEof`] where the file was cut short
    /// after it had been opened.
    pub fn bytes(&self, range: Range<u64>) -> Result<Option<Cow<'_, [u8]>>, StorageError> {
        let mut read = Vec::new();
        let kept = self.bytes_in(range, &mut read)?;
        Ok(match kept {
            Some(Piece::Kept(bytes)) => Some(Cow::Borrowed(bytes)),
            #[cfg(unix)]
            Some(Piece::Read) => Some(Cow::Owned(read)),
            None => None,
        })
    }

    /// As [`ReadAt::bytes`], read into room of the caller's where they are not kept in memory.
    ///
    /// # Errors
    /// As there.
    pub fn bytes_with<'a>(
        &'a self,
        range: Range<u64>,
        room: &'a mut Vec<u8>,
    ) -> Result<Option<&'a [u8]>, StorageError> {
        Ok(match self.bytes_in(range, room)? {
            Some(Piece::Kept(bytes)) => Some(bytes),
            #[cfg(unix)]
            Some(Piece::Read) => Some(room),
            None => None,
        })
    }

    /// Fills `bytes` with what stands at a position.
    ///
    /// # Errors
    /// As [`ReadAt::bytes`]; [`io::ErrorKind::UnexpectedEof`] where the file ends before that, too.
    pub fn read_into(&self, start: u64, bytes: &mut [u8]) -> Result<(), StorageError> {
        let filled = match &self.contents {
            Contents::Heap(all) => usize::try_from(start)
                .ok()
                .and_then(|start| all.get(start..start.checked_add(bytes.len())?))
                .map(|found| bytes.copy_from_slice(found))
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

    /// Refuses a file that was written to since it was opened, so that what was read of it may
    /// belong to two states. One that was replaced by another under its name is unchanged.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] where it was.
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

    fn bytes_in(
        &self,
        range: Range<u64>,
        room: &mut Vec<u8>,
    ) -> Result<Option<Piece<'_>>, StorageError> {
        if range.start > range.end || range.end > self.length {
            return Ok(None);
        }
        match &self.contents {
            Contents::Heap(bytes) => {
                let bytes = bytes.get(range.start as usize..range.end as usize);
                Ok(bytes.map(Piece::Kept))
            }
            #[cfg(unix)]
            Contents::File(file) => {
                use std::os::unix::fs::FileExt;
                room.resize((range.end - range.start) as usize, 0);
                file.read_exact_at(room, range.start)
                    .map_err(cut_short)
                    .map_err(StorageError::new("read", &self.path))?;
                Ok(Some(Piece::Read))
            }
        }
    }
}

fn modified(file: &File) -> Option<SystemTime> {
    file.metadata().and_then(|found| found.modified()).ok()
}

/// Says in words why a file ends before it should.
fn cut_short(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "it was cut short while it was being read")
        }
        _ => error,
    }
}

/// Where the bytes of a range are.
enum Piece<'a> {
    /// In memory.
    Kept(&'a [u8]),
    /// In the room that was given.
    #[cfg(unix)]
    Read,
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
                let found = file.bytes(start..end).unwrap().unwrap();
                assert_eq!(&*found, &written[start as usize..end as usize]);
                let mut room = vec![7; 3];
                let found = file.bytes_with(start..end, &mut room).unwrap().unwrap();
                assert_eq!(found, &written[start as usize..end as usize]);
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
