//! A file's bytes as one slice: a small file in memory, a large one mapped.

use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::plain::open;
use crate::{BLOCK_BYTES, Blocks, HEAP_BYTES, StorageError};

/// At most one block in this many is few.
const FEW: usize = 16;

/// The bytes of a file that must not change while it is open.
///
/// Files up to [`HEAP_BYTES`] are read into memory, so that later changes do no harm. Larger ones
/// are mapped. Either way the first byte is aligned to eight bytes, so that numbers can be read in
/// place. If another program truncates a mapped file, reading the lost part ends the process with
/// SIGBUS: the caller holds the lock that keeps ken itself from doing so, and passes the expected size, which
/// opening checks.
#[derive(Debug)]
pub struct Mapped {
    contents: Contents,
    blocks: Option<Arc<Blocks>>,
}

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
            return Ok(Self::new(Contents::Heap(words, length)));
        }
        // SAFETY: ken never writes to a file under its final name, only removes it, which leaves a
        // mapping valid; the size was checked; every access is bounds-checked. Another program that
        // changes the file can make the bytes wrong, or end the process, as documented above.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) };
        map.map(|map| Self::new(Contents::Mapped(map)))
            .map_err(StorageError::new("map", path))
    }

    fn new(contents: Contents) -> Self {
        Self {
            contents,
            blocks: None,
        }
    }

    /// Adds checksums. Blocks are checked against them when [`Mapped::read`] or a number first reads them, or
    /// [`Mapped::touch`] announces them.
    #[must_use]
    pub fn with_blocks(self, blocks: Option<Arc<Blocks>>) -> Self {
        Self { blocks, ..self }
    }

    /// The bytes of a range; `None` if the range is not within the file.
    ///
    /// # Errors
    /// As [`Blocks::sound`].
    pub fn read(&self, range: Range<usize>) -> Result<Option<&[u8]>, StorageError> {
        self.touch(range.clone());
        self.sound()?;
        Ok(self.get(range))
    }

    /// Checks the blocks around a range that is going to be read, unless they were checked before. The reader calls
    /// [`Mapped::sound`] before relying on the bytes.
    #[inline]
    pub fn touch(&self, range: Range<usize>) {
        if let Some(blocks) = &self.blocks
            && let Some(whole) = blocks.unchecked(&range)
        {
            blocks.check(whole.start, self.get(whole.clone()).unwrap_or_default());
        }
    }

    /// Fails once a damaged block was read.
    ///
    /// # Errors
    /// As [`Blocks::sound`].
    pub fn sound(&self) -> Result<(), StorageError> {
        self.blocks.as_ref().map_or(Ok(()), |blocks| blocks.sound())
    }

    /// Checks the last blocks once few are left, so that later reads skip the check.
    pub fn check_rest(&self) {
        let left = self.blocks.as_ref().map_or(0, |blocks| blocks.left());
        if left > 0 && left <= self.len() / BLOCK_BYTES / FEW {
            self.touch(0..self.len());
        }
    }

    /// The part from byte `start` on.
    pub fn watch(&self, start: usize) -> Watch<'_> {
        let blocks = self.blocks.as_ref().filter(|blocks| blocks.left() > 0);
        Watch(blocks.map(|_| (self, start)))
    }

    /// The little-endian number at a byte; `None` past the end.
    pub fn u64_at(&self, byte: usize) -> Option<u64> {
        let end = byte.checked_add(8)?;
        self.touch(byte..end);
        Some(u64::from_le_bytes(self.get(byte..end)?.try_into().ok()?))
    }

    /// The little-endian number at a byte; `None` past the end.
    pub fn u32_at(&self, byte: usize) -> Option<u32> {
        let end = byte.checked_add(4)?;
        self.touch(byte..end);
        Some(u32::from_le_bytes(self.get(byte..end)?.try_into().ok()?))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.contents {
            Contents::Heap(words, length) => &bytemuck::cast_slice(words)[..*length],
            Contents::Mapped(map) => map,
        }
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Checks the blocks of a part of a file that is read as numbers in place. The default belongs to numbers in memory,
/// and checks nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch<'a>(Option<(&'a Mapped, usize)>);

impl Watch<'_> {
    /// As [`Mapped::touch`], for a range of the part.
    #[inline]
    pub fn touch(&self, range: Range<usize>) {
        if let Some((file, start)) = self.0 {
            file.touch(start.saturating_add(range.start)..start.saturating_add(range.end));
        }
    }
}

/// The length of an open file, checked against the expected one.
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
