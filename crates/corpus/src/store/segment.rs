//! Reading one immutable segment: its passages by ordinal, and which of them are live.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use memmap2::Mmap;

use super::error::CorpusError;
use super::layout;
use super::manifest::SegmentManifest;
use super::record::{self, PassageRecord};
use crate::passage::{Passage, PassageId};

/// A set of documents and passages that were published together.
///
/// Passages are counted from 0 by their ordinal, which never changes; those of replaced documents
/// keep their ordinals and are no longer live.
#[derive(Debug)]
pub struct Segment {
    dir: PathBuf,
    id: String,
    documents: Vec<DocumentRow>,
    passage_count: usize,
    /// Dead documents by ordinal, ascending.
    tombstones: Vec<u32>,
    live_passage_count: usize,
    passages: Option<Mmap>,
    offsets: Option<Mmap>,
    /// Document ordinals sorted by id, made at the first look-up.
    by_id: OnceLock<Vec<u32>>,
}

/// What is kept in memory of each document.
#[derive(Debug)]
struct DocumentRow {
    id: Box<str>,
    title: Box<str>,
    first_passage: usize,
}

impl Segment {
    /// Opens a segment after checking that its files exist and have their recorded lengths.
    pub(super) fn open(corpus: &Path, manifest: &SegmentManifest) -> Result<Self, CorpusError> {
        let dir = layout::segment(corpus, &manifest.id);
        check_files(&dir, manifest)?;

        let path = dir.join(layout::DOCUMENTS);
        let mut documents = Vec::with_capacity(manifest.documents as usize);
        let (document_count, passages) = record::read_documents(&path, |_, record| {
            documents.push(DocumentRow {
                id: record.id.into(),
                title: record.title.into(),
                first_passage: to_usize(record.first_passage, &path)?,
            });
            Ok(())
        })?;
        if (document_count, passages) != (manifest.documents, manifest.passages) {
            return Err(CorpusError::damaged(
                &path,
                format!(
                    "it holds {document_count} documents and {passages} passages, not {} and {}",
                    manifest.documents, manifest.passages
                ),
            ));
        }
        if manifest
            .tombstones
            .iter()
            .any(|&dead| dead >= document_count)
        {
            return Err(CorpusError::damaged(
                &path,
                "the generation marks a document dead that is not there",
            ));
        }

        let mut segment = Self {
            passage_count: to_usize(passages, &path)?,
            live_passage_count: 0,
            passages: map(&dir.join(layout::PASSAGES))?,
            offsets: map(&dir.join(layout::OFFSETS))?,
            id: manifest.id.clone(),
            tombstones: manifest.tombstones.clone(),
            by_id: OnceLock::new(),
            dir,
            documents,
        };
        let offset_bytes = segment.offsets.as_ref().map_or(0, |map| map.len());
        if offset_bytes != (segment.passage_count + 1) * size_of::<u64>() {
            return Err(CorpusError::damaged(
                &segment.dir.join(layout::OFFSETS),
                format!(
                    "{offset_bytes} bytes do not fit {} passages",
                    segment.passage_count
                ),
            ));
        }
        let dead: usize = segment
            .tombstones
            .iter()
            .map(|&document| segment.passages_of(document as usize).len())
            .sum();
        segment.live_passage_count = segment.passage_count - dead;
        Ok(segment)
    }

    /// The folder with the segment's files, those of the index included.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The name of the segment's folder, unique in the corpus.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How many passages the segment holds, dead ones included: ordinals run from 0 to here.
    #[must_use]
    pub fn passage_count(&self) -> usize {
        self.passage_count
    }

    /// How many of its passages are live.
    #[must_use]
    pub fn live_passage_count(&self) -> usize {
        self.live_passage_count
    }

    /// How many of its documents are live.
    #[must_use]
    pub fn live_document_count(&self) -> usize {
        self.documents.len() - self.tombstones.len()
    }

    /// Whether the passage at `ordinal` is part of the generation; false past the end.
    #[must_use]
    pub fn is_live(&self, ordinal: usize) -> bool {
        self.document_at(ordinal)
            .is_some_and(|document| self.is_live_document(document))
    }

    /// The passage at `ordinal`, live or dead.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] where there is no such passage or its record cannot be read.
    pub fn passage(&self, ordinal: usize) -> Result<Passage, CorpusError> {
        let path = self.dir.join(layout::PASSAGES);
        let document = self.document_at(ordinal).ok_or_else(|| {
            CorpusError::damaged(
                &path,
                format!("there is no passage {ordinal} of {}", self.passage_count),
            )
        })?;
        let line = self.line(ordinal).ok_or_else(|| {
            CorpusError::damaged(&path, format!("passage {ordinal} has no valid place"))
        })?;
        let record: PassageRecord = serde_json::from_slice(line)
            .map_err(|error| CorpusError::damaged(&path, format!("passage {ordinal}: {error}")))?;
        let row = &self.documents[document];
        Ok(Passage {
            id: PassageId(record.id),
            doc_id: row.id.to_string(),
            title: row.title.to_string(),
            text: record.text,
        })
    }

    /// The ordinal of the live passage that `id` names.
    #[must_use]
    pub fn ordinal_of(&self, id: &PassageId) -> Option<usize> {
        let (doc_id, position) = id.split()?;
        let by_id = self.by_id.get_or_init(|| {
            // Fits: a segment's document count is a u32.
            let mut ordinals: Vec<u32> = (0..self.documents.len() as u32).collect();
            ordinals.sort_unstable_by_key(|&ordinal| &self.documents[ordinal as usize].id);
            ordinals
        });
        let found = by_id
            .binary_search_by(|&ordinal| (*self.documents[ordinal as usize].id).cmp(doc_id))
            .ok()?;
        let document = by_id[found] as usize;
        let mut passages = self.passages_of(document);
        let ordinal = passages.nth(position)?;
        // "a#01" must not name what "a#1" names.
        (self.is_live_document(document) && PassageId::new(doc_id, position) == *id)
            .then_some(ordinal)
    }

    fn is_live_document(&self, document: usize) -> bool {
        u32::try_from(document)
            .is_ok_and(|document| self.tombstones.binary_search(&document).is_err())
    }

    /// The ordinal of the document that holds the passage at `ordinal`.
    fn document_at(&self, ordinal: usize) -> Option<usize> {
        if ordinal >= self.passage_count {
            return None;
        }
        // The last document that begins here or before; one without passages never is the last.
        self.documents
            .partition_point(|row| row.first_passage <= ordinal)
            .checked_sub(1)
    }

    fn passages_of(&self, document: usize) -> std::ops::Range<usize> {
        let end = self
            .documents
            .get(document + 1)
            .map_or(self.passage_count, |next| next.first_passage);
        self.documents[document].first_passage..end
    }

    fn line(&self, ordinal: usize) -> Option<&[u8]> {
        let (start, end) = (self.offset(ordinal)?, self.offset(ordinal + 1)?);
        self.passages.as_ref()?.get(start..end)
    }

    fn offset(&self, index: usize) -> Option<usize> {
        let bytes = self.offsets.as_ref()?.get(index * 8..index * 8 + 8)?;
        usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
    }
}

fn check_files(dir: &Path, manifest: &SegmentManifest) -> Result<(), CorpusError> {
    for required in [layout::DOCUMENTS, layout::PASSAGES, layout::OFFSETS] {
        if !manifest.files.iter().any(|file| file.name == required) {
            return Err(CorpusError::MissingFile {
                path: dir.join(required),
            });
        }
    }
    for file in &manifest.files {
        let path = dir.join(&file.name);
        let found = match path.metadata() {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(CorpusError::MissingFile { path });
            }
            Err(error) => return Err(CorpusError::io("read", &path)(error)),
        };
        if found != file.bytes {
            return Err(CorpusError::damaged(
                &path,
                format!("it has {found} bytes, not {}", file.bytes),
            ));
        }
    }
    Ok(())
}

/// Maps a file into memory; an empty one is `None`.
fn map(path: &Path) -> Result<Option<Mmap>, CorpusError> {
    let file = File::open(path).map_err(CorpusError::io("open", path))?;
    let length = file
        .metadata()
        .map_err(CorpusError::io("read", path))?
        .len();
    if length == 0 {
        return Ok(None);
    }
    // SAFETY: a published segment's files are never written again by any version of this crate;
    // every access to the map is bounds-checked.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) };
    map.map(Some).map_err(CorpusError::io("map", path))
}

fn to_usize(number: u64, path: &Path) -> Result<usize, CorpusError> {
    usize::try_from(number)
        .map_err(|_| CorpusError::damaged(path, format!("{number} passages do not fit")))
}
