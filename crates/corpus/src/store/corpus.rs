//! The reader: one published generation of a corpus, which stays as it is while newer ones come.

use std::path::{Path, PathBuf};

use super::error::CorpusError;
use super::layout;
use super::manifest::{self, EmbedderIdentity, Manifest};
use super::segment::Segment;
use crate::passage::{Passage, PassageId};

/// The generation that was current when the corpus was opened.
#[derive(Debug)]
pub struct Corpus {
    dir: PathBuf,
    manifest: Manifest,
    segments: Vec<Segment>,
}

impl Corpus {
    /// Whether `dir` holds a published corpus.
    #[must_use]
    pub fn exists(dir: &Path) -> bool {
        layout::current(dir).is_file()
    }

    /// Opens the current generation. Files are checked for presence and length, not by content.
    ///
    /// # Errors
    /// [`CorpusError::NotACorpus`], [`CorpusError::Damaged`], [`CorpusError::MissingFile`],
    /// [`CorpusError::NewerFormat`], [`CorpusError::Io`].
    pub fn open(dir: &Path) -> Result<Self, CorpusError> {
        let manifest = manifest::read_current(dir)?.ok_or_else(|| CorpusError::NotACorpus {
            path: dir.to_owned(),
        })?;
        let segments = manifest
            .segments
            .iter()
            .map(|segment| Segment::open(dir, segment))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            dir: dir.to_owned(),
            manifest,
            segments,
        })
    }

    /// The corpus folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of the generation, from 1.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.manifest.number
    }

    /// Tells what the generation holds, wherever the folder lies: 32 hex digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.manifest.fingerprint()
    }

    /// When the generation was published, in seconds since 1970 (UTC).
    #[must_use]
    pub fn created_unix_s(&self) -> u64 {
        self.manifest.created_unix_s
    }

    /// Which model embedded the passages.
    #[must_use]
    pub fn embedder(&self) -> &EmbedderIdentity {
        &self.manifest.embedder
    }

    /// How the documents were cut, as [`crate::Segmentation`] is written.
    #[must_use]
    pub fn segmentation(&self) -> &str {
        &self.manifest.segmentation
    }

    /// The segments, oldest first.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// How many documents are live.
    #[must_use]
    pub fn document_count(&self) -> usize {
        self.segments.iter().map(Segment::live_document_count).sum()
    }

    /// How many passages are live.
    #[must_use]
    pub fn passage_count(&self) -> usize {
        self.segments.iter().map(Segment::live_passage_count).sum()
    }

    /// The live passage that `id` names.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] where its record cannot be read.
    pub fn find(&self, id: &PassageId) -> Result<Option<Passage>, CorpusError> {
        self.segments
            .iter()
            .rev()
            .find_map(|segment| Some(segment.passage(segment.ordinal_of(id)?)))
            .transpose()
    }

    /// All live passages: segments oldest first, ordinals ascending.
    pub fn passages(&self) -> impl Iterator<Item = Result<Passage, CorpusError>> + '_ {
        self.segments.iter().flat_map(|segment| {
            (0..segment.passage_count())
                .filter(|&ordinal| segment.is_live(ordinal))
                .map(|ordinal| segment.passage(ordinal))
        })
    }
}
