//! How the vectors of a corpus are stored and searched: the settings, and what `auto` chooses.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

use crate::IndexError;

/// The most neighbors of a node of a graph, in every layer (M_max of HNSW).
pub(super) const M_MAX: usize = 32;

/// The number of passages from which a segment gets a graph. Below, a scan takes no longer than the
/// rest of a query, and misses nothing.
pub(super) const GRAPH_FROM: usize = 20_000;

/// The largest graph of a segment, in bytes, that is kept in memory; above, vectors stay on disk.
const GRAPH_BYTES: usize = 2 << 30;

/// How the vectors of a corpus are stored and searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DenseLayout {
    /// The type of the stored numbers.
    pub vectors: VectorType,
    /// How they are searched.
    pub search: DenseSearch,
}

/// The type of the numbers of stored vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VectorType {
    /// As the embedder returns them.
    #[default]
    F32,
    /// Half the bytes, accurate to three digits.
    F16,
    /// A quarter of the bytes, accurate to two digits: one byte a number, in steps of a 127th of
    /// the vector's largest number.
    Int8,
}

/// How the vectors of a segment are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DenseSearch {
    /// By size: exact below 20,000 passages in a segment, a graph up to 2 GiB of it, then the disk.
    #[default]
    Auto,
    /// Every vector is scored.
    Exact,
    /// A graph in memory.
    Graph,
    /// A graph over product-quantized vectors in memory; the vectors themselves stay on disk.
    Disk,
}

impl VectorType {
    pub(super) const ALL: [VectorType; 3] = [Self::F32, Self::F16, Self::Int8];
}

impl DenseSearch {
    /// The choice for a segment.
    pub(super) fn of(self, passages: usize, dimensions: usize) -> DenseSearch {
        match self {
            _ if passages == 0 || dimensions == 0 => Self::Exact,
            Self::Auto if passages < GRAPH_FROM => Self::Exact,
            Self::Auto => {
                let walked = passages.saturating_mul(dimensions + M_MAX * size_of::<u32>());
                match walked > GRAPH_BYTES {
                    true => Self::Disk,
                    false => Self::Graph,
                }
            }
            chosen => chosen,
        }
    }
}

impl fmt::Display for VectorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl fmt::Display for DenseSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The search, and after a colon the type of the numbers if it is not f32: `auto`, `disk:int8`.
impl fmt::Display for DenseLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.vectors {
            VectorType::F32 => self.search.fmt(f),
            smaller => write!(f, "{}:{smaller}", self.search),
        }
    }
}

impl FromStr for DenseLayout {
    type Err = IndexError;

    fn from_str(name: &str) -> Result<Self, IndexError> {
        let unknown = |_: serde::de::value::Error| IndexError::UnknownDenseLayout {
            received: name.to_owned(),
        };
        let (search, vectors) = name.split_once(':').unwrap_or((name, "f32"));
        Ok(DenseLayout {
            search: Deserialize::deserialize(search.into_deserializer()).map_err(unknown)?,
            vectors: Deserialize::deserialize(vectors.into_deserializer()).map_err(unknown)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_decides_where_nobody_did() {
        let auto = DenseSearch::Auto;
        assert_eq!(auto.of(GRAPH_FROM - 1, 384), DenseSearch::Exact);
        assert_eq!(auto.of(GRAPH_FROM, 384), DenseSearch::Graph);
        assert_eq!(auto.of(4_000_000, 384), DenseSearch::Graph);
        assert_eq!(auto.of(4_000_000, 768), DenseSearch::Disk);
        assert_eq!(DenseSearch::Disk.of(1, 384), DenseSearch::Disk);
        assert_eq!(DenseSearch::Disk.of(0, 384), DenseSearch::Exact);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for search in ["auto", "exact", "graph", "disk"] {
            for vectors in VectorType::ALL {
                let name = format!("{search}:{vectors}");
                let layout: DenseLayout = name.parse().unwrap();
                assert_eq!(layout.to_string().parse::<DenseLayout>().unwrap(), layout);
                assert!(name.starts_with(&layout.to_string()));
            }
        }
        assert_eq!(
            "disk:f16".parse::<DenseLayout>().unwrap().to_string(),
            "disk:f16"
        );
        for wrong in ["", "f16", "disk:", "disk:f8", "hnsw"] {
            let error = wrong.parse::<DenseLayout>().unwrap_err();
            assert_eq!(error.kind(), "unknown_dense_layout");
        }
    }
}
