//! Checksums of a file's blocks: what is read of a large file is checked when it is first read,
//! instead of all of it when it is opened.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::{Mapped, StorageError};

/// The length of a block. Smaller ones would take more checksums; larger ones, more time when a
/// search first reads one row in them.
pub const BLOCK_BYTES: usize = 1 << 14;

/// The checksum of a block: XXH3, which finds damage at the speed of memory. Whoever can change a
/// file on purpose can change its checksums too.
#[must_use]
pub fn block_sum(block: &[u8]) -> u64 {
    xxh3_64(block)
}

/// The checksums of one file's blocks, and which blocks were read and found intact.
#[derive(Debug)]
pub struct Blocks {
    path: PathBuf,
    length: usize,
    /// Little-endian checksums, of other files too.
    sums: Arc<Mapped>,
    /// The number of the file's first checksum.
    first: usize,
    /// One bit for each block.
    intact: Box<[AtomicU64]>,
    is_damaged: AtomicBool,
}

impl Blocks {
    /// The blocks of a file of `length` bytes, none of them read yet. Their checksums start with
    /// number `first` in `sums`.
    #[must_use]
    pub fn new(path: &Path, length: usize, sums: Arc<Mapped>, first: usize) -> Self {
        let words = length.div_ceil(BLOCK_BYTES).div_ceil(64);
        Self {
            path: path.to_owned(),
            length,
            sums,
            first,
            intact: (0..words).map(|_| AtomicU64::new(0)).collect(),
            is_damaged: AtomicBool::new(false),
        }
    }

    /// The range of whole blocks around `range` that has to be read to check it; `None` where all
    /// of them are known to be intact.
    #[inline]
    #[must_use]
    pub fn unchecked(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let mut blocks = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
        match blocks.all(|block| self.is_intact(block)) {
            true => None,
            false => Some(self.whole(range)),
        }
    }

    #[cold]
    fn whole(&self, range: &Range<usize>) -> Range<usize> {
        let end = range.end.div_ceil(BLOCK_BYTES).saturating_mul(BLOCK_BYTES);
        range.start / BLOCK_BYTES * BLOCK_BYTES..end.min(self.length)
    }

    /// Checks whole blocks that were read, of which the first starts at `start`.
    pub fn check(&self, start: usize, blocks: &[u8]) {
        for (block, bytes) in (start / BLOCK_BYTES..).zip(blocks.chunks(BLOCK_BYTES)) {
            if self.is_intact(block) {
                continue;
            }
            let sum = self.sums.u64_at((self.first + block).saturating_mul(8));
            match self.intact.get(block / 64) {
                Some(word) if sum == Some(block_sum(bytes)) => {
                    word.fetch_or(1 << (block % 64), Ordering::Relaxed);
                }
                _ => self.is_damaged.store(true, Ordering::Relaxed),
            }
        }
    }

    /// Fails once a block was read that is damaged.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckedFolder, HEAP_BYTES};
    use std::fs;

    /// A file of several blocks, the last of them short, and its folder.
    fn written() -> (tempfile::TempDir, Vec<u8>, CheckedFolder) {
        let dir = tempfile::tempdir().unwrap();
        let length = HEAP_BYTES as usize + 3 * BLOCK_BYTES + 100;
        let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        fs::write(dir.path().join("file"), &bytes).unwrap();
        // Checksums of another file come before.
        let mut sums = vec![0; 16];
        let each = bytes.chunks(BLOCK_BYTES).map(block_sum);
        sums.extend(each.flat_map(u64::to_le_bytes));
        fs::write(dir.path().join("sums"), sums).unwrap();
        let sums = Arc::new(Mapped::open(&dir.path().join("sums"), None).unwrap());
        let blocks = Blocks::new(&dir.path().join("file"), length, sums, 2);
        let blocks = [("file".to_owned(), Arc::new(blocks))];
        let folder = CheckedFolder::new(dir.path(), blocks.into());
        (dir, bytes, folder)
    }

    /// What a read of a range does: mapped, and by position.
    fn both(folder: &CheckedFolder, range: Range<usize>) -> [Result<Vec<u8>, StorageError>; 2] {
        let mapped = folder.map("file", None).unwrap();
        let mapped = mapped
            .read(range.clone())
            .map(|bytes| bytes.unwrap().to_vec());
        let file = folder.read_at("file", None).unwrap();
        let read = file.bytes(range.start as u64..range.end as u64);
        [mapped, read.map(|bytes| bytes.unwrap().into_owned())]
    }

    #[test]
    fn intact_blocks_are_read_as_they_are() {
        let (_dir, bytes, folder) = written();
        let end = bytes.len();
        for range in [
            0..1,
            BLOCK_BYTES - 1..BLOCK_BYTES + 1,
            end - 1..end,
            end..end,
            0..end,
        ] {
            for found in both(&folder, range.clone()) {
                assert_eq!(found.unwrap(), &bytes[range.clone()]);
            }
        }
    }

    #[test]
    fn damage_is_found_where_it_is_read_and_only_there() {
        let (dir, mut bytes, _) = written();
        let (first, last) = (5 * BLOCK_BYTES, bytes.len() - 1);
        bytes[first] ^= 1;
        bytes[last] ^= 0x80;
        for (damaged, range) in [
            (false, 4 * BLOCK_BYTES..5 * BLOCK_BYTES),
            (true, 4 * BLOCK_BYTES..5 * BLOCK_BYTES + 1),
            (true, 6 * BLOCK_BYTES - 1..6 * BLOCK_BYTES),
            (false, 6 * BLOCK_BYTES..7 * BLOCK_BYTES),
            (true, last - 1..last),
        ] {
            // A fresh folder each time: nothing was read before.
            let (_other, _, folder) = written();
            fs::write(_other.path().join("file"), &bytes).unwrap();
            for found in both(&folder, range.clone()) {
                match found {
                    Ok(found) => assert!(!damaged && found == bytes[range.clone()]),
                    Err(error) => {
                        assert!(damaged, "{error}");
                        assert_eq!(error.source.kind(), io::ErrorKind::InvalidData);
                        assert!(error.path.ends_with("file"), "{error}");
                    }
                }
            }
        }
        drop(dir);
    }

    #[test]
    fn a_range_past_the_end_is_no_damage() {
        let (_dir, bytes, folder) = written();
        let file = folder.read_at("file", None).unwrap();
        let end = bytes.len() as u64;
        assert!(file.bytes(end - 1..end + 1).unwrap().is_none());
        let error = file.read_into(end - 1, &mut [0; 2]).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::UnexpectedEof);
        let mapped = folder.map("file", None).unwrap();
        assert!(mapped.read(0..bytes.len() + 1).unwrap().is_none());
        assert_eq!(mapped.u64_at(bytes.len() - 7), None);
        file.read_into(end - 2, &mut [0; 2]).unwrap();
        mapped.sound().unwrap();
    }
}
