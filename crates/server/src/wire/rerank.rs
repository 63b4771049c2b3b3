//! `/v1/rerank`, in the form of Cohere and Jina.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Texts to rank.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RerankRequest {
    /// `ken/reranker`, which is the default.
    pub(crate) model: Option<String>,
    /// The query.
    pub(crate) query: String,
    /// The texts.
    pub(crate) documents: Vec<Ranked>,
    /// How many of the best to return; all by default.
    pub(crate) top_n: Option<usize>,
    /// Whether to return the texts with their scores.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) return_documents: bool,
    /// ken's own parameters.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) ken: RerankOptions,
}

/// ken's own parameters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RerankOptions {
    /// The corpus whose embedder or reranker to use; by default the first.
    pub(crate) corpus: Option<String>,
}

/// A text to rank.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text, or an object with a `text`")]
pub(crate) enum Ranked {
    Text(String),
    Object { text: String },
}

impl From<Ranked> for String {
    fn from(ranked: Ranked) -> Self {
        match ranked {
            Ranked::Text(text) | Ranked::Object { text } => text,
        }
    }
}

/// The texts in their order, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RerankResponse {
    pub(crate) id: String,
    pub(crate) model: &'static str,
    pub(crate) results: Vec<RerankResult>,
    pub(crate) usage: RerankUsage,
}

/// A text with its score.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RerankResult {
    /// Its index in the request.
    pub(crate) index: usize,
    /// From 0 to 1, the larger the better.
    pub(crate) relevance_score: f32,
    /// The text, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<RankedText>,
}

/// A text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RankedText {
    pub(crate) text: String,
}

/// The tokens read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RerankUsage {
    /// Tokens of the texts, each with the query, as the embedder counts them.
    pub(crate) total_tokens: usize,
}
