//! `/retrieve`, as search agents send it: the protocol of Search-R1's retrieval server and those that follow it.

use ken_answer::SearchResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Queries to be searched.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RetrieveRequest {
    /// The queries.
    pub(crate) queries: Vec<String>,
    /// How many passages each; 3 where nothing is said.
    pub(crate) topk: Option<usize>,
    /// Whether scores stand beside the passages.
    #[serde(default)]
    pub(crate) return_scores: bool,
    /// The corpus, by its name; the first where none is named.
    pub(crate) corpus: Option<String>,
}

/// What was found for each query, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RetrieveResponse {
    pub(crate) result: Vec<Vec<Retrieved>>,
}

/// A passage, with its score where that was asked for.
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
    pub(crate) fn new(found: SearchResult, with_score: bool) -> Self {
        let document = RetrievedDocument {
            contents: format!("{}\n{}", found.passage.full_title(), found.text),
            id: found.passage.id.0,
        };
        match with_score {
            true => Self::Scored {
                document,
                score: found.score,
            },
            false => Self::Plain(document),
        }
    }
}
