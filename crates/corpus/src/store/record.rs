//! The lines of a segment's two JSON Lines files.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::CorpusError;

/// One line of `documents.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DocumentRecord {
    /// The document's id.
    pub(super) id: String,
    /// [`crate::Document::digest`] in hexadecimal.
    pub(super) digest: String,
    /// The document's title; may be empty.
    pub(super) title: String,
    /// The ordinal, in this segment, of its first passage.
    pub(super) first_passage: u64,
    /// How many passages it has; they follow each other.
    pub(super) passages: u32,
}

/// One line of `passages.jsonl`. Document id and title come from the document's record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PassageRecord {
    /// The passage's id.
    pub(super) id: String,
    /// The passage's text.
    pub(super) text: String,
}

/// Calls `each` with every document record of the file at `path`, in order, and checks that
/// their passages follow each other from 0. Returns the number of documents and of passages.
pub(super) fn read_documents(
    path: &Path,
    mut each: impl FnMut(u32, DocumentRecord) -> Result<(), CorpusError>,
) -> Result<(u32, u64), CorpusError> {
    let file = File::open(path).map_err(CorpusError::io("open", path))?;
    let (mut ordinal, mut passages) = (0_u32, 0_u64);
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(CorpusError::io("read", path))?;
        let record: DocumentRecord = serde_json::from_slice(&line).map_err(|error| {
            CorpusError::damaged(path, format!("line {}: {error}", u64::from(ordinal) + 1))
        })?;
        if record.first_passage != passages {
            return Err(CorpusError::damaged(
                path,
                format!(
                    "line {}: its passages begin at {}, not at {passages}",
                    u64::from(ordinal) + 1,
                    record.first_passage
                ),
            ));
        }
        passages += u64::from(record.passages);
        each(ordinal, record)?;
        ordinal = ordinal
            .checked_add(1)
            .ok_or_else(|| CorpusError::damaged(path, "too many documents"))?;
    }
    Ok((ordinal, passages))
}
