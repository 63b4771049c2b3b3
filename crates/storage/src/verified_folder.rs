//! A folder of files that never change. Reads of them are checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Blocks, Mapped, ReadAt, StorageError};

/// A folder of files that never change, with the checksums of their blocks if known.
#[derive(Debug, Clone)]
pub struct CheckedFolder {
    dir: PathBuf,
    /// Keyed by the paths of the files below the folder, with forward slashes.
    blocks: Arc<BTreeMap<String, Arc<Blocks>>>,
}

impl CheckedFolder {
    /// The folder `dir`, with the blocks of some of its files.
    pub fn new(dir: &Path, blocks: BTreeMap<String, Arc<Blocks>>) -> Self {
        Self {
            dir: dir.to_owned(),
            blocks: Arc::new(blocks),
        }
    }

    /// The path of the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The blocks of a file; `None` if it has no checksums.
    pub fn blocks(&self, name: &str) -> Option<Arc<Blocks>> {
        self.blocks.get(name).cloned()
    }

    /// As [`Mapped::open`].
    ///
    /// # Errors
    /// As there.
    pub fn map(&self, name: &str, expected_bytes: Option<u64>) -> Result<Mapped, StorageError> {
        let file = Mapped::open(&self.dir.join(name), expected_bytes)?;
        Ok(file.with_blocks(self.blocks(name)))
    }

    /// As [`ReadAt::open`].
    ///
    /// # Errors
    /// As there.
    pub fn read_at(&self, name: &str, expected_bytes: Option<u64>) -> Result<ReadAt, StorageError> {
        let file = ReadAt::open(&self.dir.join(name), expected_bytes)?;
        Ok(file.with_blocks(self.blocks(name)))
    }

    /// Fails once a damaged block of one of its files was read.
    ///
    /// # Errors
    /// As [`Blocks::sound`].
    pub fn sound(&self) -> Result<(), StorageError> {
        self.blocks.values().try_for_each(|blocks| blocks.sound())
    }
}

/// Without checksums.
impl From<&Path> for CheckedFolder {
    fn from(dir: &Path) -> Self {
        Self::new(dir, BTreeMap::new())
    }
}

impl From<&CheckedFolder> for CheckedFolder {
    fn from(folder: &CheckedFolder) -> Self {
        folder.clone()
    }
}
