//! Small records, each a file of JSON that is replaced as a whole.

use std::path::{Path, PathBuf};

use ken_storage::StorageError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The ending of every record's name.
pub(crate) const ENDING: &str = ".json";

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RecordError {
    #[error("{path} is no record of a server: {reason}")]
    #[diagnostic(
        remedy = "bring the file back from a copy, or remove it: what it tells of is then unknown"
    )]
    ServerRecordBroken { path: PathBuf, reason: String },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Where the record of an id is.
pub(crate) fn path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}{ENDING}"))
}

/// Whether a text is an id that the server made: this start, and letters and digits. Only such a text may be part of a
/// path.
pub(crate) fn is_id(id: &str, start: &str) -> bool {
    let rest = id.strip_prefix(start).unwrap_or_default();
    (1..=64).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Writes a record.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write(path: &Path, value: &impl Serialize) -> Result<(), RecordError> {
    let text = serde_json::to_vec(value).map_err(|error| RecordError::ServerRecordBroken {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    ken_storage::check_plain(path.parent().unwrap_or(path))?;
    Ok(ken_storage::replace(path, &text)?)
}

/// Removes a record, and then the folder of what belongs to it: in this order, the next start removes what is left of
/// a record that is gone.
///
/// # Errors
/// Files that cannot be removed.
pub(crate) fn remove(path: &Path, of_it: Option<&Path>) -> Result<(), StorageError> {
    ken_storage::check_plain(path.parent().unwrap_or(path))?;
    ken_storage::remove(path)?;
    of_it.map_or(Ok(()), ken_storage::remove)
}

/// Reads a record; `None` if there is none.
///
/// # Errors
/// A file that cannot be read, or that holds no such record.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordError> {
    let text = match ken_storage::read(path) {
        Ok(text) => text,
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let read = serde_json::from_slice(&text).map_err(|error| RecordError::ServerRecordBroken {
        path: path.to_owned(),
        reason: error.to_string(),
    });
    read.map(Some)
}

/// The record of this id in a folder; none if it is no id that begins so.
///
/// # Errors
/// As [`read`].
pub(crate) fn find<T: DeserializeOwned>(
    folder: &Path,
    id: &str,
    start: &str,
) -> Result<Option<T>, RecordError> {
    match is_id(id, start) {
        true => read(&path(folder, id)),
        false => Ok(None),
    }
}

/// All records of a folder, which is created if it is missing, in the order of their names.
///
/// # Errors
/// As [`read`].
pub(crate) fn all<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>, RecordError> {
    ken_storage::create_plain_dir_all(folder)?;
    let mut records = Vec::new();
    for name in ken_storage::names(folder)? {
        if name.ends_with(ENDING) {
            records.extend(read(&folder.join(name))?);
        }
    }
    Ok(records)
}
