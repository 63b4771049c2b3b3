//! An answer and its trace.

use std::collections::BTreeMap;

use ken_index::Hit;
use ken_route::Source;
use serde::{Deserialize, Serialize};

/// An answer, where it came from, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The question as asked.
    pub question: String,
    /// The answer as the model wrote it.
    pub answer: String,
    /// The policy that chose the route.
    pub policy: String,
    /// Where the knowledge came from.
    pub route: Source,
    /// Why that source was chosen.
    pub reason: String,
    /// The passages that the answer rests on.
    pub citations: Vec<Citation>,
    /// The passages found, best first; none where nothing was retrieved.
    pub retrieved: Vec<Retrieved>,
    /// Tokens over all calls of the model.
    pub tokens: Tokens,
    /// Milliseconds by stage, and `total`.
    pub timing_ms: BTreeMap<String, f64>,
}

/// A passage that the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The passage's number in the prompt, from 1.
    pub number: usize,
    /// The passage.
    pub passage_id: String,
    /// Its document.
    pub doc_id: String,
    /// The document's title.
    pub title: String,
    /// The passage's text.
    pub text: String,
}

/// A passage found for the question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Retrieved {
    /// The passage.
    pub passage_id: String,
    /// Its document.
    pub doc_id: String,
    /// The document's title.
    pub title: String,
    /// The passage's text.
    pub text: String,
    /// How well it fits, the larger the better; comparable within one search only.
    pub score: f32,
    /// Whether the model got to read it; `false` where it was cut to fit.
    pub in_prompt: bool,
}

impl Retrieved {
    /// A hit that the model has not read yet.
    pub(crate) fn unread(hit: Hit) -> Self {
        Self {
            passage_id: hit.passage.id.0,
            doc_id: hit.passage.doc_id,
            title: hit.passage.title,
            text: hit.passage.text,
            score: hit.score,
            in_prompt: false,
        }
    }
}

/// Tokens spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens that the model read.
    pub prompt: usize,
    /// Tokens that the model wrote.
    pub completion: usize,
}
