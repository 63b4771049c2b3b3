//! Dense search: the vectors of a corpus with the largest dot product with the query, each segment
//! by the index that suits its size.

mod background;
mod exact;
mod graph;
mod layout;
mod prefetch;
mod vector_set;
mod vectors;

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_storage::CheckedFolder;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

pub(crate) use self::background::{Background, Spread};
use self::graph::{Graph, Quantization, SegmentQuery};
pub use self::layout::{DenseLayout, DenseSearch, VectorType};
pub use self::vector_set::VectorSet;
use self::vectors::Access;
pub(crate) use self::vectors::VectorWriter;
pub use self::vectors::{RowBuffer, SegmentVectors};
use crate::top_k::{Candidate, Place, TopK};
use crate::{IndexError, Recall};

/// How much a walk through a graph does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effort {
    /// As much as this recall takes, measured on a sample of the graph's vectors.
    Recall(Recall),
    /// A candidate list of this length (`ef` of HNSW).
    #[cfg(test)]
    List(usize),
}

/// The vectors of a segment, ready to search.
#[derive(Debug)]
pub(crate) struct DenseIndex {
    vectors: SegmentVectors,
    /// Without one, or if few passages are live, every live vector is scored.
    graph: Option<Graph>,
}

impl DenseIndex {
    /// Opens the index in the folder of a segment, whose blocks are checked if they have checksums.
    ///
    /// # Errors
    /// If a file is damaged or cannot be read, or the vectors are missing.
    pub(crate) fn open(
        folder: impl Into<CheckedFolder>,
        passages: usize,
        dimensions: usize,
    ) -> Result<Self, IndexError> {
        let folder = folder.into();
        let graph = Graph::open(&folder, passages, dimensions)?;
        let access = match graph.as_ref().map(Graph::quantization) {
            Some(Quantization::Product) => Access::Read,
            Some(Quantization::Scalar) | None => Access::Mapped,
        };
        let vectors = SegmentVectors::open_for(access, &folder, passages, dimensions)?;
        Ok(Self { vectors, graph })
    }

    /// The best passages of the segment with this number in the corpus.
    fn search(
        &self,
        segment: u32,
        vector: &[f32],
        k: usize,
        effort: Effort,
        is_live: &(impl Fn(Place) -> bool + Sync),
        live_count: &(impl Fn(u32) -> usize + Sync),
    ) -> Result<TopK, IndexError> {
        let live_count = live_count(segment);
        let query = SegmentQuery {
            vector,
            k,
            segment,
            live_count,
        };
        if let Some(graph) = &self.graph
            && effort != Effort::Recall(Recall::EXACT)
            && let Some(best) = graph.search(&self.vectors, &query, effort, is_live)?
        {
            return Ok(best);
        }
        exact::search(&self.vectors, &query, is_live)
    }
}

/// The threads that build graphs, as many as rayon's pool has. Searches run on rayon's pool, and would otherwise wait
/// for a graph that is being built. `None` if the system has no more threads: then the caller's are used.
static BUILDING: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let pool = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads());
    pool.thread_name(|number| format!("graphs-{number}"))
        .build()
        .ok()
});

/// Writes the graph, if `search` wants one, of the segment in `dir`, whose vectors are written. The
/// same vectors give the same file.
///
/// # Errors
/// If the vectors cannot be read or the graph cannot be written, and [`IndexError::Cancelled`]
/// soon after `cancel` has been set.
pub(crate) fn write_graph(
    dir: &Path,
    passages: usize,
    dimensions: usize,
    search: DenseSearch,
    cancel: &AtomicBool,
) -> Result<(), IndexError> {
    let quantization = match search.of(passages, dimensions) {
        DenseSearch::Auto | DenseSearch::Exact => return Ok(()),
        DenseSearch::Graph => Quantization::Scalar,
        DenseSearch::Disk => Quantization::Product,
    };
    let vectors = SegmentVectors::open(dir, passages, dimensions)?;
    let write = || Graph::write(dir, &vectors, quantization, cancel);
    match (rayon::current_thread_index(), &*BUILDING) {
        (None, Some(pool)) => pool.install(write),
        _ => write(),
    }
}

/// Fails once `cancel` has been set. Long work calls this for every passage.
pub(crate) fn check_cancelled(cancel: &AtomicBool) -> Result<(), IndexError> {
    match cancel.load(Ordering::Relaxed) {
        true => Err(IndexError::Cancelled),
        false => Ok(()),
    }
}

/// The best `k` live passages by dot product with `query`, best first; of equal scores the one
/// that comes earlier in the corpus. A passage whose score is NaN is left out. Scores are exact;
/// segments with a graph may miss a few of the best.
///
/// # Shapes
/// `query`: `[dimensions]`, the dimensions of all `segments`. `live_count` takes the number of a
/// segment and returns for how many of its passages `is_live` is true.
pub(crate) fn search(
    segments: &[DenseIndex],
    query: &[f32],
    k: usize,
    effort: Effort,
    is_live: &(impl Fn(Place) -> bool + Sync),
    live_count: &(impl Fn(u32) -> usize + Sync),
) -> Result<Vec<Candidate>, IndexError> {
    if query.is_empty() || k == 0 {
        return Ok(Vec::new());
    }
    let search = |(number, index): (usize, &DenseIndex)| {
        index.search(number as u32, query, k, effort, is_live, live_count)
    };
    let best = match segments {
        // A walk takes less time than handing it to another thread.
        [only] => search((0, only)),
        _ => segments
            .par_iter()
            .enumerate()
            .map(search)
            .try_reduce(|| TopK::new(k), |best, other| Ok(best.merge(other))),
    };
    Ok(best?.into_ranking())
}

#[cfg(test)]
mod tests;
