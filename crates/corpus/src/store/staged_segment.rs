//! A segment under construction. No reader sees any of it before it is published.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::checksums;
use super::documents;
use super::error::CorpusError;
use super::layout;
use super::manifest::SegmentManifest;
use super::marks::{Marks, PrunedMark};
use super::published_documents::{Known, Place};
use super::record::{DocumentRecord, PassageRecord};
use super::scores::Scores;
use super::segment::Segment;
use crate::document::Document;
use crate::passage::{Passage, PassageId, Piece};

/// What a copy of a segment does with pruned passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pruned {
    /// They stay, and stay pruned.
    Kept,
    /// They are dropped for good.
    Dropped,
}

/// Documents and passages of a shard to be published together.
///
/// Other crates add their files below [`StagedSegment::dir`] before it is published; they are
/// published with it. A staged segment that is dropped is removed when the next writer opens the
/// corpus.
#[derive(Debug)]
pub struct StagedSegment {
    dir: PathBuf,
    shard: u32,
    documents: JsonLines,
    passages: JsonLines,
    passage_index: BufWriter<File>,
    passage_count: u64,
    /// The start of each document's line, and its first passage.
    document_index: Vec<(u64, u64)>,
    ids: Vec<u64>,
    seen: HashSet<[u8; 16]>,
    /// The ids of the documents that are new in the corpus or replace others.
    pushed: Vec<Box<str>>,
    moved: Vec<MovedDocument>,
    marks: Marks,
    /// Of the passages up to the last one that has any.
    scores: Scores,
}

impl StagedSegment {
    pub(super) fn create(dir: PathBuf, shard: u32) -> Result<Self, CorpusError> {
        let index = dir.join(layout::PASSAGE_INDEX);
        let file = ken_storage::create(&index)?;
        let mut staged = Self {
            documents: JsonLines::create(dir.join(layout::DOCUMENTS))?,
            passages: JsonLines::create(dir.join(layout::PASSAGES))?,
            passage_index: BufWriter::new(file),
            passage_count: 0,
            document_index: Vec::new(),
            ids: Vec::new(),
            seen: HashSet::new(),
            pushed: Vec::new(),
            moved: Vec::new(),
            marks: Marks::default(),
            scores: Scores::default(),
            shard,
            dir,
        };
        staged.index_passage()?;
        Ok(staged)
    }

    /// Adds a document with the pieces that it was cut into, in order, and returns them as passages. A document
    /// without passages is recorded too, so that it counts as known.
    ///
    /// # Errors
    /// [`CorpusError::DuplicateDocument`], [`CorpusError::SegmentFull`], [`CorpusError::Io`].
    pub fn push(
        &mut self,
        document: &Document,
        pieces: &[Piece],
    ) -> Result<Vec<Passage>, CorpusError> {
        self.push_record(&DocumentRecord {
            id: document.id.clone(),
            digest: document.digest_text(),
            title: document.title.clone(),
            metadata: document.metadata.clone(),
            origin: document.origin.clone(),
        })?;
        self.pushed.push(document.id.as_str().into());
        let mut pushed = Vec::with_capacity(pieces.len());
        for (position, piece) in pieces.iter().enumerate() {
            let passage = Passage::of(document, position, piece.clone());
            self.push_passage(&PassageRecord {
                id: passage.id.0.clone(),
                text: piece.text.clone(),
                location: piece.location.clone(),
            })?;
            pushed.push(passage);
        }
        Ok(pushed)
    }

    /// As [`StagedSegment::push`], for a document that is published under the id `former`, which may be its own. If the
    /// contents are equal, its passages keep the prune marks and the scores of the published ones.
    ///
    /// # Errors
    /// As [`StagedSegment::push`].
    pub fn push_moved(
        &mut self,
        document: &Document,
        pieces: &[Piece],
        former: &str,
    ) -> Result<Vec<Passage>, CorpusError> {
        let first = self.passage_count();
        self.moved.push(MovedDocument {
            former: former.into(),
            digest: document.digest_text(),
            passages: first..first + pieces.len(),
        });
        self.push(document, pieces)
    }

    /// Gives the passages of documents that moved the marks and the scores that they have as `known`.
    pub(super) fn keep_marks(&mut self, known: &Known) -> Result<(), CorpusError> {
        let segments = known.segments();
        let mut all_marks: BTreeMap<usize, Marks> = BTreeMap::new();
        for moved in std::mem::take(&mut self.moved) {
            let Some(Place { segment, ordinal }) = known.place_of(&moved.former)? else {
                continue;
            };
            let published = &segments[segment];
            let has_marks = published.pruned_count() > 0 || published.has_scores();
            if !has_marks || published.document(ordinal)?.digest != moved.digest {
                continue;
            }
            let marks = match all_marks.entry(segment) {
                Entry::Occupied(marks) => marks.into_mut(),
                Entry::Vacant(unread) => unread.insert(published.marks()?),
            };
            for from in published.passages_of(ordinal)? {
                // A compaction may have dropped others before it.
                let id = PassageId(published.record(from)?.id);
                let position = id.split().map_or(usize::MAX, |(_, position)| position);
                let Some(to) = moved.passages.clone().nth(position) else {
                    continue;
                };
                let mark = marks.of_passage(from).cloned();
                self.marks.pruned.extend(mark.map(|mark| PrunedMark {
                    ordinal: to as u32,
                    ..mark
                }));
                self.scores.copy(to, published.scores(), from);
            }
        }
        Ok(())
    }

    /// Adds the live documents of a published segment, and calls `visit` with every added passage and its ordinal in
    /// that segment.
    ///
    /// # Errors
    /// As [`StagedSegment::push`], [`CorpusError::Damaged`] if a record cannot be read, and any
    /// error of `visit`.
    pub fn copy<E: From<CorpusError>>(
        &mut self,
        segment: &Segment,
        pruned: Pruned,
        mut visit: impl FnMut(usize, Passage) -> Result<(), E>,
    ) -> Result<(), E> {
        let marks = segment.marks()?;
        for document in segment.live_documents() {
            let record = segment.document(document)?;
            self.push_record(&record)?;
            for ordinal in segment.passages_of(document)? {
                if !segment.is_live(ordinal) {
                    if pruned == Pruned::Dropped {
                        continue;
                    }
                    let mark = marks.of_passage(ordinal).cloned();
                    self.marks.pruned.extend(mark.map(|mark| PrunedMark {
                        ordinal: self.passage_count as u32,
                        ..mark
                    }));
                }
                let to = self.passage_count();
                self.scores.copy(to, segment.scores(), ordinal);
                let passage = segment.record(ordinal)?;
                self.push_passage(&passage)?;
                visit(ordinal, segment.joined(ordinal, passage, record.clone()))?;
            }
        }
        Ok(())
    }

    /// The folder for other files of the segment.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The shard that all its documents belong to, from 0.
    pub fn shard(&self) -> u32 {
        self.shard
    }

    /// How many documents were pushed.
    pub fn document_count(&self) -> usize {
        self.ids.len()
    }

    /// How many passages were pushed.
    pub fn passage_count(&self) -> usize {
        self.passage_count as usize
    }

    /// The ids of the documents that are new in the corpus or replace others.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.pushed.iter().map(|id| &**id)
    }

    /// Syncs all files, and returns their folder and manifest, the marks and the scores. The segment has
    /// no id yet, and its live documents and passages are not counted.
    pub(super) fn describe(
        mut self,
    ) -> Result<(PathBuf, SegmentManifest, Marks, Scores), CorpusError> {
        let files = self.sync()?;
        self.scores.resize(self.passage_count());
        let described = SegmentManifest {
            id: String::new(),
            shard: self.shard,
            documents: self.document_count() as u32,
            passages: self.passage_count,
            live_documents: 0,
            live_passages: 0,
            pruned_passages: 0,
            files: checksums::describe(&self.dir, &files)?,
            marks: None,
            scores: BTreeMap::new(),
        };
        Ok((self.dir, described, self.marks, self.scores))
    }

    fn sync(&mut self) -> Result<Vec<PathBuf>, CorpusError> {
        self.documents.flush()?;
        self.passages.flush()?;
        let path = self.dir.join(layout::PASSAGE_INDEX);
        self.passage_index
            .flush()
            .map_err(CorpusError::io("write", &path))?;
        let end = (self.documents.bytes, self.passage_count);
        self.document_index.push(end);
        for (name, bytes) in [
            (
                layout::DOCUMENT_INDEX,
                documents::index_bytes(&self.document_index),
            ),
            (layout::DOCUMENT_IDS, documents::ids_bytes(&self.ids)),
        ] {
            let path = self.dir.join(name);
            let written = ken_storage::create(&path)?.write_all(&bytes);
            written.map_err(CorpusError::io("write", &path))?;
        }
        Ok(ken_storage::sync_tree(&self.dir)?)
    }

    fn push_record(&mut self, record: &DocumentRecord) -> Result<(), CorpusError> {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(record.id.as_bytes()).as_bytes()[..16]);
        if !self.seen.insert(key) {
            return Err(CorpusError::DuplicateDocument {
                id: record.id.clone(),
            });
        }
        if self.ids.len() >= u32::MAX as usize {
            return Err(self.full());
        }
        self.ids.push(documents::hash(&record.id));
        self.document_index
            .push((self.documents.bytes, self.passage_count));
        self.documents.write(record)
    }

    fn push_passage(&mut self, record: &PassageRecord) -> Result<(), CorpusError> {
        if self.passage_count >= u64::from(u32::MAX) {
            return Err(self.full());
        }
        self.passages.write(record)?;
        self.passage_count += 1;
        self.index_passage()
    }

    fn index_passage(&mut self) -> Result<(), CorpusError> {
        self.passage_index
            .write_all(&self.passages.bytes.to_le_bytes())
            .map_err(CorpusError::io(
                "write",
                &self.dir.join(layout::PASSAGE_INDEX),
            ))
    }

    fn full(&self) -> CorpusError {
        CorpusError::SegmentFull {
            path: self.dir.clone(),
            limit: u32::MAX,
        }
    }
}

/// A document that was published under another id, or from another file.
#[derive(Debug)]
struct MovedDocument {
    /// The id that it is published under.
    former: Box<str>,
    /// [`Document::digest_text`].
    digest: String,
    /// The ordinals of its passages in the new segment.
    passages: Range<usize>,
}

/// A JSON Lines file that is being written.
#[derive(Debug)]
struct JsonLines {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl JsonLines {
    fn create(path: PathBuf) -> Result<Self, CorpusError> {
        let file = ken_storage::create(&path)?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
            bytes: 0,
        })
    }

    fn write(&mut self, record: &impl Serialize) -> Result<(), CorpusError> {
        let mut line = serde_json::to_vec(record)
            .map_err(|error| CorpusError::damaged(&self.path, error.to_string()))?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .map_err(CorpusError::io("write", &self.path))?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), CorpusError> {
        self.file
            .flush()
            .map_err(CorpusError::io("write", &self.path))
    }
}
