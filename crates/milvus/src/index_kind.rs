//! The names of the indexes that a collection may have.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

/// How Milvus finds near vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexKind {
    /// The server's choice.
    #[default]
    AutoIndex,
    /// A graph in memory.
    Hnsw,
    /// A graph on disk, compressed vectors in memory.
    DiskAnn,
    /// Clusters of vectors with a bit per number, and a byte per number to rank the best again.
    #[serde(rename = "ivf_rabitq")]
    IvfRabitq,
}

/// A name that is no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown index {given:?}: the indexes are autoindex, hnsw, diskann and ivf_rabitq")]
pub struct UnknownIndexKind {
    /// The text as written.
    pub given: String,
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for IndexKind {
    type Err = UnknownIndexKind;

    fn from_str(given: &str) -> Result<Self, UnknownIndexKind> {
        let kind = Self::deserialize(given.into_deserializer());
        kind.map_err(|_: serde::de::value::Error| UnknownIndexKind {
            given: given.to_owned(),
        })
    }
}
