//! `/v1/files` and `/v1/vector_stores`: a vector store is a corpus.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::filter::GivenFilter;
use crate::service::library::files::FileRecord;
use crate::service::library::stores::{Membership, StoreFile};

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
    /// A file is complete when it is there.
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

/// Something is gone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    /// False while it is still being taken out.
    pub(crate) deleted: bool,
    /// The generation from which it holds, where a corpus changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<u64>,
}

impl Deleted {
    /// An `object` of this id, which is gone.
    pub(crate) fn of(object: &'static str, id: String) -> Self {
        Self {
            id,
            object,
            deleted: true,
            generation: None,
        }
    }
}

/// A vector store to make.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct MakeVectorStore {
    /// The corpus's name, which is its id.
    pub(crate) name: Option<String>,
    /// Files to put into it.
    #[serde(default)]
    pub(crate) file_ids: Vec<String>,
    /// Returned as it is.
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// Whatever else clients send; documents are cut as the server's settings say.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// A corpus.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VectorStore {
    /// Its name.
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) created_at: u64,
    pub(crate) name: String,
    /// Of the files that were put into it through this API.
    pub(crate) usage_bytes: u64,
    pub(crate) file_counts: FileCounts,
    /// `in_progress` while a file is taken in.
    pub(crate) status: &'static str,
    pub(crate) expires_after: Option<()>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) last_active_at: Option<u64>,
    pub(crate) metadata: BTreeMap<String, String>,
    /// The generation that is searched; null while it is empty.
    pub(crate) generation: Option<u64>,
}

/// How many files of a corpus are how.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct FileCounts {
    in_progress: usize,
    completed: usize,
    failed: usize,
    cancelled: usize,
    total: usize,
}

impl FileCounts {
    pub(crate) fn of(files: &[StoreFile]) -> Self {
        let mut counts = Self {
            total: files.len(),
            ..Self::default()
        };
        for file in files {
            match file.status {
                Membership::InProgress => counts.in_progress += 1,
                Membership::Completed => counts.completed += 1,
                Membership::Failed => counts.failed += 1,
                Membership::Cancelled => counts.cancelled += 1,
            }
        }
        counts
    }

    pub(crate) fn status(&self) -> &'static str {
        match self.in_progress {
            0 => "completed",
            _ => "in_progress",
        }
    }
}

/// A file to put into a corpus.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AttachFile {
    pub(crate) file_id: String,
    /// Must be empty: documents say themselves what can be filtered by.
    pub(crate) attributes: Option<Map<String, Value>>,
    /// Whatever else clients send; documents are cut as the server's settings say.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// A file of a corpus.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VectorStoreFile {
    pub(crate) id: String,
    object: &'static str,
    created_at: u64,
    usage_bytes: u64,
    vector_store_id: String,
    /// `completed` means that it is searched.
    status: Membership,
    last_error: Option<LastError>,
    attributes: Map<String, Value>,
}

/// Why a file was not taken in.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LastError {
    /// `server_error`, `unsupported_file` or `invalid_file`.
    code: &'static str,
    /// For people; begins with ken's own code.
    message: String,
}

impl VectorStoreFile {
    pub(crate) fn new(corpus: &str, file: StoreFile) -> Self {
        Self {
            id: file.file,
            object: "vector_store.file",
            created_at: file.created,
            usage_bytes: file.bytes,
            vector_store_id: corpus.to_owned(),
            status: file.status,
            last_error: file.error.map(|(code, message)| LastError {
                code: match code.as_str() {
                    "server_error" => "server_error",
                    "unknown_format" | "no_documents" => "unsupported_file",
                    _ => "invalid_file",
                },
                message: format!("{code}: {message}"),
            }),
            attributes: Map::new(),
        }
    }
}

/// A search of a corpus.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SearchVectorStore {
    /// The query; of several, each is searched, and the best of all are returned.
    pub(crate) query: Queries,
    /// How many passages; 10 where nobody says.
    pub(crate) max_num_results: Option<usize>,
    /// Conditions on documents.
    pub(crate) filters: Option<GivenFilter>,
    /// Of these, a bound on scores is refused.
    pub(crate) ranking_options: Option<Value>,
    /// Whatever else clients send; not read.
    #[serde(flatten)]
    pub(crate) _others: Map<String, Value>,
}

/// What is searched.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of texts")]
pub(crate) enum Queries {
    /// One query.
    One(String),
    /// Several.
    Many(Vec<String>),
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VectorStoreResults {
    pub(crate) object: &'static str,
    pub(crate) search_query: Vec<String>,
    /// Best first.
    pub(crate) data: Vec<VectorStoreResult>,
    pub(crate) has_more: bool,
    pub(crate) next_page: Option<String>,
}

/// A passage that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VectorStoreResult {
    /// The file, where it was put in as one; else the document.
    pub(crate) file_id: String,
    pub(crate) filename: String,
    /// Comparable within one query only.
    pub(crate) score: f32,
    pub(crate) attributes: Map<String, Value>,
    pub(crate) content: [FoundText; 1],
}

/// The text of a passage.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundText {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}
