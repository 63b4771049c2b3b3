//! `/v1/vector_stores`: a vector store is a corpus.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::filter::GivenFilter;
use super::query::Parameter;
use super::texts::Texts;
use crate::service::library::stores::{Membership, StoreFile};

/// A vector store to make.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct MakeVectorStore {
    /// Its name for people, up to 256 characters; the server assigns its id.
    pub(crate) name: Option<String>,
    /// Files to put into it.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) file_ids: Vec<String>,
    /// Up to 16 texts by key, which are returned as they are.
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// Other parameters; documents are cut as the server's settings say.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// Changes to a vector store; fields that are null or left out stay.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ChangeVectorStore {
    /// Its name for people, up to 256 characters.
    pub(crate) name: Option<String>,
    /// Up to 16 texts by key, which replace those that it has.
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    /// Other parameters.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// A corpus.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VectorStore {
    /// Its id on all routes, where it is the name of a corpus.
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) created_at: u64,
    /// Its name for people; by default its id.
    pub(crate) name: String,
    /// Of the files that were put into it through this API.
    pub(crate) usage_bytes: u64,
    pub(crate) file_counts: FileCounts,
    /// `in_progress` while a file is being ingested.
    pub(crate) status: &'static str,
    pub(crate) expires_after: Option<()>,
    pub(crate) expires_at: Option<u64>,
    pub(crate) last_active_at: Option<u64>,
    pub(crate) metadata: BTreeMap<String, String>,
    /// The current generation; null while it is empty.
    pub(crate) generation: Option<u64>,
}

/// How many files of a corpus have each status.
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

    /// The status of a batch of these files.
    pub(crate) fn of_batch(&self, is_cancelled: bool) -> &'static str {
        match self.status() {
            "completed" if is_cancelled => "cancelled",
            "completed" if self.total > 0 && self.failed == self.total => "failed",
            status => status,
        }
    }
}

/// A file to put into a corpus.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AttachFile {
    pub(crate) file_id: String,
    /// Up to 16 texts, numbers and booleans by key, by which each of its documents can be filtered.
    pub(crate) attributes: Option<Map<String, Value>>,
    /// Other parameters; documents are cut as the server's settings say.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

impl AttachFile {
    /// A file without attributes.
    pub(crate) fn plain(file_id: String) -> Self {
        Self {
            file_id,
            attributes: None,
            others: Map::new(),
        }
    }
}

/// New attributes of a file.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DescribeFile {
    /// Up to 16 texts, numbers and booleans by key, which replace those that it has.
    pub(crate) attributes: Map<String, Value>,
}

/// Files to put into a corpus together: `file_ids` or `files`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MakeBatch {
    /// Up to 500.
    pub(crate) file_ids: Option<Vec<String>>,
    /// Up to 500, each with its own attributes.
    pub(crate) files: Option<Vec<AttachFile>>,
    /// The attributes of each of `file_ids`.
    pub(crate) attributes: Option<Map<String, Value>>,
    /// Other parameters; documents are cut as the server's settings say.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// Files that were put into a corpus together.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileBatch {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) created_at: u64,
    pub(crate) vector_store_id: String,
    /// `in_progress`, `completed` or `cancelled`; `failed` if every file failed.
    pub(crate) status: &'static str,
    /// Of those that were not removed since.
    pub(crate) file_counts: FileCounts,
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
    /// As they were given with the file.
    attributes: Map<String, Value>,
}

/// The parameters of a page of files.
pub(crate) const FILES: &[Parameter] = &[
    Parameter(
        "filter",
        "string",
        "Those that are `in_progress`, `completed`, `failed` or `cancelled`",
    ),
    Parameter("limit", "integer", "Files of a page"),
    Parameter("after", "string", "The id of the last file before the page"),
    Parameter("order", "string", "`desc`, newest first, or `asc`"),
];

/// Why a file was not ingested.
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
            attributes: file.attributes,
        }
    }
}

/// A search of a corpus.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SearchVectorStore {
    /// The query; with several, the best results of all are returned.
    pub(crate) query: Texts,
    /// How many passages; 10 by default.
    pub(crate) max_num_results: Option<usize>,
    /// Conditions on documents.
    pub(crate) filters: Option<GivenFilter>,
    /// Only `score_threshold` is obeyed: the least relevance of results, from 0 to 1.
    pub(crate) ranking_options: Option<Value>,
    /// Other parameters; not read.
    #[serde(flatten)]
    pub(crate) _others: Map<String, Value>,
}

/// The search results.
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
    /// The file, if it was put in as one; else the document.
    pub(crate) file_id: String,
    pub(crate) filename: String,
    /// Comparable within one query only; from 0 to 1 if a `score_threshold` was given.
    pub(crate) score: f32,
    /// The document's metadata, which has the attributes of its file.
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

/// The text of a file as it is searched.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileText {
    pub(crate) object: &'static str,
    /// A part for each passage, in the order of the text.
    pub(crate) data: Vec<FoundText>,
    pub(crate) has_more: bool,
    pub(crate) next_page: Option<String>,
}
