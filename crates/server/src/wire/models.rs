//! The list of models: the policies and the embedder.

use schemars::JsonSchema;
use serde::Serialize;

/// What clients may name as `model`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ModelList {
    object: &'static str,
    data: Vec<Model>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Model {
    /// Its name.
    pub(crate) id: String,
    object: &'static str,
    /// When the server started, in seconds since 1970 (UTC).
    created: u64,
    owned_by: &'static str,
}

impl Model {
    pub(crate) fn new(id: String, created: u64) -> Self {
        Self {
            id,
            object: "model",
            created,
            owned_by: "ken",
        }
    }
}

impl ModelList {
    pub(crate) fn new(data: Vec<Model>) -> Self {
        Self {
            object: "list",
            data,
        }
    }
}
