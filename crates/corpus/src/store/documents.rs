//! The documents of one segment by ordinal, by id and by passage, read on demand.

use std::ops::Range;

use ken_storage::{CheckedFolder, Mapped, ReadAt};

use super::error::CorpusError;
use super::layout;
use super::manifest::SegmentManifest;
use super::record::{self, DocumentRecord};

/// Bytes of an entry of `documents.index`: the start of the line, and the first passage.
const INDEX_ENTRY: usize = 16;
/// Bytes of an entry of `documents.ids`: the hash of the id, the ordinal.
const ID_ENTRY: usize = 12;

/// Documents are numbered from 0 by their ordinal, in the order in which they were added.
#[derive(Debug)]
pub(super) struct DocumentTable {
    lines: ReadAt,
    index: Mapped,
    ids: Mapped,
    pub(super) count: usize,
    passages: usize,
}

/// The sort key of `documents.ids`.
pub(super) fn hash(id: &str) -> u64 {
    let digest = blake3::hash(id.as_bytes());
    u64::from_le_bytes(std::array::from_fn(|byte| digest.as_bytes()[byte]))
}

/// The contents of `documents.index`: an entry for each document, and one after the last.
pub(super) fn index_bytes(entries: &[(u64, u64)]) -> Vec<u8> {
    let bytes = |(line, passage): &(u64, u64)| [line.to_le_bytes(), passage.to_le_bytes()].concat();
    entries.iter().flat_map(bytes).collect()
}

/// The contents of `documents.ids`, given the hashes of the ids in the order of the documents.
pub(super) fn ids_bytes(hashes: &[u64]) -> Vec<u8> {
    let mut sorted: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    sorted
        .iter()
        .flat_map(|(hash, ordinal)| [&hash.to_le_bytes()[..], &ordinal.to_le_bytes()].concat())
        .collect()
}

impl DocumentTable {
    /// Opens the table of the segment in a folder.
    pub(super) fn open(
        files: &CheckedFolder,
        manifest: &SegmentManifest,
    ) -> Result<Self, CorpusError> {
        let table = Self {
            index: manifest.map(files, layout::DOCUMENT_INDEX)?,
            ids: manifest.map(files, layout::DOCUMENT_IDS)?,
            count: manifest.documents as usize,
            passages: usize::try_from(manifest.passages).unwrap_or(usize::MAX),
            lines: manifest.open(files, layout::DOCUMENTS)?,
        };
        let end = table.entry(table.count);
        table.index.sound()?;
        let fits = table.index.len() == (table.count + 1) * INDEX_ENTRY
            && table.ids.len() == table.count * ID_ENTRY
            && end == Some((table.lines.length(), manifest.passages));
        if fits {
            return Ok(table);
        }
        let (documents, passages) = (manifest.documents, manifest.passages);
        let reason = format!("it does not fit {documents} documents and {passages} passages");
        Err(CorpusError::damaged(
            &files.dir().join(layout::DOCUMENT_INDEX),
            reason,
        ))
    }

    /// The record of a document.
    pub(super) fn record(&self, ordinal: usize) -> Result<DocumentRecord, CorpusError> {
        let (start, end) = (self.entry(ordinal), self.entry(ordinal.saturating_add(1)));
        let place = start.zip(end).map(|((start, _), (end, _))| start..end);
        self.index.sound()?;
        record::read(&self.lines, place, || format!("document {ordinal}"))
    }

    /// The document of this id, dead or alive.
    pub(super) fn find(&self, id: &str) -> Result<Option<usize>, CorpusError> {
        let hash = hash(id);
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.ids.u64_at(middle * ID_ENTRY) {
                Some(other) if other < hash => low = middle + 1,
                _ => high = middle,
            }
        }
        while self.ids.u64_at(low * ID_ENTRY) == Some(hash) {
            let ordinal = self.ids.u32_at(low * ID_ENTRY + 8).unwrap_or(u32::MAX) as usize;
            if self.record(ordinal)?.id == id {
                return Ok(Some(ordinal));
            }
            low += 1;
        }
        self.ids.sound()?;
        Ok(None)
    }

    /// The document of a passage; `None` if there is no such passage.
    pub(super) fn of_passage(&self, passage: usize) -> Result<Option<usize>, CorpusError> {
        let (mut low, mut high) = (0, self.count);
        // Searches for the last document that starts at `passage` or before; one without passages is never the last.
        while low < high {
            let middle = low.midpoint(high);
            match self.entry(middle) {
                Some((_, first)) if first <= passage as u64 => low = middle + 1,
                _ => high = middle,
            }
        }
        let Some(document) = low.checked_sub(1) else {
            return Ok(None);
        };
        let is_of = self.passages(document)?.contains(&passage);
        Ok(is_of.then_some(document))
    }

    /// The ordinals of a document's passages; none if the entries contradict one another.
    pub(super) fn passages(&self, document: usize) -> Result<Range<usize>, CorpusError> {
        let first = |document| usize::try_from(self.entry(document)?.1).ok();
        let range = first(document).zip(first(document + 1));
        self.index.sound()?;
        Ok(range
            .filter(|(start, end)| start <= end && *end <= self.passages)
            .map_or(0..0, |(start, end)| start..end))
    }

    /// The start of a document's line, and its first passage; for `count`, the ends of both.
    fn entry(&self, ordinal: usize) -> Option<(u64, u64)> {
        let byte = ordinal.checked_mul(INDEX_ENTRY)?;
        Some((self.index.u64_at(byte)?, self.index.u64_at(byte + 8)?))
    }
}
