//! Dense search: the vectors of a corpus with the largest dot product with the query, each segment
//! by the index that its size asks for. There is no model here.

mod exact;
mod graph;
mod layout;
mod vector_set;
mod vectors;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use self::graph::{Graph, GraphQuery, Ranking};
pub use self::layout::{DenseLayout, DenseSearch, VectorType};
pub use self::vector_set::VectorSet;
use self::vectors::Access;
pub(crate) use self::vectors::VectorWriter;
pub use self::vectors::{RowBuffer, SegmentVectors};
use crate::IndexError;
use crate::top_k::{Candidate, Place, TopK};

/// How the vectors of a segment are searched.
#[derive(Debug)]
pub(crate) enum DenseIndex {
    /// Every vector is scored.
    Exact(SegmentVectors),
    /// A graph in memory leads to the nearest; where few passages are live, every live one is
    /// scored.
    Graph(SegmentVectors, Graph),
    /// The same with a small graph; only vectors that are scored are read from disk.
    Disk(SegmentVectors, Graph),
}

impl DenseIndex {
    /// Opens the index in the folder of a segment.
    ///
    /// # Errors
    /// Where a file is damaged or cannot be read, or the vectors are missing.
    pub(crate) fn open(dir: &Path, passages: usize, dimensions: usize) -> Result<Self, IndexError> {
        let graph = Graph::open(dir, passages, dimensions)?;
        let vectors = |access| SegmentVectors::open_for(access, dir, passages, dimensions);
        Ok(match graph {
            None => Self::Exact(vectors(Access::Mapped)?),
            Some(graph) => match graph.ranking() {
                Ranking::Bytes => Self::Graph(vectors(Access::Mapped)?, graph),
                Ranking::Pq => Self::Disk(vectors(Access::Read)?, graph),
            },
        })
    }

    /// The best of one segment, which has this number in the corpus.
    fn search(
        &self,
        segment: u32,
        query: &[f32],
        k: usize,
        is_live: &(impl Fn(Place) -> bool + Sync),
        live_count: &(impl Fn(u32) -> usize + Sync),
    ) -> Result<TopK, IndexError> {
        let live_count = live_count(segment);
        let sought = GraphQuery {
            vector: query,
            k,
            segment,
            live_count,
        };
        let (vectors, found) = match self {
            Self::Exact(vectors) => (vectors, None),
            Self::Graph(vectors, graph) | Self::Disk(vectors, graph) => {
                (vectors, graph.search(vectors, &sought, is_live)?)
            }
        };
        match found {
            Some(found) => Ok(found),
            None => exact::search(vectors, segment, query, k, live_count, is_live),
        }
    }
}

/// Writes what the segment in `dir`, whose vectors are written, is searched by. The same vectors
/// give the same file.
///
/// # Errors
/// Where the vectors cannot be read or the graph cannot be written, and [`IndexError::Cancelled`]
/// soon after `cancel` has been set.
pub(crate) fn write_graph(
    dir: &Path,
    passages: usize,
    dimensions: usize,
    search: DenseSearch,
    cancel: &AtomicBool,
) -> Result<(), IndexError> {
    let ranking = match search.of(passages, dimensions) {
        DenseSearch::Auto | DenseSearch::Exact => return Ok(()),
        DenseSearch::Graph => Ranking::Bytes,
        DenseSearch::Disk => Ranking::Pq,
    };
    let vectors = SegmentVectors::open(dir, passages, dimensions)?;
    Graph::write(dir, &vectors, ranking, cancel)
}

/// An error once `cancel` has been set. Long work checks it after every passage.
pub(crate) fn check_cancelled(cancel: &AtomicBool) -> Result<(), IndexError> {
    match cancel.load(Ordering::Relaxed) {
        true => Err(IndexError::Cancelled),
        false => Ok(()),
    }
}

/// The best `k` live passages by dot product with `query`, best first; of equal scores the one
/// that comes earlier in the corpus. A passage whose score is NaN is no result. Scores are exact;
/// segments with a graph may miss a few of the best.
///
/// # Shapes
/// `query`: `[dimensions]`, the dimensions of all `segments`. `live_count` returns for how many
/// passages of a segment, by its number, `is_live` is true.
///
/// # Errors
/// Where the vectors cannot be read.
pub(crate) fn search(
    segments: &[DenseIndex],
    query: &[f32],
    k: usize,
    is_live: &(impl Fn(Place) -> bool + Sync),
    live_count: &(impl Fn(u32) -> usize + Sync),
) -> Result<Vec<Candidate>, IndexError> {
    if query.is_empty() || k == 0 {
        return Ok(Vec::new());
    }
    let search = |(number, index): (usize, &DenseIndex)| {
        index.search(number as u32, query, k, is_live, live_count)
    };
    let best = match segments {
        // A walk takes less time than it does to hand it to another thread.
        [only] => search((0, only)),
        _ => segments
            .par_iter()
            .enumerate()
            .map(search)
            .try_reduce(|| TopK::new(k), |one, other| Ok(one.merge(other))),
    };
    Ok(best?.into_ranking())
}

#[cfg(test)]
mod measurement;
#[cfg(test)]
mod tests;
