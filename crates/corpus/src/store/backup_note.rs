//! The file `BACKUP`, which marks a corpus as the backup of another one.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::CorpusError;

/// The name of the file.
pub(super) const NOTE: &str = "BACKUP";

/// The contents of the file, written before the generation that it announces is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BackupNote {
    /// The folder of the corpus.
    pub(super) corpus: String,
    /// The contents of `CURRENT`: the present ones, and those that the last backup leaves once it completes.
    pub(super) current: Vec<String>,
}

impl BackupNote {
    fn path(dir: &Path) -> PathBuf {
        dir.join(NOTE)
    }

    /// The note in a folder; `None` if it is not a backup.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, CorpusError> {
        let path = Self::path(dir);
        match ken_storage::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| CorpusError::damaged(&path, error.to_string())),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn write(&self, dir: &Path) -> Result<(), CorpusError> {
        let path = Self::path(dir);
        let mut json = serde_json::to_vec(self)
            .map_err(|error| CorpusError::damaged(&path, error.to_string()))?;
        json.push(b'\n');
        Ok(ken_storage::replace(&path, &json)?)
    }

    /// Whether a backup that publishes this generation was begun.
    pub(super) fn announces(dir: &Path, number: u64) -> bool {
        let begun = format!("{number} ");
        let note = Self::read(dir).ok().flatten();
        note.is_some_and(|note| note.current.iter().any(|line| line.starts_with(&begun)))
    }
}
