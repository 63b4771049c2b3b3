//! The one writer of a corpus: publishes new segments.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::durable;
use super::error::CorpusError;
use super::known::Known;
use super::layout;
use super::manifest::{self, EmbedderIdentity, FORMAT, Manifest, SegmentManifest};
use super::staged::StagedSegment;

/// What all segments of a corpus have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Which model embeds the passages.
    pub embedder: EmbedderIdentity,
    /// How documents are cut, as [`crate::Segmentation`] is written.
    pub segmentation: String,
}

/// Exclusive access to write a corpus; dropping it gives the access back.
#[derive(Debug)]
pub struct Writer {
    dir: PathBuf,
    settings: Settings,
    /// The published generation; number 0 and no segments before the first.
    number: u64,
    segments: Vec<SegmentManifest>,
    known: Known,
    stages: u64,
    /// Locked as long as it is open.
    _lock: File,
}

impl Writer {
    /// Opens a corpus for writing, creating the folder where there is none, and sweeps away what
    /// a killed writer left.
    ///
    /// # Errors
    /// [`CorpusError::Locked`] where another writer is at work; [`CorpusError::OtherEmbedder`] or
    /// [`CorpusError::OtherSegmentation`] where the corpus was made with other settings;
    /// [`CorpusError::FolderInUse`] where the folder holds something else; and what
    /// [`crate::Corpus::open`] may return.
    pub fn open(dir: &Path, settings: Settings) -> Result<Self, CorpusError> {
        fs::create_dir_all(dir).map_err(CorpusError::io("create", dir))?;
        refuse_foreign_folder(dir)?;
        let lock = lock(dir)?;
        let published = manifest::read_current(dir)?;
        if let Some(manifest) = &published {
            check_settings(dir, manifest, &settings)?;
        }
        let (number, segments) = match published {
            Some(manifest) => (manifest.number, manifest.segments),
            None => (0, Vec::new()),
        };
        for folder in [layout::segments(dir), layout::generations(dir)] {
            fs::create_dir_all(&folder).map_err(CorpusError::io("create", &folder))?;
        }
        durable::remove(&layout::staging(dir))?;
        remove_unpublished(dir, number)?;
        Ok(Self {
            known: Known::read(dir, &segments)?,
            dir: dir.to_owned(),
            settings,
            number,
            segments,
            stages: 0,
            _lock: lock,
        })
    }

    /// The number of the published generation; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.number
    }

    /// What is published; it follows every publication.
    #[must_use]
    pub fn known(&self) -> Known {
        self.known.clone()
    }

    /// Begins a new segment.
    ///
    /// # Errors
    /// [`CorpusError::Io`].
    pub fn stage(&mut self) -> Result<StagedSegment, CorpusError> {
        self.stages += 1;
        StagedSegment::create(layout::staging(&self.dir).join(format!("{:08}", self.stages)))
    }

    /// Publishes a segment as a new generation and returns its number. Its documents replace
    /// published ones of the same id. An empty stage changes nothing.
    ///
    /// # Errors
    /// [`CorpusError::Io`]; the generation that was published before then still stands.
    pub fn publish(&mut self, mut staged: StagedSegment) -> Result<u64, CorpusError> {
        if staged.document_count() == 0 {
            durable::remove(staged.dir())?;
            return Ok(self.number);
        }
        staged.flush()?;
        let number = self.number + 1;
        let manifest = self.next_manifest(&staged, number)?;

        // A publication that failed half-way may have left its files.
        remove_unpublished(&self.dir, self.number)?;
        let target = layout::segment(&self.dir, &layout::segment_id(number));
        fs::rename(staged.dir(), &target).map_err(CorpusError::io("create", &target))?;
        durable::sync_dir(&layout::segments(&self.dir))?;
        manifest::write(&self.dir, &manifest)?;
        durable::replace_file(
            &layout::current(&self.dir),
            format!("{number}\n").as_bytes(),
        )?;

        // Readers may see the new generation from here on, whatever fails next.
        self.number = number;
        let segment = self.segments.len() as u32;
        self.segments = manifest.segments;
        self.known.add(segment, staged.added);
        durable::sync_dir(&self.dir)?;
        Ok(number)
    }

    /// Brings the stage to the disk and describes the generation that it makes.
    fn next_manifest(&self, staged: &StagedSegment, number: u64) -> Result<Manifest, CorpusError> {
        let files = durable::sync_tree(staged.dir())?;
        let mut segments = self.segments.clone();
        for (id, _) in &staged.added {
            if let Some((segment, ordinal)) = self.known.place_of(id) {
                segments[segment as usize].tombstones.push(ordinal);
            }
        }
        for segment in &mut segments {
            segment.tombstones.sort_unstable();
        }
        segments.push(SegmentManifest {
            id: layout::segment_id(number),
            documents: staged.document_count() as u32,
            passages: staged.passage_count() as u64,
            files: manifest::describe_files(staged.dir(), &files)?,
            tombstones: Vec::new(),
        });
        Ok(Manifest {
            format: FORMAT,
            number,
            created_unix_s: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            embedder: self.settings.embedder.clone(),
            segmentation: self.settings.segmentation.clone(),
            segments,
        })
    }
}

/// Refuses a folder that holds other things than an unpublished corpus: sweeping it could
/// destroy a person's files.
fn refuse_foreign_folder(dir: &Path) -> Result<(), CorpusError> {
    if layout::current(dir).is_file() {
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(CorpusError::io("list", dir))? {
        names.push(entry.map_err(CorpusError::io("list", dir))?.file_name());
    }
    let ours = names.is_empty() || names.iter().any(|name| name == "LOCK");
    let only_ours = names
        .iter()
        .all(|name| name == "CURRENT.tmp" || layout::UNPUBLISHED.iter().any(|ours| name == ours));
    if ours && only_ours {
        return Ok(());
    }
    Err(CorpusError::FolderInUse {
        path: dir.to_owned(),
    })
}

fn lock(dir: &Path) -> Result<File, CorpusError> {
    let path = layout::lock(dir);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(CorpusError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CorpusError::Locked {
            path: dir.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(CorpusError::io("lock", &path)(source)),
    }
}

fn check_settings(dir: &Path, manifest: &Manifest, settings: &Settings) -> Result<(), CorpusError> {
    let (corpus, given) = (&manifest.embedder, &settings.embedder);
    if corpus.fingerprint != given.fingerprint || corpus.dimensions != given.dimensions {
        return Err(CorpusError::OtherEmbedder {
            path: dir.to_owned(),
            corpus_embedder: corpus.reference.clone(),
            corpus_dimensions: corpus.dimensions,
            given_embedder: given.reference.clone(),
            given_dimensions: given.dimensions,
        });
    }
    if manifest.segmentation != settings.segmentation {
        return Err(CorpusError::OtherSegmentation {
            path: dir.to_owned(),
            corpus_segmentation: manifest.segmentation.clone(),
            given_segmentation: settings.segmentation.clone(),
        });
    }
    Ok(())
}

/// Removes segments and manifests of generations after `published`: no reader can know them.
fn remove_unpublished(dir: &Path, published: u64) -> Result<(), CorpusError> {
    for folder in [layout::segments(dir), layout::generations(dir)] {
        for entry in fs::read_dir(&folder).map_err(CorpusError::io("list", &folder))? {
            let path = entry.map_err(CorpusError::io("list", &folder))?.path();
            let number = path
                .file_name()
                .and_then(|name| name.to_str())
                .and_then(|name| name.split('.').next())
                .and_then(|stem| stem.parse::<u64>().ok());
            if number.is_some_and(|number| number > published) {
                durable::remove(&path)?;
            }
        }
    }
    Ok(())
}
