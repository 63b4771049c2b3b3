//! What would have been right answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Right answers to a question. The first that are given count.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackRequest {
    /// Of the answer: the header `x-request-id`, and `request_id` in its trace.
    pub(crate) request_id: String,
    /// Short answers, each of which is right: 1 to 20.
    pub(crate) answers: Vec<String>,
}

/// What became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeedbackResponse {
    pub(crate) request_id: String,
    /// Whether it counts for the guarantee: where the question was drawn, not too long ago, and has no right
    /// answers yet.
    pub(crate) counts: bool,
}
