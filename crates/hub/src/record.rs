//! The cache's record of a pulled model: `model.json`.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::{HubError, io_error};
use crate::reference::ModelReference;

/// The name of the record inside a model's folder.
pub(crate) const RECORD_NAME: &str = "model.json";

/// The size limit of a record, which normally has a few kilobytes.
const MOST_BYTES: u64 = 32 << 20;

/// One file of a cached model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Relative to the model's folder, with `/` between its parts.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in lower-case hexadecimal, computed during the pull.
    pub sha256: String,
}

/// A model in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// The reference that was pulled.
    pub reference: ModelReference,
    /// The one file that the reference names; `None` if the model is a folder.
    pub file: Option<String>,
    /// Its files.
    pub files: Vec<FileRecord>,
    /// The commit of the Hugging Face repository, for a model from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// When it was pulled: UTC, `YYYY-MM-DDThh:mm:ssZ`.
    pub pulled_at: String,
}

impl ModelRecord {
    /// The size of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }
}

/// Reads the record in `folder`; `None` if there is none.
pub(crate) fn read(folder: &Path) -> Result<Option<ModelRecord>, HubError> {
    let path = folder.join(RECORD_NAME);
    let file = match ken_storage::open(&path) {
        Ok(file) => file,
        Err(e) if e.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let mut text = String::new();
    let read = file.take(MOST_BYTES).read_to_string(&mut text);
    read.map_err(|e| io_error("read", &path, e))?;
    let record = serde_json::from_str(&text);
    record.map(Some).map_err(|e| HubError::BadRecord {
        path,
        detail: e.to_string(),
    })
}

/// Now, as RFC 3339 to the second, in UTC.
pub(crate) fn now_utc() -> String {
    let now = OffsetDateTime::now_utc();
    let seconds = now.replace_nanosecond(0).unwrap_or(now);
    seconds.format(&Rfc3339).unwrap_or_default()
}
