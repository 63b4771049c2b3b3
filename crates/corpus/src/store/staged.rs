//! A segment under construction. Nothing of it can be seen before it is published.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::CorpusError;
use super::layout;
use super::record::{DocumentRecord, PassageRecord};
use crate::document::{Digest, Document};
use crate::passage::Passage;

/// Documents and passages that wait to be published together.
///
/// Other rooms add their files below [`StagedSegment::dir`] before
/// [`crate::Writer::publish`] is called; they are published with it. A stage that is dropped
/// is swept away when the next writer opens the corpus.
#[derive(Debug)]
pub struct StagedSegment {
    dir: PathBuf,
    documents: JsonLines,
    passages: JsonLines,
    offsets: BufWriter<File>,
    passage_count: u64,
    ids: HashSet<Box<str>>,
    /// Ids and digests in the order of their ordinals.
    pub(super) added: Vec<(Box<str>, Digest)>,
}

impl StagedSegment {
    pub(super) fn create(dir: PathBuf) -> Result<Self, CorpusError> {
        fs::create_dir_all(&dir).map_err(CorpusError::io("create", &dir))?;
        let offsets_path = dir.join(layout::OFFSETS);
        let file = File::create(&offsets_path).map_err(CorpusError::io("create", &offsets_path))?;
        let mut staged = Self {
            documents: JsonLines::create(dir.join(layout::DOCUMENTS))?,
            passages: JsonLines::create(dir.join(layout::PASSAGES))?,
            offsets: BufWriter::new(file),
            passage_count: 0,
            ids: HashSet::new(),
            added: Vec::new(),
            dir,
        };
        staged.write_offset()?;
        Ok(staged)
    }

    /// Adds a document with its passages' texts, in order, and returns them as passages. A
    /// document without passages is recorded too, so that it counts as known.
    ///
    /// # Errors
    /// [`CorpusError::DuplicateDocument`], [`CorpusError::SegmentFull`], [`CorpusError::Io`].
    pub fn push(
        &mut self,
        document: &Document,
        passages: &[String],
    ) -> Result<Vec<Passage>, CorpusError> {
        if self.added.len() >= u32::MAX as usize || passages.len() >= u32::MAX as usize {
            return Err(CorpusError::SegmentFull {
                path: self.dir.clone(),
                limit: u32::MAX,
            });
        }
        if !self.ids.insert(document.id.as_str().into()) {
            return Err(CorpusError::DuplicateDocument {
                id: document.id.clone(),
            });
        }
        let digest = document.digest();
        self.documents.write(&DocumentRecord {
            id: document.id.clone(),
            digest: blake3::Hash::from_bytes(digest).to_hex().to_string(),
            title: document.title.clone(),
            first_passage: self.passage_count,
            passages: passages.len() as u32,
        })?;
        self.added.push((document.id.as_str().into(), digest));

        let mut pushed = Vec::with_capacity(passages.len());
        for (position, text) in passages.iter().enumerate() {
            let passage = Passage::of(document, position, text.clone());
            self.passages.write(&PassageRecord {
                id: passage.id.0.clone(),
                text: text.clone(),
            })?;
            self.passage_count += 1;
            self.write_offset()?;
            pushed.push(passage);
        }
        Ok(pushed)
    }

    /// The folder to put further files of the segment into.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// How many documents were pushed.
    #[must_use]
    pub fn document_count(&self) -> usize {
        self.added.len()
    }

    /// How many passages were pushed.
    #[must_use]
    pub fn passage_count(&self) -> usize {
        self.passage_count as usize
    }

    /// Hands the buffered rest to the system.
    pub(super) fn flush(&mut self) -> Result<(), CorpusError> {
        self.documents.flush()?;
        self.passages.flush()?;
        self.offsets
            .flush()
            .map_err(CorpusError::io("write", &self.dir.join(layout::OFFSETS)))
    }

    fn write_offset(&mut self) -> Result<(), CorpusError> {
        self.offsets
            .write_all(&self.passages.bytes.to_le_bytes())
            .map_err(CorpusError::io("write", &self.dir.join(layout::OFFSETS)))
    }
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
        let file = File::create(&path).map_err(CorpusError::io("create", &path))?;
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
