//! Passages that are left out of every result.

use ken_corpus::{PrunedDocument, Pruning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to leave out of every result. It stays in the corpus, and can be restored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneRequest {
    /// Documents, all of whose passages are left out.
    #[serde(default)]
    pub(crate) documents: Vec<String>,
    /// Single passages.
    #[serde(default)]
    pub(crate) passages: Vec<MarkedPassage>,
    /// The reason for passages without one of their own; `by hand` by default.
    pub(crate) reason: Option<String>,
}

/// A passage to leave out: a line of what `ken prune apply --dry-run --out` writes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MarkedPassage {
    /// The passage.
    pub(crate) passage_id: String,
    /// How well the model knows it without reading it, or any other measure; 0 by default.
    #[serde(default)]
    pub(crate) score: f64,
    /// Why.
    pub(crate) reason: Option<String>,
}

/// What to restore.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestoreRequest {
    /// Documents, all of whose passages are restored.
    #[serde(default)]
    pub(crate) documents: Vec<String>,
    /// Single passages, by their ids.
    #[serde(default)]
    pub(crate) passages: Vec<String>,
    /// Everything that is left out for one of these reasons.
    #[serde(default)]
    pub(crate) reasons: Vec<String>,
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
        let Pruning {
            reason,
            passages,
            documents,
            lowest_score,
            highest_score,
        } = pruning;
        Self {
            reason,
            passages,
            documents,
            lowest_score,
            highest_score,
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
