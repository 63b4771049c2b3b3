//! What a search finds: passages as they were ingested, or chunks of them.

use std::ops::Range;

use ken_corpus::Passage;
use ken_index::Hit;

/// A passage found for a query, or a chunk of one.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The passage, whole.
    pub passage: Passage,
    /// What of its text was found: all of it, or the chunk.
    pub text: String,
    /// Which characters of the passage's text the chunk is; `None` where passages were not cut.
    pub chunk: Option<Range<usize>>,
    /// How well it fits, the larger the better; comparable within one search only.
    pub score: f32,
}

impl SearchResult {
    /// A whole passage.
    pub(crate) fn passage(hit: Hit) -> Self {
        Self {
            text: hit.passage.text.clone(),
            passage: hit.passage,
            chunk: None,
            score: hit.score,
        }
    }
}
