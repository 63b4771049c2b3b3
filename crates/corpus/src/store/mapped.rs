//! Files of a segment, mapped into memory: what is not looked at takes none.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use super::error::CorpusError;

/// A file's bytes; an empty file cannot be mapped everywhere.
#[derive(Debug)]
pub(super) struct Mapped(Option<Mmap>);

impl Mapped {
    pub(super) fn open(path: &Path) -> Result<Self, CorpusError> {
        let file = File::open(path).map_err(CorpusError::io("open", path))?;
        let length = file
            .metadata()
            .map_err(CorpusError::io("read", path))?
            .len();
        if length == 0 {
            return Ok(Self(None));
        }
        // SAFETY: a published segment's files are never written again, only removed as a whole,
        // which leaves a mapping valid; every access is bounds-checked.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(&file) };
        map.map(|map| Self(Some(map)))
            .map_err(CorpusError::io("map", path))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The little-endian number at a byte.
    pub(super) fn u64_at(&self, byte: usize) -> Option<u64> {
        let end = byte.checked_add(8)?;
        Some(u64::from_le_bytes(
            self.bytes().get(byte..end)?.try_into().ok()?,
        ))
    }

    /// The little-endian number at a byte.
    pub(super) fn u32_at(&self, byte: usize) -> Option<u32> {
        let end = byte.checked_add(4)?;
        Some(u32::from_le_bytes(
            self.bytes().get(byte..end)?.try_into().ok()?,
        ))
    }
}
