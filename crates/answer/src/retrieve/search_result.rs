//! Search results: passages as they were ingested, or chunks of them.

use std::ops::Range;

use ken_corpus::{Location, Passage};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A passage found for a query, or a chunk of one.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The passage, whole.
    pub passage: Passage,
    /// The text found: that of the passage, or the chunk.
    pub text: String,
    /// The characters of the passage's text that the chunk spans; `None` if passages were not cut.
    pub chunk: Option<Range<usize>>,
    /// How well it fits, the larger the better; comparable within one search only.
    pub score: f32,
    /// Its corpus, if that was searched beside another.
    pub corpus: Option<String>,
}

impl SearchResult {
    /// A whole passage with a score.
    pub fn of(passage: Passage, score: f32) -> Self {
        Self {
            text: passage.text.clone(),
            passage,
            chunk: None,
            score,
            corpus: None,
        }
    }
}

/// A search result as other programs see it.
#[derive(Serialize)]
struct Shown<'a> {
    passage_id: &'a str,
    doc_id: &'a str,
    title: &'a str,
    text: &'a str,
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    corpus: Option<&'a str>,
    metadata: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<&'a Range<usize>>,
    #[serde(flatten)]
    location: &'a Location,
}

impl Serialize for SearchResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let passage = &self.passage;
        let shown = Shown {
            passage_id: passage.id.as_str(),
            doc_id: &passage.doc_id,
            title: &passage.title,
            text: &self.text,
            score: self.score,
            corpus: self.corpus.as_deref(),
            metadata: &passage.metadata,
            chunk: self.chunk.as_ref(),
            location: &passage.location,
        };
        shown.serialize(serializer)
    }
}
