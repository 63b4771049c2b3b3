//! The reader: one published generation of a corpus, which does not change while newer ones are
//! published.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::document_names::DocumentNames;
use super::error::CorpusError;
use super::info::CorpusInfo;
use super::layout;
use super::manifest::{Manifest, SegmentManifest};
use super::pin::{Pin, pin_current};
use super::segment::Segment;
use super::settings::{EmbedderIdentity, Settings};
use super::shards::Active;
use crate::passage::{Passage, PassageId};

/// The generation that was current when the corpus was opened, or some of its shards.
#[derive(Debug)]
pub struct Corpus {
    dir: PathBuf,
    manifest: Manifest,
    active: Active,
    segments: Vec<Segment>,
    /// Read when a document is first looked up by name.
    names: OnceLock<DocumentNames>,
    _pin: Pin,
}

impl Corpus {
    /// Whether `dir` holds a published corpus. One whose `CURRENT` is not a plain file counts; opening it
    /// fails.
    pub fn exists(dir: &Path) -> bool {
        let current = layout::current(dir).symlink_metadata();
        current.is_ok_and(|current| !current.is_dir())
    }

    /// Whether the files in `dir` are those of a corpus or of a backup, published or not, and no documents.
    pub fn owns(dir: &Path) -> bool {
        let is_begun = || layout::names(dir).is_ok_and(|names| layout::is_begun(&names));
        Self::exists(dir) || layout::lock(dir).is_file() && is_begun()
    }

    /// Opens the current generation. Opening checks files up to a MiB by their hashes, and larger ones for
    /// presence and length; blocks of these are checked when they are first read.
    ///
    /// # Errors
    /// [`CorpusError::NotACorpus`], [`CorpusError::Damaged`], [`CorpusError::MissingFile`],
    /// [`CorpusError::OtherFormat`], [`CorpusError::Io`].
    pub fn open(dir: &Path) -> Result<Self, CorpusError> {
        Self::open_shards(dir, Active::All)
    }

    /// Opens some shards of the current generation. No file of the others is touched.
    ///
    /// # Errors
    /// [`CorpusError::TooFewShards`] if there are fewer than requested; and as
    /// [`Corpus::open`].
    pub fn open_shards(dir: &Path, active: Active) -> Result<Self, CorpusError> {
        let (manifest, pin) = pin_current(dir)?;
        let count = manifest.settings.sharding.count;
        if let Some(requested) = active.scale()
            && (requested == 0 || requested > count)
        {
            return Err(CorpusError::TooFewShards {
                path: dir.to_owned(),
                requested,
                shards: count,
            });
        }
        let segments = active_segments(&manifest, active)
            .map(|segment| Segment::open(dir, segment))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            dir: dir.to_owned(),
            manifest,
            active,
            segments,
            names: OnceLock::new(),
            _pin: pin,
        })
    }

    /// The corpus folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of the generation, from 1.
    pub fn generation(&self) -> u64 {
        self.manifest.number
    }

    /// Identifies the contents of the active shards, wherever the folder is: 32 hex digits.
    pub fn fingerprint(&self) -> String {
        self.manifest
            .fingerprint(active_segments(&self.manifest, self.active))
    }

    /// Which model embedded the passages.
    pub fn embedder(&self) -> &EmbedderIdentity {
        &self.manifest.settings.embedder
    }

    /// The length of all files of the active shards.
    pub fn bytes(&self) -> u64 {
        self.manifest_segments().map(SegmentManifest::bytes).sum()
    }

    /// The length of the files of the active shards that searches read: all but the texts. They
    /// stay in memory if there is enough of it.
    pub fn index_bytes(&self) -> u64 {
        let is_text = |name: &str| [layout::DOCUMENTS, layout::PASSAGES].contains(&name);
        let files = self.manifest_segments().flat_map(|segment| &segment.files);
        let searched = files.filter(|file| !is_text(&file.name));
        searched.map(|file| file.bytes).sum()
    }

    /// What all segments have in common.
    pub fn settings(&self) -> &Settings {
        &self.manifest.settings
    }

    /// The counts of the whole generation, inactive shards included.
    pub fn info(&self) -> CorpusInfo {
        CorpusInfo::of(&self.manifest)
    }

    /// The segments of the active shards, oldest first.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The live documents by the names of their files.
    pub(super) fn names(&self) -> Result<&DocumentNames, CorpusError> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let names = DocumentNames::read(&self.segments)?;
        Ok(self.names.get_or_init(|| names))
    }

    /// The manifests of [`Corpus::segments`].
    pub(super) fn manifest_segments(&self) -> impl Iterator<Item = &SegmentManifest> {
        active_segments(&self.manifest, self.active)
    }

    /// How many documents are live.
    pub fn document_count(&self) -> usize {
        self.segments.iter().map(Segment::live_document_count).sum()
    }

    /// How many passages are live.
    pub fn passage_count(&self) -> usize {
        self.segments.iter().map(Segment::live_passage_count).sum()
    }

    /// The live passage of this id.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] if a record cannot be read.
    pub fn find(&self, id: &PassageId) -> Result<Option<Passage>, CorpusError> {
        for segment in self.segments.iter().rev() {
            if let Some(ordinal) = segment.ordinal_of(id)? {
                return segment.passage(ordinal).map(Some);
            }
        }
        Ok(None)
    }

    /// All live passages: segments oldest first, ordinals ascending.
    pub fn passages(&self) -> impl Iterator<Item = Result<Passage, CorpusError>> + '_ {
        self.segments.iter().flat_map(|segment| {
            segment
                .live()
                .ones()
                .map(|ordinal| segment.passage(ordinal))
        })
    }
}

fn active_segments(manifest: &Manifest, active: Active) -> impl Iterator<Item = &SegmentManifest> {
    let count = manifest.settings.sharding.count;
    let segments = manifest.segments.iter();
    segments.filter(move |segment| active.includes(segment.shard, count))
}
