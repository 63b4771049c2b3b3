//! The lines of a segment's two JSON Lines files.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One line of `documents.jsonl`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DocumentRecord {
    /// The document's id.
    pub(super) id: String,
    /// [`crate::Document::digest`] in hexadecimal.
    pub(super) digest: String,
    /// The document's title; may be empty.
    pub(super) title: String,
    /// Everything else that the source said about the document.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) metadata: Map<String, Value>,
}

/// One line of `passages.jsonl`. Document id, title and metadata come from the document's record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PassageRecord {
    /// The passage's id.
    pub(super) id: String,
    /// The passage's text.
    pub(super) text: String,
}
