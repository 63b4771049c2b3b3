//! `/retrieve`, as search agents send it: the protocol of Search-R1's retrieval server and those that follow it.

use ken_answer::SearchResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queries to search for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RetrieveRequest {
    /// The queries.
    pub(crate) queries: Vec<String>,
    /// How many passages each; 3 by default.
    pub(crate) topk: Option<usize>,
    /// Whether to return scores with the passages.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) return_scores: bool,
    /// The corpus, by its name; by default the first.
    pub(crate) corpus: Option<String>,
}

/// The results of each query, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RetrieveResponse {
    pub(crate) result: Vec<Vec<Retrieved>>,
}

/// A passage, with its score if requested.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Retrieved {
    Scored {
        document: RetrievedDocument,
        score: f32,
    },
    Plain(RetrievedDocument),
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RetrievedDocument {
    /// The passage.
    id: String,
    /// The title in the first line, and the text.
    contents: String,
}

impl Retrieved {
    pub(crate) fn new(result: SearchResult, with_score: bool) -> Self {
        let document = RetrievedDocument {
            contents: format!("{}\n{}", result.passage.full_title(), result.text),
            id: result.passage.id.0,
        };
        match with_score {
            true => Self::Scored {
                document,
                score: result.score,
            },
            false => Self::Plain(document),
        }
    }
}
