//! Corrections of the source that a question is answered from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::service::corrections::Correction;

/// The source that was right for the question of a trace, or for another one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MakeCorrection {
    /// The id of the trace whose question it is.
    pub(crate) trace: Option<String>,
    /// The question, if it is not that of a trace; at most 65536 bytes.
    pub(crate) question: Option<String>,
    /// The corpus that such a question is asked of; by default the `source`, if that is a corpus.
    pub(crate) corpus: Option<String>,
    /// `self`, the model's own knowledge, or the name of a corpus; `/v1/ken/access` lists the sources.
    pub(crate) source: String,
}

/// An accepted correction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Corrected {
    #[serde(flatten)]
    pub(crate) correction: Correction,
    /// How the served datastore votes on the question from now on; null without one, when the correction is only
    /// stored.
    pub(crate) votes: Option<Votes>,
}

/// How a datastore votes on a question.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Votes {
    /// The share of each source.
    pub(crate) shares: BTreeMap<String, f64>,
    /// The entries that vote, nearest first; ten at most.
    pub(crate) neighbors: Vec<Neighbor>,
}

/// An entry that votes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Neighbor {
    /// The entry.
    pub(crate) id: String,
    /// Its question.
    pub(crate) question: String,
    /// The source that it votes for.
    pub(crate) source: String,
    /// Where that comes from: `measured`, or a `person`.
    pub(crate) by: String,
    /// How near it is, at most 1.
    pub(crate) cosine: f32,
}
