//! A file's bytes as one slice: a small file in memory, a large one mapped.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::plain::open;
use crate::{HEAP_BYTES, StorageError};

/// The bytes of a file that must not change while it is open.
///
/// Files up to [`HEAP_BYTES`] are read into memory, so that later changes do no harm. Larger ones
/// are mapped. Either way the first byte is aligned to eight bytes, so that numbers can be read in
/// place. If another program truncates a mapped file, reading the lost part ends the process with
/// SIGBUS: the caller holds the lock that keeps ken itself from doing so, and has the size checked
/// when it opens.
#[derive(Debug)]
pub struct Mapped(Contents);

#[derive(Debug)]
enum Contents {
    /// The bytes, padded to whole words, and how many of them are the file's.
    Heap(Vec<u64>, usize),
    Mapped(Mmap),
}

impl Mapped {
    /// Opens a file, which must have `expected_bytes` if given.
    ///
    /// # Errors
    /// If it cannot be opened, read or mapped; [`io::ErrorKind::InvalidData`] if it has another
    /// size.
    pub fn open(path: &Path, expected_bytes: Option<u64>) -> Result<Self, StorageError> {
        let mut file = open(path)?;
        let length = checked_length(&file, path, expected_bytes)?;
        if length <= HEAP_BYTES {
            let length = length as usize;
            let mut words = vec![0u64; length.div_ceil(size_of::<u64>())];
            file.read_exact(&mut bytemuck::cast_slice_mut(&mut words)[..length])
                .map_err(StorageError::new("read", path))?;
            return Ok(Self(Contents::Heap(words, length)));
        }
        // SAFETY: ken never writes to a file under its final name, only removes it, which leaves a
        // mapping valid; the size was checked; every access is bounds-checked. Another program that
        // changes the file can make the bytes wrong, or end the process, as documented above.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) };
        map.map(|map| Self(Contents::Mapped(map)))
            .map_err(StorageError::new("map", path))
    }

    /// The little-endian number at a byte; `None` past the end.
    #[must_use]
    pub fn u64_at(&self, byte: usize) -> Option<u64> {
        let end = byte.checked_add(8)?;
        Some(u64::from_le_bytes(self.get(byte..end)?.try_into().ok()?))
    }

    /// The little-endian number at a byte; `None` past the end.
    #[must_use]
    pub fn u32_at(&self, byte: usize) -> Option<u32> {
        let end = byte.checked_add(4)?;
        Some(u32::from_le_bytes(self.get(byte..end)?.try_into().ok()?))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Contents::Heap(words, length) => &bytemuck::cast_slice(words)[..*length],
            Contents::Mapped(map) => map,
        }
    }
}

/// The length of an open file, checked against what is expected.
pub(crate) fn checked_length(
    file: &File,
    path: &Path,
    expected_bytes: Option<u64>,
) -> Result<u64, StorageError> {
    let length = file
        .metadata()
        .map_err(StorageError::new("read", path))?
        .len();
    match expected_bytes {
        Some(expected) if expected != length => {
            Err(StorageError::new("read", path)(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it has {length} bytes, not {expected}"),
            )))
        }
        _ => Ok(length),
    }
}
