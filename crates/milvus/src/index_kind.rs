//! The indexes that a collection may have, and their names.

use std::fmt;
use std::str::FromStr;

use ken_index::VectorType;
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

/// How a collection keeps and finds vectors: an index, and after a colon the type of the numbers if that is not f32, as
/// in `hnsw:f16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct VectorIndex {
    /// How near vectors are found.
    pub kind: IndexKind,
    /// The type of their numbers.
    pub numbers: VectorType,
}

/// A name that is no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown index {given:?}: the indexes are autoindex, hnsw, diskann and ivf_rabitq, each also with :f16 or :int8"
)]
pub struct UnknownIndexKind {
    /// The text as written.
    pub given: String,
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for VectorIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.numbers {
            VectorType::F32 => self.kind.fmt(f),
            smaller => write!(f, "{}:{smaller}", self.kind),
        }
    }
}

impl FromStr for VectorIndex {
    type Err = UnknownIndexKind;

    fn from_str(given: &str) -> Result<Self, UnknownIndexKind> {
        let unknown = |_: serde::de::value::Error| UnknownIndexKind {
            given: given.to_owned(),
        };
        let (kind, numbers) = given.split_once(':').unwrap_or((given, "f32"));
        Ok(Self {
            kind: IndexKind::deserialize(kind.into_deserializer()).map_err(unknown)?,
            numbers: VectorType::deserialize(numbers.into_deserializer()).map_err(unknown)?,
        })
    }
}

impl From<IndexKind> for VectorIndex {
    fn from(kind: IndexKind) -> Self {
        Self {
            kind,
            numbers: VectorType::F32,
        }
    }
}

impl From<VectorIndex> for String {
    fn from(index: VectorIndex) -> Self {
        index.to_string()
    }
}

impl TryFrom<String> for VectorIndex {
    type Error = UnknownIndexKind;

    fn try_from(given: String) -> Result<Self, UnknownIndexKind> {
        given.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_indexes_parse_back() {
        for name in [
            "autoindex",
            "hnsw",
            "diskann",
            "ivf_rabitq",
            "hnsw:f16",
            "autoindex:int8",
        ] {
            let index: VectorIndex = name.parse().unwrap();
            assert_eq!(index.to_string(), name);
            let kept = serde_json::to_value(index).unwrap();
            assert_eq!(kept, name);
            assert_eq!(serde_json::from_value::<VectorIndex>(kept).unwrap(), index);
        }
        let plain = VectorIndex::from(IndexKind::Hnsw);
        assert_eq!("hnsw".parse::<VectorIndex>(), Ok(plain));
        for wrong in ["HNSW", "hnsw:", "hnsw:f8", ":f16", ""] {
            assert!(wrong.parse::<VectorIndex>().is_err(), "{wrong}");
        }
    }
}
