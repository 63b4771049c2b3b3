//! Marks: which documents of a segment are gone, and which of its passages are pruned, as of a generation. The segment
//! itself never changes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, FileManifest};
use super::verify;

/// Marks on one segment. Written once as JSON, never changed: more marks make a new file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Marks {
    /// Ordinals of documents that were deleted or replaced, ascending.
    pub(super) dead: Vec<u32>,
    /// Passages left out of every result, ascending by ordinal.
    pub(super) pruned: Vec<PrunedMark>,
}

/// Why a passage was pruned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PrunedMark {
    pub(super) ordinal: u32,
    pub(super) score: f64,
    pub(super) reason: String,
}

impl Marks {
    pub(super) fn is_empty(&self) -> bool {
        self.dead.is_empty() && self.pruned.is_empty()
    }

    /// The mark on a passage, if it is pruned.
    pub(super) fn of_passage(&self, ordinal: usize) -> Option<&PrunedMark> {
        let index = self
            .pruned
            .binary_search_by_key(&ordinal, |mark| mark.ordinal as usize);
        self.pruned.get(index.ok()?)
    }

    /// Marks documents as gone.
    pub(super) fn kill(&mut self, documents: impl IntoIterator<Item = u32>) {
        self.dead.extend(documents);
        self.dead.sort_unstable();
        self.dead.dedup();
    }

    /// Marks passages as pruned; a new mark replaces an earlier one on the same passage.
    pub(super) fn prune(&mut self, marks: Vec<PrunedMark>) {
        let mut all: Vec<PrunedMark> = marks.into_iter().rev().collect();
        all.extend(std::mem::take(&mut self.pruned));
        // The sort is stable, and the first of equal ones is kept.
        all.sort_by_key(|mark| mark.ordinal);
        all.dedup_by_key(|mark| mark.ordinal);
        self.pruned = all;
    }

    /// Reads the file at `path`, which must be as `published`.
    pub(super) fn read(path: &Path, published: &FileManifest) -> Result<Self, CorpusError> {
        let text = manifest::read_file(path)?;
        if FileManifest::of_bytes(&published.name, &text) != *published {
            return Err(verify::changed(path));
        }
        serde_json::from_slice(&text).map_err(|error| CorpusError::damaged(path, error.to_string()))
    }

    /// Brings the marks to the disk under a new name.
    pub(super) fn write(
        &self,
        corpus: &Path,
        generation: u64,
        segment: &str,
    ) -> Result<Option<FileManifest>, CorpusError> {
        if self.is_empty() {
            return Ok(None);
        }
        let name = &layout::marks_name(generation, segment);
        let path = layout::marks(corpus).join(name);
        let json = serde_json::to_vec(self)
            .map_err(|error| CorpusError::damaged(&path, error.to_string()))?;
        ken_storage::replace(&path, &json)?;
        Ok(Some(FileManifest::of_bytes(name, &json)))
    }
}
