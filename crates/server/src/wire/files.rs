//! `/v1/files`: files that clients upload.

use schemars::JsonSchema;
use serde::Serialize;

use crate::service::library::files::FileRecord;

/// A file that a client uploaded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileObject {
    pub(crate) id: String,
    object: &'static str,
    bytes: u64,
    created_at: u64,
    expires_at: Option<u64>,
    filename: String,
    purpose: String,
    /// An uploaded file is always complete.
    status: &'static str,
}

impl From<FileRecord> for FileObject {
    fn from(file: FileRecord) -> Self {
        Self {
            id: file.id,
            object: "file",
            bytes: file.bytes,
            created_at: file.created,
            expires_at: None,
            filename: file.filename,
            purpose: file.purpose,
            status: "processed",
        }
    }
}

/// A deleted object.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    /// False while it is still being removed.
    pub(crate) deleted: bool,
    /// The first generation without it, if a corpus changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<u64>,
}

impl Deleted {
    /// An `object` with this id, which is gone.
    pub(crate) fn of(object: &'static str, id: String) -> Self {
        Self {
            id,
            object,
            deleted: true,
            generation: None,
        }
    }
}
