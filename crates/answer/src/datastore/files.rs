//! The files of a datastore: `datastore.json`, which names all others, entries as JSON Lines, and
//! folders of keys. Files are never changed: new ones are written beside them, and what the first one
//! no longer names is removed. `LOCK` is held by the one who changes it.

use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use ken_index::VectorSet;
use ken_storage::{sync_dir, sync_tree};
use serde::{Deserialize, Serialize};

use super::error::DatastoreError;
use super::{Entry, KeyedBy, SELF};

const FILE: &str = "datastore.json";
const LOCK: &str = "LOCK";
const FORMAT: &str = "ken-datastore";
const VERSION: u32 = 1;

/// Parts from which on all keys are written into one anew.
const MOST_PARTS: usize = 8;

/// What `datastore.json` says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    format: String,
    version: u32,
    /// Counts what was written.
    generation: u64,
    pub(super) keyed_by: KeyedBy,
    pub(super) corpora: Vec<String>,
    parts: Vec<Part>,
}

/// A folder of keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    folder: String,
    keys: usize,
}

/// A line of the entries.
#[derive(Serialize, Deserialize)]
struct Line<E> {
    #[serde(flatten)]
    entry: E,
    /// The number of its key.
    key: usize,
}

/// Makes the folder; one that holds something is refused.
pub(super) fn prepare(folder: &Path) -> Result<(), DatastoreError> {
    fs::create_dir_all(folder).map_err(|source| failed("make", folder, source))?;
    let mut held = fs::read_dir(folder).map_err(|source| failed("look into", folder, source))?;
    match held.next() {
        Some(_) => Err(DatastoreError::NotEmpty {
            path: folder.to_path_buf(),
        }),
        None => Ok(()),
    }
}

/// Reads all but the keys: the entries with the numbers of their keys, in that order.
pub(super) fn read(folder: &Path) -> Result<(Header, Vec<(Entry, usize)>), DatastoreError> {
    let damaged = |reason| damaged(folder, reason);
    let header = Header::read(folder)?;
    let path = folder.join(header.entries_file());
    let file = File::open(&path).map_err(|source| failed("read", &path, source))?;
    let mut rows = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|source| failed("read", &path, source))?;
        let line: Line<Entry> = serde_json::from_str(&line).map_err(|error| {
            damaged(format!("{}, line {}: {error}", path.display(), number + 1))
        })?;
        rows.push((line.entry, line.key));
    }
    if !rows.is_sorted_by(|one, other| one.1 < other.1) {
        return Err(damaged(
            "its entries are not in the order of their keys".to_owned(),
        ));
    }
    Ok((header, rows))
}

impl Header {
    fn read(folder: &Path) -> Result<Self, DatastoreError> {
        let unread = |error: &dyn std::fmt::Display| {
            damaged(folder, format!("`{FILE}` cannot be read: {error}"))
        };
        let text = fs::read(folder.join(FILE)).map_err(|error| unread(&error))?;
        let header: Self = serde_json::from_slice(&text).map_err(|error| unread(&error))?;
        if header.format != FORMAT || header.version != VERSION {
            let reason = format!(
                "it is of the format {} {}, and this ken reads {FORMAT} {VERSION}",
                header.format, header.version
            );
            return Err(damaged(folder, reason));
        }
        Ok(header)
    }

    /// Keeps others from changing the datastore until what is returned is dropped.
    ///
    /// # Errors
    /// One who changes it, or has changed it since this header was read.
    pub(super) fn lock(&self, folder: &Path) -> Result<File, DatastoreError> {
        let path = folder.join(LOCK);
        let mut options = File::options();
        let options = options.create(true).truncate(false).write(true);
        let file = options
            .open(&path)
            .map_err(|source| failed("open", &path, source))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => DatastoreError::Locked {
                path: folder.to_path_buf(),
            },
            TryLockError::Error(source) => failed("lock", &path, source),
        })?;
        if Self::read(folder)?.generation == self.generation {
            Ok(file)
        } else {
            Err(DatastoreError::Changed {
                path: folder.to_path_buf(),
            })
        }
    }

    pub(super) fn new(keyed_by: KeyedBy, corpora: &[&str]) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            generation: 0,
            keyed_by,
            corpora: corpora.iter().map(|name| (*name).to_owned()).collect(),
            parts: Vec::new(),
        }
    }

    /// The model itself, and the corpora.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        std::iter::once(SELF).chain(self.corpora.iter().map(String::as_str))
    }

    fn dimensions(&self) -> usize {
        self.keyed_by.center.len()
    }

    /// Keys in all parts.
    pub(super) fn keys(&self) -> usize {
        self.parts.iter().map(|part| part.keys).sum()
    }

    fn entries_file(&self) -> String {
        format!("entries-{}.jsonl", self.generation)
    }

    fn folders(&self, folder: &Path) -> Vec<(PathBuf, usize)> {
        let parts = self.parts.iter();
        parts
            .map(|part| (folder.join(&part.folder), part.keys))
            .collect()
    }

    /// # Shapes
    /// `is_live`: `[keys]`, whether a key's entry is there.
    pub(super) fn open_keys(
        &self,
        folder: &Path,
        is_live: Vec<bool>,
    ) -> Result<VectorSet, DatastoreError> {
        let folders = self.folders(folder);
        Ok(VectorSet::open(&folders, self.dimensions(), is_live)?)
    }

    /// Writes more keys; where there are many parts, all of them into one. The header names them,
    /// but is not written.
    pub(super) fn add_part(
        &mut self,
        folder: &Path,
        keys: &[Vec<f32>],
    ) -> Result<(), DatastoreError> {
        let dimensions = self.dimensions();
        let mut all = Vec::new();
        if self.parts.len() + 1 > MOST_PARTS {
            for (dir, count) in self.folders(folder) {
                all.extend(VectorSet::read(&dir, count, dimensions)?);
            }
            self.parts.clear();
        }
        all.extend_from_slice(keys);
        let name = format!("keys-{}", self.generation + 1);
        let dir = folder.join(&name);
        if dir.exists() {
            // Of a change that was broken off.
            fs::remove_dir_all(&dir).map_err(|source| failed("remove", &dir, source))?;
        }
        VectorSet::write(&dir, &all, dimensions)?;
        sync_tree(&dir).map_err(refused)?;
        self.parts.push(Part {
            folder: name,
            keys: all.len(),
        });
        Ok(())
    }

    /// Writes the entries and then the header, by which the change is made, and removes what it does
    /// not name. What the header names is on the disk before the header is, and that before anything
    /// is removed.
    pub(super) fn commit(
        &mut self,
        folder: &Path,
        rows: &[(Entry, usize)],
    ) -> Result<(), DatastoreError> {
        self.generation += 1;
        let path = folder.join(self.entries_file());
        let write = || -> std::io::Result<()> {
            let mut file = std::io::BufWriter::new(File::create(&path)?);
            for (entry, key) in rows {
                serde_json::to_writer(&mut file, &Line { entry, key: *key })?;
                file.write_all(b"\n")?;
            }
            file.into_inner()?.sync_all()
        };
        write().map_err(|source| failed("write", &path, source))?;
        sync_dir(folder).map_err(refused)?;
        let (path, new) = (folder.join(FILE), folder.join(format!("{FILE}.new")));
        let write = || -> std::io::Result<()> {
            let file = File::create(&new)?;
            serde_json::to_writer(&file, self)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        };
        write().map_err(|source| failed("write", &path, source))?;
        sync_dir(folder).map_err(refused)?;
        self.sweep(folder);
        Ok(())
    }

    /// Removes what the header does not name. What cannot be removed stays, and does no harm.
    fn sweep(&self, folder: &Path) {
        let entries = self.entries_file();
        let named = |name: &str| {
            name == FILE || name == entries || self.parts.iter().any(|part| part.folder == name)
        };
        let ours = |name: &str| name.starts_with("keys-") || name.starts_with("entries-");
        for held in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = held.file_name();
            let name = name.to_string_lossy();
            if named(&name) || !ours(&name) {
                continue;
            }
            let path = held.path();
            let _ = if path.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            };
        }
    }
}

fn damaged(folder: &Path, reason: String) -> DatastoreError {
    DatastoreError::Damaged {
        path: folder.to_path_buf(),
        reason,
    }
}

fn refused(error: ken_storage::StorageError) -> DatastoreError {
    failed(error.action, &error.path, error.source)
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> DatastoreError {
    DatastoreError::File {
        action,
        path: path.to_path_buf(),
        source,
    }
}
