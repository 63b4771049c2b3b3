//! The lines of a segment's two JSON Lines files.

use std::ops::Range;

use ken_storage::ReadAt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::CorpusError;
use crate::outline::Location;
use crate::passage::{Passage, PassageId};

/// One line of `documents.jsonl`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DocumentRecord {
    /// The document's id.
    pub(super) id: String,
    /// [`crate::Document::digest_text`].
    pub(super) digest: String,
    /// The document's title; may be empty.
    pub(super) title: String,
    /// Everything else that the source says about the document.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) metadata: Map<String, Value>,
    /// The file that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
}

/// One line of `passages.jsonl`. Document id, title and metadata come from the document's record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PassageRecord {
    /// The passage's id.
    pub(super) id: String,
    /// The passage's text.
    pub(super) text: String,
    /// The location in the document, without the address, which comes from the document.
    #[serde(flatten)]
    pub(super) location: Location,
}

impl PassageRecord {
    /// The passage, with what its document says.
    pub(super) fn of_document(self, document: DocumentRecord) -> Passage {
        Passage {
            id: PassageId(self.id),
            doc_id: document.id,
            title: document.title,
            text: self.text,
            location: self.location.linked(&document.metadata),
            metadata: document.metadata,
        }
    }
}

/// Reads the line at `place`; `name` names its contents in messages.
pub(super) fn read<T: DeserializeOwned>(
    lines: &ReadAt,
    place: Option<Range<u64>>,
    name: impl Fn() -> String,
) -> Result<T, CorpusError> {
    let damaged = |reason| CorpusError::damaged(lines.path(), reason);
    let line = place.map(|place| lines.bytes(place)).transpose()?.flatten();
    let line = line.ok_or_else(|| damaged(format!("{} has no valid place", name())))?;
    serde_json::from_slice(&line).map_err(|error| damaged(format!("{}: {error}", name())))
}
