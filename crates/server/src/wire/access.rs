//! What a caller may do.

use schemars::JsonSchema;
use serde::Serialize;

/// What the caller may do here.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccessReport {
    /// The id of the key; null if the server needs none.
    pub(crate) key: Option<String>,
    /// Its scopes: `ask`, `search`, `write`, `admin`.
    pub(crate) scopes: Vec<String>,
    /// The corpora that it is for; null for all.
    pub(crate) corpora: Option<Vec<String>>,
    /// The sources that a correction may name, for those that may `admin`: `self`, and corpora.
    pub(crate) sources: Vec<String>,
    /// Whether the server ingests documents, for those that may `write`.
    pub(crate) takes_documents: bool,
    /// Whether a guarantee is watched.
    pub(crate) has_guarantee: bool,
    /// The language model, by its name.
    pub(crate) model: String,
    /// Whether policies can be measured here, for those that may `admin`.
    pub(crate) measures: bool,
    /// Whether the server has a folder of studies, for those that may `admin`.
    pub(crate) shows_studies: bool,
}
