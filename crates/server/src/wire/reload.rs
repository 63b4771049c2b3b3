//! Settings that are exchanged, and what is served then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ken::CorpusState;

/// Whose policy is to answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoosePolicy {
    /// The study in which tuning chose it.
    pub(crate) study: String,
}

/// What is served from now on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reloaded {
    /// What clients may name as model.
    pub(crate) models: Vec<String>,
    /// The first is the default.
    pub(crate) corpora: Vec<CorpusState>,
    /// Milliseconds.
    pub(crate) ms: f64,
}
