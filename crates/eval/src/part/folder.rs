//! The folder of a part: `part.json`, which identifies the run and holds the part's items, and the files of records
//! beside it. Joining needs nothing but the folders, on any machine.

use std::path::{Path, PathBuf};

use ken_language::fingerprint_of_texts;
use ken_storage::{StorageError, create_dir_all, replace};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Part, PartError};
use crate::results::{Difference, RunSettings, differences};

/// The file's name.
pub(super) const FILE: &str = "part.json";

/// A run in parts, without its items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartedRun {
    /// The settings that its records depend on.
    pub settings: RunSettings,
    /// The work on the items, and what a report of the whole run needs; an object.
    pub work: Value,
    /// The command of the whole run, for reports; commands may differ between parts.
    pub command: String,
}

/// The folder of a started or resumed part.
#[derive(Debug)]
pub struct PartFolder<I> {
    /// The folder.
    pub path: PathBuf,
    /// The items of this part.
    pub items: Vec<I>,
}

/// The content of `part.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) part: Part,
    /// A fingerprint of all items of the run, in order.
    all_items: String,
    #[serde(flatten)]
    pub(super) run: PartedRun,
    /// The items of this part.
    pub(super) items: Vec<Value>,
}

/// Whether a folder is that of a part.
pub fn is_part(folder: &Path) -> bool {
    folder.join(FILE).exists()
}

impl<I: Serialize + Clone> PartFolder<I> {
    /// Starts or resumes a part of a run over `items` in the folder `path`.
    ///
    /// # Errors
    /// A folder of another run or another part, or one that cannot be read or written.
    pub fn begin(
        path: PathBuf,
        part: Part,
        items: &[I],
        run: PartedRun,
    ) -> Result<Self, PartError> {
        let as_json = |items: &[I]| -> Result<Vec<Value>, PartError> {
            let values: Result<Vec<Value>, _> = items.iter().map(serde_json::to_value).collect();
            values.map_err(|cause| StorageError::new("write", &path)(cause.into()).into())
        };
        let own: Vec<I> = part.items_of(items).cloned().collect();
        let manifest = Manifest {
            part,
            all_items: fingerprint_of_items(&as_json(items)?),
            run,
            items: as_json(&own)?,
        };
        match Manifest::read_any(&path)? {
            None => manifest.write(&path)?,
            Some(before) => {
                let differences = differences(&before.identity(true), &manifest.identity(true));
                if !differences.is_empty() {
                    return Err(PartError::Begun { path, differences });
                }
            }
        }
        Ok(Self { path, items: own })
    }
}

impl Manifest {
    pub(super) fn read(folder: &Path) -> Result<Self, PartError> {
        let folder_of_other = || PartError::NotAPart {
            path: folder.to_owned(),
        };
        Self::read_any(folder)?.ok_or_else(folder_of_other)
    }

    fn read_any(folder: &Path) -> Result<Option<Self>, PartError> {
        let path = folder.join(FILE);
        match ken_storage::read(&path) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(manifest) => Ok(Some(manifest)),
                Err(cause) => Err(broken(folder, &cause)),
            },
            Err(cause) if cause.source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause.into()),
        }
    }

    fn write(&self, folder: &Path) -> Result<(), PartError> {
        create_dir_all(folder)?;
        let path = folder.join(FILE);
        let text = serde_json::to_vec(self)
            .map_err(|cause| StorageError::new("write", &path)(cause.into()))?;
        Ok(replace(&path, &text)?)
    }

    /// Whether these are all items of the run, in order.
    pub(super) fn is_of(&self, items: &[Value]) -> bool {
        self.all_items == fingerprint_of_items(items)
    }

    /// How the run of another part differs.
    pub(super) fn differences(&self, other: &Self) -> Vec<Difference> {
        differences(&self.identity(false), &other.identity(false))
    }

    /// What identifies the run, by name; with `is_numbered` also this part's number.
    fn identity(&self, is_numbered: bool) -> RunSettings {
        let in_words = |value: &Value| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let part = match is_numbered {
            true => ("part", self.part.to_string()),
            false => ("parts", self.part.count().to_string()),
        };
        let own = [part, ("items", self.all_items.clone())];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let work = self.run.work.as_object().into_iter().flatten();
        let mut identity = self.run.settings.clone();
        identity.extend(work.map(|(name, value)| (name.clone(), in_words(value))));
        identity.extend(own);
        identity
    }
}

/// A `part.json` with invalid content.
pub(super) fn broken(folder: &Path, cause: &serde_json::Error) -> PartError {
    PartError::BrokenPart {
        path: folder.join(FILE),
        reason: cause.to_string(),
    }
}

/// A fingerprint of items.
fn fingerprint_of_items(items: &[Value]) -> String {
    let texts: Vec<String> = items.iter().map(Value::to_string).collect();
    let fingerprint = fingerprint_of_texts(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    format!("{} of fingerprint {fingerprint}", items.len())
}
