//! The passage: the unit that is embedded, retrieved and cited, and its identity.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::Document;
use crate::outline::Location;

/// Names one passage of a corpus: `{doc_id}#{n}`, where n counts a document's passages from 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PassageId(pub String);

impl PassageId {
    /// The id of the passage at `position` (from 0) in document `doc_id`.
    pub fn new(doc_id: &str, position: usize) -> Self {
        Self(format!("{doc_id}#{position}"))
    }

    /// The whole id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The document's id and the passage's position in it; `None` if this is no passage id.
    pub fn split(&self) -> Option<(&str, usize)> {
        let (doc_id, position) = self.0.rsplit_once('#')?;
        Some((doc_id, position.parse().ok()?))
    }
}

impl fmt::Display for PassageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A piece of a document's text, before it is part of a corpus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// Never empty, never only white space.
    pub text: String,
    /// The location in its document.
    pub location: Location,
}

impl From<&str> for Piece {
    fn from(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            location: Location::default(),
        }
    }
}

/// A piece of a document's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Unique in the corpus.
    pub id: PassageId,
    /// The document that the passage was cut from.
    pub doc_id: String,
    /// The document's title; may be empty.
    pub title: String,
    /// Never empty, never only white space.
    pub text: String,
    /// The location in its document.
    pub location: Location,
    /// What the source says about the document, besides its title.
    pub metadata: Map<String, Value>,
}

impl Passage {
    /// The passage at `position` (from 0) in `document`.
    pub fn of(document: &Document, position: usize, piece: Piece) -> Self {
        Self {
            id: PassageId::new(&document.id, position),
            doc_id: document.id.clone(),
            title: document.title.clone(),
            text: piece.text,
            location: piece.location.linked(&document.metadata),
            metadata: document.metadata.clone(),
        }
    }

    /// The document's title with the headings over the passage; see [`Location::titled`].
    pub fn full_title(&self) -> String {
        self.location.titled(&self.title)
    }
}

/// The text of a passage that models embed or compare: the document's title, with the
/// headings over the passage, and the text.
pub fn titled(title: &str, text: &str) -> String {
    match title.is_empty() {
        true => text.to_owned(),
        false => format!("{title}\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_splits_at_its_last_hash() {
        assert_eq!(PassageId::new("c#.md", 7).split(), Some(("c#.md", 7)));
        assert_eq!(PassageId("no number#x".into()).split(), None);
        assert_eq!(PassageId("plain".into()).split(), None);
    }
}
