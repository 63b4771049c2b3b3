//! What callers say of passages: which to prune, and their scores.

use serde::{Deserialize, Serialize};

use crate::passage::PassageId;

/// A passage to prune, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PruneMark {
    /// The passage.
    pub passage_id: PassageId,
    /// Its score.
    #[serde(default)]
    pub score: f64,
    /// The reason of the pruning.
    #[serde(default)]
    pub reason: String,
}

impl PruneMark {
    /// A passage to prune.
    pub fn new(passage_id: PassageId, score: f64, reason: impl Into<String>) -> Self {
        Self {
            passage_id,
            score,
            reason: reason.into(),
        }
    }
}

/// A passage with its score, given by its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaceMark {
    /// The index of the segment in the published generation.
    pub segment: usize,
    /// The ordinal of the passage in the segment.
    pub ordinal: usize,
    /// Its score.
    pub score: f64,
}
