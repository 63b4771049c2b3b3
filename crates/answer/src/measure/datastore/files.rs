//! The files of a datastore: `datastore.json`, which names all others, entries as JSON Lines, and
//! folders of keys. Files are never changed: a change writes new ones, and then removes those that
//! `datastore.json` no longer names. A process that changes the datastore holds `LOCK`; readers hold nothing, and read
//! again if their files were replaced meanwhile.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use ken_index::VectorSet;
use ken_storage::{
    AtomicFile, StorageError, create_dir_all, names, remove, replace, sync_tree, try_lock,
};
use serde::{Deserialize, Serialize};

use super::error::DatastoreError;
use super::{Entry, KeyedBy, SELF};

const FILE: &str = "datastore.json";
const LOCK: &str = "LOCK";
/// The prefixes of folders of keys and of files of entries, before the generation that wrote them.
const KEYS: &str = "keys-";
const ENTRIES: &str = "entries-";
const FORMAT: &str = "ken-datastore";
const VERSION: u32 = 1;

/// The most parts: a further one merges all keys into one.
const MOST_PARTS: usize = 8;

/// The content of `datastore.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    format: String,
    version: u32,
    /// The number of changes so far.
    pub(super) generation: u64,
    pub(super) keyed_by: KeyedBy,
    pub(super) corpora: Vec<String>,
    /// The number of neighbors that vote.
    pub(super) neighbors: usize,
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

/// Creates the folder. Refuses one that is not empty, except for the remains of an interrupted creation.
pub(super) fn prepare(folder: &Path) -> Result<(), DatastoreError> {
    create_dir_all(folder)?;
    let (keys, entries) = (keys_folder(1), format!("{ENTRIES}1.jsonl"));
    let left = [
        &keys,
        &entries,
        &format!("{entries}.tmp"),
        &format!("{FILE}.tmp"),
    ];
    match names(folder)?.iter().all(|name| left.contains(&name)) {
        true => Ok(()),
        false => Err(DatastoreError::NotEmpty {
            path: folder.to_path_buf(),
        }),
    }
}

impl Header {
    /// Reads `datastore.json`.
    ///
    /// # Errors
    /// A file that is missing, of another version, or with content that ken would not write; anything in the folder that
    /// is a link or no file.
    pub(super) fn read(folder: &Path) -> Result<Self, DatastoreError> {
        let unread = |error: &dyn std::fmt::Display| {
            damaged(folder, format!("`{FILE}` cannot be read: {error}"))
        };
        ken_storage::check_below(folder)?;
        let path = folder.join(FILE);
        let text = ken_storage::read(&path).map_err(|error| match error.source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => unread(&error.source),
            // A datastore that cannot be read just now is not a broken one.
            _ => error.into(),
        })?;
        let header: Self = serde_json::from_slice(&text).map_err(|error| unread(&error))?;
        if header.format != FORMAT || header.version != VERSION {
            let reason = format!(
                "it is of the format {} {}, and this ken reads {FORMAT} {VERSION}",
                header.format, header.version
            );
            return Err(damaged(folder, reason));
        }
        header.check().map_err(|reason| damaged(folder, reason))?;
        Ok(header)
    }

    /// Refuses content that ken does not write: other folders, above all those elsewhere, and impossible counts.
    fn check(&self) -> Result<(), String> {
        if self.generation == u64::MAX {
            return Err("its generation is past the last".to_owned());
        }
        if let Some(number) = self.keyed_by.center.iter().find(|mean| !mean.is_finite()) {
            return Err(format!("a number of the mean of its keys is {number}"));
        }
        let mut keys = 0_usize;
        for (place, part) in self.parts.iter().enumerate() {
            let number = part.folder.strip_prefix(KEYS).and_then(|n| n.parse().ok());
            let is_ours = number.is_some_and(|number: u64| {
                (1..=self.generation).contains(&number) && part.folder == keys_folder(number)
            });
            if !is_ours {
                return Err(format!("{:?} is not the name of its keys", part.folder));
            }
            let before = self.parts.iter().take(place);
            if before.into_iter().any(|other| other.folder == part.folder) {
                return Err(format!("it names {:?} twice", part.folder));
            }
            keys = keys
                .checked_add(part.keys)
                .ok_or("it has more keys than can be counted")?;
        }
        // The size of a file of keys shows their number only if keys have numbers.
        match keys > 0 && self.dimensions() == 0 {
            true => Err(format!("its {keys} keys have no numbers")),
            false => Ok(()),
        }
    }

    /// Reads the entries with the numbers of their keys, in that order.
    ///
    /// # Errors
    /// A file that is missing or damaged.
    pub(super) fn entries(&self, folder: &Path) -> Result<Vec<(Entry, usize)>, DatastoreError> {
        let path = folder.join(self.entries_file());
        let file = ken_storage::open(&path)?;
        let mut rows = Vec::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(StorageError::new("read", &path))?;
            let line: Line<Entry> = serde_json::from_str(&line).map_err(|error| {
                let reason = format!("{}, line {}: {error}", path.display(), number + 1);
                damaged(folder, reason)
            })?;
            rows.push((line.entry, line.key));
        }
        match rows.is_sorted_by(|a, b| a.1 < b.1) {
            true => Ok(rows),
            false => Err(damaged(
                folder,
                "its entries are not in the order of their keys".to_owned(),
            )),
        }
    }

    /// Keeps other processes from changing the datastore until the returned file is dropped.
    ///
    /// # Errors
    /// A datastore that another process changes, or has changed since this header was read.
    pub(super) fn lock(&self, folder: &Path) -> Result<File, DatastoreError> {
        let path = folder.to_path_buf();
        let Some(file) = try_lock(&folder.join(LOCK))? else {
            return Err(DatastoreError::Locked { path });
        };
        match Self::read(folder)?.generation == self.generation {
            true => Ok(file),
            false => Err(DatastoreError::Changed { path }),
        }
    }

    pub(super) fn new(keyed_by: KeyedBy, neighbors: usize, corpora: &[&str]) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            generation: 0,
            keyed_by,
            neighbors,
            corpora: corpora.iter().map(|name| (*name).to_owned()).collect(),
            parts: Vec::new(),
        }
    }

    /// The model itself, and the corpora.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        std::iter::once(SELF).chain(self.corpora.iter().map(String::as_str))
    }

    /// The share of each source in the vote of an entry, `[sources]`; `None` if it names an unknown source, or a share
    /// outside `[0, 1]`.
    pub(super) fn vote(&self, entry: &Entry) -> Option<Vec<f64>> {
        let sources: Vec<&str> = self.sources().collect();
        let place = |name: &str| sources.iter().position(|source| *source == name);
        let mut vote = vec![0.0; sources.len()];
        let own = place(&entry.source)?;
        match &entry.shares {
            None => vote[own] = 1.0,
            Some(shares) => {
                for (name, share) in shares {
                    if !(0.0..=1.0).contains(share) {
                        return None;
                    }
                    vote[place(name)?] = *share;
                }
            }
        }
        Some(vote)
    }

    fn dimensions(&self) -> usize {
        self.keyed_by.center.len()
    }

    /// The number of keys in all parts.
    pub(super) fn keys(&self) -> usize {
        self.parts.iter().map(|part| part.keys).sum()
    }

    fn entries_file(&self) -> String {
        format!("{ENTRIES}{}.jsonl", self.generation)
    }

    fn folders(&self, folder: &Path) -> Vec<(PathBuf, usize)> {
        let parts = self.parts.iter();
        parts
            .map(|part| (folder.join(&part.folder), part.keys))
            .collect()
    }

    /// Opens the keys, of which the files must have as many as the header says. None is live yet.
    pub(super) fn open_keys(&self, folder: &Path) -> Result<VectorSet, DatastoreError> {
        let folders = self.folders(folder);
        Ok(VectorSet::open(&folders, self.dimensions())?)
    }

    /// Writes the keys of more states or, if there are too many parts, all keys into one. Changes the header in memory only.
    pub(super) fn add_part(
        &mut self,
        folder: &Path,
        states: &[Vec<f32>],
    ) -> Result<(), DatastoreError> {
        let dimensions = self.dimensions();
        let mut all = Vec::new();
        if self.parts.len() + 1 > MOST_PARTS {
            for (dir, count) in self.folders(folder) {
                all.extend(VectorSet::read(&dir, count, dimensions)?);
            }
            self.parts.clear();
        }
        all.extend(states.iter().map(|state| self.keyed_by.key(state)));
        let name = keys_folder(self.generation + 1);
        let dir = folder.join(&name);
        // The remains of an interrupted change.
        remove(&dir)?;
        VectorSet::write(&dir, &all, dimensions)?;
        sync_tree(&dir)?;
        self.parts.push(Part {
            folder: name,
            keys: all.len(),
        });
        Ok(())
    }

    /// Writes the entries, then the header, which makes the change, and removes the files that it does not name. These files
    /// reach the disk before the header does, and the header before any file is removed.
    pub(super) fn commit(
        &mut self,
        folder: &Path,
        rows: &[(Entry, usize)],
    ) -> Result<(), DatastoreError> {
        self.generation += 1;
        let path = folder.join(self.entries_file());
        let mut file = AtomicFile::create(&path)?;
        for (entry, key) in rows {
            serde_json::to_writer(&mut file, &Line { entry, key: *key })
                .map_err(std::io::Error::from)
                .and_then(|()| file.write_all(b"\n"))
                .map_err(StorageError::new("write", &path))?;
        }
        // This syncs the name of the keys' folder as well.
        file.commit()?;
        let path = folder.join(FILE);
        let header = serde_json::to_vec(self)
            .map_err(std::io::Error::from)
            .map_err(StorageError::new("write", &path))?;
        replace(&path, &header)?;
        self.sweep(folder);
        Ok(())
    }

    /// Removes the files that the header does not name. One that cannot be removed stays, and does no harm.
    fn sweep(&self, folder: &Path) {
        let entries = self.entries_file();
        let named = |name: &str| {
            name == FILE || name == entries || self.parts.iter().any(|part| part.folder == name)
        };
        let ours = |name: &str| name.starts_with(KEYS) || name.starts_with(ENTRIES);
        for held in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = held.file_name();
            let name = name.to_string_lossy();
            if ours(&name) && !named(&name) {
                let _ = remove(&held.path());
            }
        }
    }
}

/// The folder of the keys that a generation wrote.
fn keys_folder(generation: u64) -> String {
    format!("{KEYS}{generation}")
}

fn damaged(folder: &Path, reason: String) -> DatastoreError {
    DatastoreError::Damaged {
        path: folder.to_path_buf(),
        reason,
    }
}
