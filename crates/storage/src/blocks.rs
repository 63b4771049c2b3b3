//! Checksums of a file's blocks. Each block of a large file is checked when it is first read,
//! instead of the whole file when it is opened.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::StorageError;

/// The length of a block. Smaller ones would take more checksums; larger ones, more time when a
/// search first reads one row in them.
pub const BLOCK_BYTES: usize = 1 << 14;

/// The checksum of a block: XXH3, which finds damage at the speed of memory. It does not protect from an attacker, who
/// can change the checksums too.
pub fn block_sum(block: &[u8]) -> u64 {
    xxh3_64(block)
}

/// The bytes of a file of checksums.
pub type Sums = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The checksums of one file's blocks, and which blocks were read and found intact.
pub struct Blocks {
    path: PathBuf,
    length: usize,
    /// Little-endian checksums, those of other files included.
    sums: Sums,
    /// The index of the file's first checksum in `sums`.
    first: usize,
    /// One bit for each block.
    intact: Box<[AtomicU64]>,
    /// The number of blocks not known to be intact.
    left: AtomicUsize,
    is_damaged: AtomicBool,
}

impl Blocks {
    /// The blocks of a file of `length` bytes, none of them read yet. Their checksums start at
    /// index `first` of `sums`.
    pub fn new(path: &Path, length: usize, sums: Sums, first: usize) -> Self {
        let words = length.div_ceil(BLOCK_BYTES).div_ceil(64);
        Self {
            path: path.to_owned(),
            length,
            sums,
            first,
            left: AtomicUsize::new(length.div_ceil(BLOCK_BYTES)),
            intact: (0..words).map(|_| AtomicU64::new(0)).collect(),
            is_damaged: AtomicBool::new(false),
        }
    }

    /// The range of whole blocks around `range` that has to be read to check it; `None` if all
    /// of them are known to be intact.
    #[inline]
    pub fn unchecked(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let mut blocks = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
        match self.left() == 0 || blocks.all(|block| self.is_intact(block)) {
            true => None,
            false => Some(self.whole(range)),
        }
    }

    /// How many blocks are not known to be intact.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    #[cold]
    fn whole(&self, range: &Range<usize>) -> Range<usize> {
        let end = range.end.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES);
        range.start / BLOCK_BYTES * BLOCK_BYTES..end.min(self.length)
    }

    /// Checks whole blocks that were read from byte `start` on.
    pub fn check(&self, start: usize, blocks: &[u8]) {
        for (block, bytes) in (start / BLOCK_BYTES..).zip(blocks.chunks(BLOCK_BYTES)) {
            if self.is_intact(block) {
                continue;
            }
            let (sums, _) = (*self.sums).as_ref().as_chunks();
            let sum = sums.get(self.first + block);
            match self.intact.get(block / 64) {
                Some(word) if sum == Some(&block_sum(bytes).to_le_bytes()) => {
                    let bit = 1 << (block % 64);
                    let before = word.fetch_or(bit, Ordering::Relaxed);
                    // Another thread may have been first.
                    let new = usize::from(before & bit == 0);
                    self.left.fetch_sub(new, Ordering::Relaxed);
                }
                _ => self.is_damaged.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Fails once a damaged block was read.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`].
    pub fn sound(&self) -> Result<(), StorageError> {
        match self.is_damaged.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(StorageError::new("read", &self.path)(io::Error::new(
                io::ErrorKind::InvalidData,
                "its contents are not those that were published",
            ))),
        }
    }

    #[inline]
    fn is_intact(&self, block: usize) -> bool {
        let word = self.intact.get(block / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 == 1)
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Blocks");
        fields.field("path", &self.path).finish_non_exhaustive()
    }
}
