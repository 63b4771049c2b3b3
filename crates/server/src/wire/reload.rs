//! What is served once the settings were read again.

use schemars::JsonSchema;
use serde::Serialize;

use super::ken::CorpusState;

/// What is served from now on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Reloaded {
    /// What clients may name as model.
    pub(crate) models: Vec<String>,
    /// The first is the one that is searched where none is named.
    pub(crate) corpora: Vec<CorpusState>,
    /// Milliseconds.
    pub(crate) ms: f64,
}
