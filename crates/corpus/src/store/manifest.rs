//! The manifest of one generation: its segments, their marks and their scores. Written once as JSON,
//! never changed.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ken_storage::{AtomicFile, BLOCK_BYTES, CheckedFolder, Mapped, ReadAt, StorageError};
use serde::{Deserialize, Serialize};

use super::backup_note::BackupNote;
use super::error::CorpusError;
use super::layout;
use super::settings::Settings;

/// The format that this version reads and writes.
pub(super) const FORMAT: u32 = 2;

/// What made a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Documents were added or replaced.
    Ingest,
    /// Documents were deleted.
    Delete,
    /// Passages were marked as pruned.
    Prune,
    /// Passages were given scores.
    Score,
    /// Dead and pruned passages were dropped from the files.
    Compact,
    /// An earlier generation was restored.
    Rollback,
    /// Damaged segments were dropped.
    Repair,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Settings {
    /// The settings of the corpus at `dir`; `None` if there is none yet.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`], [`CorpusError::OtherFormat`], [`CorpusError::Io`].
    pub fn of(dir: &Path) -> Result<Option<Self>, CorpusError> {
        let manifest = match current(dir)? {
            Some(current) => Some(read_current(dir, &current)?),
            None => unpublished(dir)?.map(|(manifest, _)| manifest),
        };
        Ok(manifest.map(|manifest| manifest.settings))
    }
}

/// The contents of a generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The version of this layout.
    pub(super) format: u32,
    /// The generation's number, from 1.
    pub(super) number: u64,
    /// The generation that was current when its writer started. Of generations with the same base,
    /// which one writer published, only the last is useful.
    pub(super) base: u64,
    /// What made it.
    pub(super) change: Change,
    /// When it was published, in seconds since 1970 (UTC).
    pub(super) created_unix_s: u64,
    /// What all segments have in common.
    #[serde(flatten)]
    pub(super) settings: Settings,
    /// Oldest first.
    pub(super) segments: Vec<SegmentManifest>,
}

impl Manifest {
    /// A hash of the number, the embedder and the contents of some of the segments.
    pub(super) fn fingerprint<'a>(
        &self,
        segments: impl Iterator<Item = &'a SegmentManifest>,
    ) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        add(&self.number.to_string());
        add(&self.settings.embedder.fingerprint);
        for segment in segments {
            add(&segment.id);
            for file in segment.files.iter().chain(segment.beside()) {
                add(&file.name);
                add(&file.blake3);
            }
        }
        let mut hex = hasher.finalize().to_hex().to_string();
        hex.truncate(32);
        hex
    }
}

/// One immutable segment as a generation sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SegmentManifest {
    /// The name of its folder.
    pub(super) id: String,
    /// The shard of all its documents, from 0.
    pub(super) shard: u32,
    /// How many documents it holds, dead ones included.
    pub(super) documents: u32,
    /// How many passages it holds, dead and pruned ones included.
    pub(super) passages: u64,
    /// How many of its documents were not deleted or replaced.
    pub(super) live_documents: u32,
    /// How many passages of live documents are not pruned.
    pub(super) live_passages: u64,
    /// How many passages of live documents are pruned.
    pub(super) pruned_passages: u64,
    /// Its files, sorted by path, and last their checksums.
    pub(super) files: Vec<FileManifest>,
    /// The file with its marks, if any.
    pub(super) marks: Option<FileManifest>,
    /// The files with the scores of its passages, by the names of the scores.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) scores: BTreeMap<String, FileManifest>,
}

impl SegmentManifest {
    /// The length of all its files.
    pub(super) fn bytes(&self) -> u64 {
        let files = self.files.iter().chain(self.beside());
        files.map(|file| file.bytes).sum()
    }

    /// The files outside its folder, which change while it stays: its marks and scores.
    pub(super) fn beside(&self) -> impl Iterator<Item = &FileManifest> {
        self.marks.iter().chain(self.scores.values())
    }

    /// Maps one of its files, which must have its recorded length.
    pub(super) fn map(&self, files: &CheckedFolder, name: &str) -> Result<Mapped, CorpusError> {
        let bytes = self.bytes_of(name);
        files.map(name, bytes).map_err(CorpusError::opening)
    }

    /// Opens one of its files, which must have its recorded length, for reading by position.
    pub(super) fn open(&self, files: &CheckedFolder, name: &str) -> Result<ReadAt, CorpusError> {
        let bytes = self.bytes_of(name);
        files.read_at(name, bytes).map_err(CorpusError::opening)
    }

    fn bytes_of(&self, name: &str) -> Option<u64> {
        let file = self.files.iter().find(|file| file.name == name);
        file.map(|file| file.bytes)
    }
}

/// One file of a generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileManifest {
    /// The path below its folder, with forward slashes.
    pub(super) name: String,
    /// Its length.
    pub(super) bytes: u64,
    /// Its BLAKE3 hash in hexadecimal.
    pub(super) blake3: String,
}

impl FileManifest {
    pub(super) fn of_bytes(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            bytes: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        }
    }

    /// Reads a whole file below `dir`.
    pub(super) fn of_file(dir: &Path, path: &Path) -> Result<Self, CorpusError> {
        Self::of_blocks(dir, path, |_| Ok(()))
    }

    /// As [`FileManifest::of_file`], and calls `visit` with each block of the file.
    pub(super) fn of_blocks(
        dir: &Path,
        path: &Path,
        mut visit: impl FnMut(&[u8]) -> Result<(), CorpusError>,
    ) -> Result<Self, CorpusError> {
        let mut hasher = blake3::Hasher::new();
        let mut file = ken_storage::open(path)?;
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        loop {
            block.clear();
            let mut rest = (&mut file).take(BLOCK_BYTES as u64);
            let read = rest.read_to_end(&mut block);
            if read.map_err(CorpusError::io("read", path))? == 0 {
                break;
            }
            hasher.update(&block);
            visit(&block)?;
        }
        let below = path.strip_prefix(dir).unwrap_or(path);
        let parts: Vec<_> = below
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        Ok(Self {
            name: parts.join("/"),
            bytes: hasher.count(),
            blake3: hasher.finalize().to_hex().to_string(),
        })
    }

    /// Checks presence and length of a file, not its contents.
    pub(super) fn check_length(&self, path: &Path) -> Result<(), CorpusError> {
        let metadata = path
            .symlink_metadata()
            .map_err(StorageError::new("read", path));
        let received = metadata.map_err(CorpusError::opening)?.len();
        match received == self.bytes {
            true => Ok(()),
            false => Err(CorpusError::damaged(
                path,
                format!("it has {received} bytes, not {}", self.bytes),
            )),
        }
    }
}

/// The version of the layout, which the first version had at the top level.
#[derive(Deserialize)]
#[serde(untagged)]
enum Format {
    Sealed { manifest: FormatOnly },
    First(FormatOnly),
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

impl Format {
    fn number(&self) -> u32 {
        match self {
            Self::Sealed { manifest } | Self::First(manifest) => manifest.format,
        }
    }
}

/// The contents of `CURRENT`: which generation is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) number: u64,
    /// The hash of its manifest.
    blake3: String,
}

/// A manifest as written: with the hash of its JSON.
#[derive(Deserialize)]
struct Sealed {
    manifest: Manifest,
    blake3: String,
}

fn seal(manifest: &Manifest, path: &Path) -> Result<(Vec<u8>, String), CorpusError> {
    let json = serde_json::to_vec(manifest)
        .map_err(|error| CorpusError::damaged(path, error.to_string()))?;
    let hash = blake3::hash(&json).to_hex().to_string();
    Ok((json, hash))
}

/// The published generation; `None` if the folder is no corpus, or its first generation was
/// never published.
///
/// # Errors
/// [`CorpusError::CurrentLost`] if there is no `CURRENT`, but more than an interrupted first
/// publication leaves; [`CorpusError::Io`] if something of the corpus is no plain file or folder.
pub(super) fn current(corpus: &Path) -> Result<Option<Current>, CorpusError> {
    layout::check(corpus)?;
    let path = layout::current(corpus);
    let text = match ken_storage::read(&path) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.source.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return unpublished(corpus).map(|_| None);
        }
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8_lossy(&text);
    let parsed = text.trim().split_once(' ').and_then(|(number, blake3)| {
        Some(Current {
            number: number.parse().ok()?,
            blake3: blake3.to_owned(),
        })
    });
    parsed.map(Some).ok_or_else(|| {
        CorpusError::damaged(
            &path,
            format!(
                "expected a generation's number and hash, found {:.40?}",
                text.trim()
            ),
        )
    })
}

/// The first generation, with the line for `CURRENT`, if its writer was interrupted just before
/// publishing it. `None` if the folder holds nothing of a corpus, or only segments that no manifest names.
///
/// # Errors
/// [`CorpusError::CurrentLost`] if the folder holds more than an interrupted first publication
/// leaves: it was published, and `CURRENT` was lost.
pub(super) fn unpublished(corpus: &Path) -> Result<Option<(Manifest, String)>, CorpusError> {
    match numbers(corpus, u64::MAX)?.as_slice() {
        // A writer creates the folder of generations before it writes a segment.
        [] if layout::generations(corpus).is_dir() && layout::newest(corpus)? <= 1 => Ok(None),
        [] if layout::newest(corpus)? == 0 => Ok(None),
        [1] => match read_sealed(corpus, 1) {
            Ok((manifest, blake3)) => Ok(Some((manifest, current_line(1, &blake3)))),
            Err(CorpusError::Damaged { .. }) => Err(lost(corpus, vec![1])),
            Err(error) => Err(error),
        },
        numbers => Err(lost(corpus, numbers.to_vec())),
    }
}

/// The published generation.
///
/// # Errors
/// [`CorpusError::NotACorpus`], [`CorpusError::CurrentLost`], [`CorpusError::Damaged`],
/// [`CorpusError::Io`].
pub(super) fn published(corpus: &Path) -> Result<Current, CorpusError> {
    match current(corpus)? {
        Some(current) => Ok(current),
        None => Err(match unpublished(corpus)? {
            Some((manifest, _)) => lost(corpus, vec![manifest.number]),
            None => CorpusError::NotACorpus {
                path: corpus.to_owned(),
                holds_files: ken_storage::names(corpus)
                    .is_ok_and(|names| !layout::is_unpublished(&names)),
            },
        }),
    }
}

/// The number in `CURRENT`, whether or not that generation exists; 0 for none.
pub(super) fn claimed(corpus: &Path) -> u64 {
    let current = current(corpus).ok().flatten();
    current.map_or(0, |current| current.number)
}

/// Refuses generations newer than an interrupted publication or backup after `current` leaves: `CURRENT` was
/// set back to an earlier state, and they would be removed as never published.
pub(super) fn refuse_newer(corpus: &Path, current: u64) -> Result<(), CorpusError> {
    let newer = numbers(corpus, u64::MAX)?;
    match newer
        .iter()
        .any(|&number| number > current.saturating_add(1) && !BackupNote::announces(corpus, number))
    {
        true => Err(CorpusError::CurrentLost {
            path: corpus.to_owned(),
            reason: format!("its file CURRENT names generation {current}"),
            generations: newer,
        }),
        false => Ok(()),
    }
}

fn lost(corpus: &Path, generations: Vec<u64>) -> CorpusError {
    CorpusError::CurrentLost {
        path: corpus.to_owned(),
        reason: "its file CURRENT is missing".to_owned(),
        generations,
    }
}

/// Reads the manifest of the published generation.
pub(super) fn read_current(corpus: &Path, current: &Current) -> Result<Manifest, CorpusError> {
    let (manifest, blake3) = read_sealed(corpus, current.number)?;
    match blake3 == current.blake3 {
        true => Ok(manifest),
        false => Err(CorpusError::damaged(
            &layout::current(corpus),
            "its hash is not that of the generation it names",
        )),
    }
}

/// Reads the manifest of a generation.
pub(super) fn read(corpus: &Path, number: u64) -> Result<Manifest, CorpusError> {
    Ok(read_sealed(corpus, number)?.0)
}

/// The contents of a file that a generation needs.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, CorpusError> {
    ken_storage::read(path).map_err(CorpusError::opening)
}

fn read_sealed(corpus: &Path, number: u64) -> Result<(Manifest, String), CorpusError> {
    let path = layout::generation(corpus, number);
    let text = read_file(&path)?;
    let damaged = |reason: String| CorpusError::damaged(&path, reason);
    let format = serde_json::from_slice::<Format>(&text)
        .map_err(|error| damaged(error.to_string()))?
        .number();
    if format != FORMAT {
        return Err(CorpusError::OtherFormat {
            path,
            found: format,
            supported: FORMAT,
        });
    }
    let sealed: Sealed =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    sealed.manifest.validate().map_err(damaged)?;
    if seal(&sealed.manifest, &path)?.1 != sealed.blake3 {
        return Err(damaged("its hash does not match".to_owned()));
    }
    if sealed.manifest.number != number {
        let own = sealed.manifest.number;
        return Err(damaged(format!("it says that it is generation {own}")));
    }
    Ok((sealed.manifest, sealed.blake3))
}

/// Writes a manifest to the disk and returns the line for `CURRENT` that publishes it.
pub(super) fn write(corpus: &Path, manifest: &Manifest) -> Result<String, CorpusError> {
    let path = layout::generation(corpus, manifest.number);
    let (json, blake3) = seal(manifest, &path)?;
    let mut text = b"{\"manifest\":".to_vec();
    text.extend(json);
    text.extend(format!(",\"blake3\":\"{blake3}\"}}\n").into_bytes());
    ken_storage::replace(&path, &text)?;
    Ok(current_line(manifest.number, &blake3))
}

/// Replaces `CURRENT`, which publishes a generation. It is on the disk once the corpus folder has
/// been synced.
pub(super) fn publish(corpus: &Path, current: &str) -> Result<(), CorpusError> {
    let path = layout::current(corpus);
    let mut file = AtomicFile::create(&path)?;
    file.write_all(current.as_bytes())
        .map_err(CorpusError::io("write", &path))?;
    Ok(file.rename()?)
}

/// The contents of `CURRENT` for the generation of this manifest.
pub(super) fn line_of(manifest: &Manifest) -> Result<String, CorpusError> {
    let (_, blake3) = seal(manifest, Path::new(""))?;
    Ok(current_line(manifest.number, &blake3))
}

/// The contents of `CURRENT` for a generation.
fn current_line(number: u64, blake3: &str) -> String {
    format!("{number} {blake3}\n")
}

/// The numbers of the generations that are kept, up to `current`, ascending.
pub(super) fn numbers(corpus: &Path, current: u64) -> Result<Vec<u64>, CorpusError> {
    let mut numbers: Vec<u64> = layout::names(&layout::generations(corpus))?
        .iter()
        .filter(|name| name.ends_with(".json"))
        .filter_map(|name| layout::generation_of(name))
        .filter(|&number| number <= current)
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The files of a segment in a generation, its marks and scores included, with their paths.
pub(super) fn files_of(corpus: &Path, segment: &SegmentManifest) -> Vec<(PathBuf, FileManifest)> {
    let dir = layout::segment(corpus, &segment.id);
    let within =
        |folder: PathBuf| move |file: &FileManifest| (folder.join(&file.name), file.clone());
    let own = segment.files.iter().map(within(dir));
    let beside = segment.beside().map(within(layout::marks(corpus)));
    own.chain(beside).collect()
}
