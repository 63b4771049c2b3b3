//! Dense search: the vectors of a corpus with the largest dot product with the query, each segment
//! by the index that its size asks for. There is no model here.

mod exact;
mod graph;
mod vectors;

use std::path::Path;

use rayon::prelude::*;

use self::graph::{Graph, Wanted};
pub use self::vectors::SegmentVectors;
pub(crate) use self::vectors::VectorWriter;
use crate::IndexError;
use crate::top_k::{Candidate, Place, TopK};

/// Passages from which on a segment gets a graph. Below, a scan takes no longer than the rest of a
/// query does, and misses nothing.
const GRAPH_FROM: usize = 20_000;

/// How the vectors of a segment are searched.
#[derive(Debug)]
pub(crate) enum DenseIndex {
    /// Every vector is looked at.
    Exact(SegmentVectors),
    /// A graph leads to the nearest; where few passages are live, every live one is looked at.
    Graph(SegmentVectors, Graph),
}

impl DenseIndex {
    /// Opens what there is in the folder of a segment.
    ///
    /// # Errors
    /// Where a file is damaged or cannot be read, or the vectors are missing.
    pub(crate) fn open(dir: &Path, passages: usize, dimensions: usize) -> Result<Self, IndexError> {
        let vectors = SegmentVectors::open(dir, passages, dimensions)?;
        Ok(match Graph::open(dir, passages, dimensions)? {
            Some(graph) => Self::Graph(vectors, graph),
            None => Self::Exact(vectors),
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
    ) -> TopK {
        let live_count = live_count(segment);
        let wanted = Wanted {
            query,
            k,
            segment,
            live_count,
        };
        let (vectors, found) = match self {
            Self::Exact(vectors) => (vectors, None),
            Self::Graph(vectors, graph) => (vectors, graph.search(vectors, &wanted, is_live)),
        };
        found.unwrap_or_else(|| exact::search(vectors, segment, query, k, live_count, is_live))
    }
}

/// Writes the graph of the segment in `dir`, whose vectors are written, if it is large enough.
/// The same vectors give the same graph.
///
/// # Errors
/// Where the vectors cannot be read or the graph cannot be written.
pub(crate) fn write_graph(
    dir: &Path,
    passages: usize,
    dimensions: usize,
) -> Result<(), IndexError> {
    if passages < GRAPH_FROM || dimensions == 0 {
        return Ok(());
    }
    Graph::write(dir, &SegmentVectors::open(dir, passages, dimensions)?)
}

/// The best `k` live passages by dot product with `query`, best first; of equal scores the one
/// that stands earlier in the corpus. A passage whose score is NaN is no result. Scores are exact;
/// segments with a graph may miss a few of the best.
///
/// # Shapes
/// `query`: `[dimensions]`, the dimensions of all `segments`. `live_count` tells how many passages
/// of a segment, by its number, `is_live` is true of.
pub(crate) fn search(
    segments: &[DenseIndex],
    query: &[f32],
    k: usize,
    is_live: &(impl Fn(Place) -> bool + Sync),
    live_count: &(impl Fn(u32) -> usize + Sync),
) -> Vec<Candidate> {
    if query.is_empty() || k == 0 {
        return Vec::new();
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
            .reduce(|| TopK::new(k), TopK::merge),
    };
    best.into_ranking()
}

#[cfg(test)]
mod measurement;
#[cfg(test)]
mod tests;
