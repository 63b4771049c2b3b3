//! How the vectors of a corpus are stored and searched: the choices, and what `auto` chooses.

use std::fmt;
use std::str::FromStr;

use crate::IndexError;

/// The most neighbors of a node of a graph, in every layer (M_max of HNSW).
pub(super) const M_MAX: usize = 32;

/// A segment with this many passages gets a graph. A scan of fewer takes no longer than the rest of a
/// query, and misses nothing.
pub(super) const GRAPH_FROM: usize = 20_000;

/// The most bytes of memory that the graph of a segment may take before vectors stay on disk.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VectorType {
    /// As embedded.
    #[default]
    F32,
    /// Half as many bytes, exact to three digits.
    F16,
    /// A quarter of the bytes, exact to two digits: one byte a number, in steps of the 127th part
    /// of the vector's largest number.
    Int8,
}

/// How the vectors of a segment are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DenseSearch {
    /// By size: exact below 20,000 passages in a segment, a graph up to 2 GiB of it, then the disk.
    #[default]
    Auto,
    /// Every vector is scored.
    Exact,
    /// A graph in memory.
    Graph,
    /// A graph over compressed vectors in memory; the vectors themselves stay on disk.
    Disk,
}

impl VectorType {
    /// All of them.
    pub(super) const ALL: [VectorType; 3] = [Self::F32, Self::F16, Self::Int8];
}

impl DenseSearch {
    const ALL: [DenseSearch; 4] = [Self::Auto, Self::Exact, Self::Graph, Self::Disk];

    /// What a segment gets.
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
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
        })
    }
}

impl fmt::Display for DenseSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Graph => "graph",
            Self::Disk => "disk",
        })
    }
}

/// The search, and after a colon the type of the numbers where it is not f32: `auto`, `disk:int8`.
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
        let unknown = || IndexError::UnknownDenseLayout {
            received: name.to_owned(),
        };
        let (search, vectors) = name.split_once(':').unwrap_or((name, "f32"));
        let named = |known: &DenseSearch| known.to_string() == search;
        let typed = |known: &VectorType| known.to_string() == vectors;
        Ok(DenseLayout {
            search: DenseSearch::ALL
                .into_iter()
                .find(named)
                .ok_or_else(unknown)?,
            vectors: VectorType::ALL
                .into_iter()
                .find(typed)
                .ok_or_else(unknown)?,
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
        for search in DenseSearch::ALL {
            for vectors in VectorType::ALL {
                let layout = DenseLayout { vectors, search };
                assert_eq!(layout.to_string().parse::<DenseLayout>().unwrap(), layout);
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
