//! Passages that are left out of every result.

use ken_corpus::{PrunedDocument, Pruning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::service::library::pruning::Mark;

/// What to leave out of every result. It stays in the corpus, and can be restored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneRequest {
    /// Documents, all of whose passages are left out.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) documents: Vec<String>,
    /// Single passages.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) passages: Vec<Mark>,
    /// The reason for passages without one of their own; `by hand` by default.
    pub(crate) reason: Option<String>,
}

/// The passages that are left out for one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PruningObject {
    /// The reason. Those of `ken prune` begin with `ken prune: `.
    reason: String,
    /// How many passages.
    passages: usize,
    /// How many documents these are from.
    documents: usize,
    /// The lowest score among them.
    lowest_score: f64,
    /// The highest one.
    highest_score: f64,
}

impl From<Pruning> for PruningObject {
    fn from(pruning: Pruning) -> Self {
        Self {
            reason: pruning.reason,
            passages: pruning.passages,
            documents: pruning.documents,
            lowest_score: pruning.lowest_score,
            highest_score: pruning.highest_score,
        }
    }
}

/// A document with passages that are left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PrunedDocumentObject {
    /// The document.
    pub(crate) doc_id: String,
    /// Its title.
    title: String,
    /// How many passages it has, including those left out.
    passages: usize,
    /// Those that are left out, in the order of the text.
    pruned: Vec<PrunedPassageObject>,
}

/// A passage that is left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PrunedPassageObject {
    /// The passage.
    passage_id: String,
    /// Its score.
    score: f64,
    /// Why.
    reason: String,
}

impl From<PrunedDocument> for PrunedDocumentObject {
    fn from(document: PrunedDocument) -> Self {
        let pruned = document.pruned.into_iter();
        Self {
            doc_id: document.id,
            title: document.title,
            passages: document.passages,
            pruned: pruned
                .map(|mark| PrunedPassageObject {
                    passage_id: mark.passage_id.0,
                    score: mark.score,
                    reason: mark.reason,
                })
                .collect(),
        }
    }
}
