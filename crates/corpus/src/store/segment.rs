//! Reading one immutable segment as of a generation: its passages by ordinal, and which are live.

use std::path::{Path, PathBuf};

use fixedbitset::FixedBitSet;
use ken_storage::{CheckedFolder, Mapped, ReadAt};
use serde_json::{Map, Value};

use super::checksums;
use super::documents::DocumentTable;
use super::error::CorpusError;
use super::layout;
use super::manifest::{FileManifest, SegmentManifest};
use super::marks::{Marks, PrunedMark};
use super::record::{self, DocumentRecord, PassageRecord};
use super::scores::Scores;
use crate::passage::{Passage, PassageId};

/// Documents and passages that were published together.
///
/// Passages are numbered from 0 by their ordinal, which never changes; those of deleted or replaced
/// documents, and pruned ones, keep their ordinals and are no longer live.
#[derive(Debug)]
pub struct Segment {
    files: CheckedFolder,
    id: String,
    shard: u32,
    documents: DocumentTable,
    passage_count: usize,
    passages: ReadAt,
    index: Mapped,
    /// Documents that were not deleted or replaced, by ordinal.
    live_documents: FixedBitSet,
    /// Passages of live documents that are not pruned, by ordinal.
    live_passages: FixedBitSet,
    live_passage_count: usize,
    pruned_count: usize,
    /// The file with its marks, if any, and the manifest of that file.
    marks: Option<(PathBuf, FileManifest)>,
    scores: Scores,
}

impl Segment {
    /// Opens a segment after checking its small files, and the lengths of the large ones.
    pub(super) fn open(corpus: &Path, manifest: &SegmentManifest) -> Result<Self, CorpusError> {
        let dir = layout::segment(corpus, &manifest.id);
        for required in layout::REQUIRED {
            if !manifest.files.iter().any(|file| file.name == required) {
                return Err(CorpusError::MissingFile {
                    path: dir.join(required),
                });
            }
        }
        let files = checksums::open(corpus, manifest)?;
        let index = manifest.map(&files, layout::PASSAGE_INDEX)?;
        let passages = manifest.open(&files, layout::PASSAGES)?;
        let passage_count = usize::try_from(manifest.passages).unwrap_or(usize::MAX);
        if Some(index.len()) != passage_count.checked_add(1).map(|n| n.saturating_mul(8)) {
            return Err(CorpusError::damaged(
                &dir.join(layout::PASSAGE_INDEX),
                format!("it does not fit {passage_count} passages"),
            ));
        }
        let mut segment = Self {
            documents: DocumentTable::open(&files, manifest)?,
            passages,
            live_documents: all(manifest.documents as usize),
            live_passages: all(passage_count),
            live_passage_count: 0,
            pruned_count: 0,
            marks: (manifest.marks.clone())
                .map(|file| (layout::marks(corpus).join(&file.name), file)),
            scores: Scores::read(corpus, manifest)?,
            id: manifest.id.clone(),
            shard: manifest.shard,
            index,
            passage_count,
            files,
        };
        if let Some((path, _)) = segment.marks.clone() {
            let marks = segment.marks()?;
            segment.mark(&marks)?.ok_or_else(|| {
                CorpusError::damaged(&path, "it marks what is not in its segment")
            })?;
        }
        segment.live_passage_count = segment.live_passages.count_ones(..);
        Ok(segment)
    }

    /// Applies marks; `None` if one is out of range.
    fn mark(&mut self, marks: &Marks) -> Result<Option<()>, CorpusError> {
        for &document in &marks.dead {
            let document = document as usize;
            if document >= self.documents.count {
                return Ok(None);
            }
            self.live_documents.set(document, false);
            let passages = self.documents.passages(document)?;
            self.live_passages.set_range(passages, false);
        }
        for mark in &marks.pruned {
            let ordinal = mark.ordinal as usize;
            if ordinal >= self.passage_count {
                return Ok(None);
            }
            // A mark on a dead document's passage no longer matters.
            self.pruned_count += usize::from(self.live_passages.contains(ordinal));
            self.live_passages.set(ordinal, false);
        }
        Ok(Some(()))
    }

    /// The folder with the segment's files, those of the index included.
    pub fn dir(&self) -> &Path {
        self.files.dir()
    }

    /// The folder, for checked reads of its files.
    pub fn files(&self) -> &CheckedFolder {
        &self.files
    }

    /// The name of the segment's folder, unique in the corpus.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The shard that all its documents belong to, from 0.
    pub fn shard(&self) -> u32 {
        self.shard
    }

    /// How many passages the segment holds, dead and pruned ones included: the end of the ordinals.
    pub fn passage_count(&self) -> usize {
        self.passage_count
    }

    /// How many of its passages are live.
    pub fn live_passage_count(&self) -> usize {
        self.live_passage_count
    }

    /// How many passages of live documents are pruned.
    pub fn pruned_count(&self) -> usize {
        self.pruned_count
    }

    /// How many documents the segment holds, dead ones included.
    pub fn document_count(&self) -> usize {
        self.documents.count
    }

    /// How many of its documents are live.
    pub fn live_document_count(&self) -> usize {
        self.live_documents.count_ones(..)
    }

    /// Whether the passage at `ordinal` is part of the generation; false past the end.
    pub fn is_live(&self, ordinal: usize) -> bool {
        self.live_passages.contains(ordinal)
    }

    /// The live passages, by ordinal.
    pub fn live(&self) -> &FixedBitSet {
        &self.live_passages
    }

    /// The passage at `ordinal`, live or not.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if there is no such passage or its record cannot be read.
    pub fn passage(&self, ordinal: usize) -> Result<Passage, CorpusError> {
        let document = self.documents.of_passage(ordinal)?.ok_or_else(|| {
            CorpusError::damaged(
                &self.dir().join(layout::PASSAGES),
                format!("there is no passage {ordinal} of {}", self.passage_count),
            )
        })?;
        let document = self.documents.record(document)?;
        Ok(self.joined(ordinal, self.record(ordinal)?, document))
    }

    /// The passage at `ordinal`, with what its document says and its scores.
    pub(super) fn joined(
        &self,
        ordinal: usize,
        record: PassageRecord,
        document: DocumentRecord,
    ) -> Passage {
        let mut passage = record.of_document(document);
        self.add_scores(ordinal, &mut passage.metadata);
        passage
    }

    /// The ordinal of the live passage of this id.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if a record cannot be read.
    pub fn ordinal_of(&self, id: &PassageId) -> Result<Option<usize>, CorpusError> {
        let ordinal = self.ordinal_of_any(id)?;
        Ok(ordinal.filter(|&ordinal| self.is_live(ordinal)))
    }

    /// As [`Segment::ordinal_of`], for the passage of a live document that may be pruned.
    pub fn ordinal_of_any(&self, id: &PassageId) -> Result<Option<usize>, CorpusError> {
        let Some((doc_id, position)) = id.split() else {
            return Ok(None);
        };
        let Some(document) = self.live_document(doc_id)? else {
            return Ok(None);
        };
        let ordinal = self.passage_from(document, position)?;
        // "a#01" must not name the passage "a#1".
        let is_it = self.documents.passages(document)?.contains(&ordinal)
            && self.record(ordinal)?.id == id.0;
        Ok(is_it.then_some(ordinal))
    }

    /// The ordinal of the first of a document's passages that has this position or a later one; behind its last if none has.
    pub(super) fn passage_from(
        &self,
        document: usize,
        position: usize,
    ) -> Result<usize, CorpusError> {
        // They are sorted by position, with gaps.
        let mut range = self.documents.passages(document)?;
        while !range.is_empty() {
            let middle = range.start.midpoint(range.end);
            let id = PassageId(self.record(middle)?.id);
            match id.split() {
                Some((_, own)) if own < position => range.start = middle + 1,
                Some(_) => range.end = middle,
                None => {
                    return Err(CorpusError::damaged(
                        &self.dir().join(layout::PASSAGES),
                        format!("passage {middle} has the id {id}"),
                    ));
                }
            }
        }
        Ok(range.start)
    }

    /// The ordinal of the live document of this id.
    pub(super) fn live_document(&self, id: &str) -> Result<Option<usize>, CorpusError> {
        let document = self.any_document(id)?;
        Ok(document.filter(|&document| self.live_documents.contains(document)))
    }

    /// The ordinal of the document of this id, live or deleted.
    pub(super) fn any_document(&self, id: &str) -> Result<Option<usize>, CorpusError> {
        self.documents.find(id)
    }

    /// The ordinals of the live documents, ascending.
    pub fn live_documents(&self) -> impl Iterator<Item = usize> + '_ {
        self.live_documents.ones()
    }

    /// The ordinals of a document's passages, live or not.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if the table of the documents is damaged.
    pub fn passages_of(&self, document: usize) -> Result<std::ops::Range<usize>, CorpusError> {
        self.documents.passages(document)
    }

    /// What the source says about a document, besides its title.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if its record cannot be read.
    pub fn metadata(&self, document: usize) -> Result<Map<String, Value>, CorpusError> {
        Ok(self.document(document)?.metadata)
    }

    /// Whether any of its passages has scores.
    pub fn has_scores(&self) -> bool {
        !self.scores.is_empty()
    }

    /// Whether every live passage has scores of all these names.
    pub fn has_all_scores(&self, names: &[&str]) -> bool {
        let mut live = self.live_passages.ones();
        live.all(|ordinal| self.scores.has_all(ordinal, names))
    }

    /// Adds the scores of the passage at `ordinal` to its document's metadata, in place of fields of the same names.
    pub fn add_scores(&self, ordinal: usize, metadata: &mut Map<String, Value>) {
        self.scores.add_to(ordinal, metadata);
    }

    /// The scores of its passages.
    pub(super) fn scores(&self) -> &Scores {
        &self.scores
    }

    /// The ordinals of the pruned passages of live documents whose reason has this prefix,
    /// ascending.
    ///
    /// # Errors
    /// [`CorpusError`] if the marks cannot be read.
    pub fn pruned_for(&self, reason_start: &str) -> Result<Vec<usize>, CorpusError> {
        let mut pruned = self.pruned()?;
        pruned.retain(|(_, mark)| mark.reason.starts_with(reason_start));
        let ordinals = pruned.into_iter().map(|(_, mark)| mark.ordinal as usize);
        Ok(ordinals.collect())
    }

    /// The marks on pruned passages of live documents, each with the document, by ordinal.
    pub(super) fn pruned(&self) -> Result<Vec<(usize, PrunedMark)>, CorpusError> {
        let mut pruned = Vec::new();
        for mark in self.marks()?.pruned {
            let document = self.documents.of_passage(mark.ordinal as usize)?;
            let live = document.filter(|&document| self.live_documents.contains(document));
            pruned.extend(live.map(|document| (document, mark)));
        }
        Ok(pruned)
    }

    /// The marks on it.
    pub(super) fn marks(&self) -> Result<Marks, CorpusError> {
        match &self.marks {
            Some((path, file)) => Marks::read(path, file),
            None => Ok(Marks::default()),
        }
    }

    pub(super) fn document(&self, ordinal: usize) -> Result<DocumentRecord, CorpusError> {
        self.documents.record(ordinal)
    }

    pub(super) fn record(&self, ordinal: usize) -> Result<PassageRecord, CorpusError> {
        let offset = |ordinal: usize| self.index.u64_at(ordinal.checked_mul(8)?);
        let place = offset(ordinal).zip(offset(ordinal.saturating_add(1)));
        let place = place.map(|(start, end)| start..end);
        self.index.sound()?;
        record::read(&self.passages, place, || format!("passage {ordinal}"))
    }
}

/// The set of all numbers below `count`.
fn all(count: usize) -> FixedBitSet {
    let mut set = FixedBitSet::with_capacity(count);
    set.insert_range(..);
    set
}
