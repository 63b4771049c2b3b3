//! A graph of neighbours over the vectors of a large segment (HNSW), which finds nearly all of the
//! nearest by looking at few.
//!
//! The walk ranks by coarse copies of the vectors, a byte a number, that stand in the graph's own
//! file; what it finds is scored by the vectors themselves, so results carry exact scores.

mod build;
mod codes;
mod file;
mod walk;

use std::path::Path;

use self::codes::Probe;
use self::file::GraphFile;
use self::walk::Walker;
use super::SegmentVectors;
use crate::IndexError;
use crate::dot::dot_rows;
use crate::top_k::{Place, TopK};

/// Nodes that are looked at for each that is found, about; a measured number, which decides when a
/// filter leaves so few that a scan is quicker.
const LOOKED_AT_PER_FOUND: usize = 16;

/// The graph of a segment's vectors.
#[derive(Debug)]
pub(crate) struct Graph(GraphFile);

/// What a walk is to find.
pub(super) struct Wanted<'a> {
    /// `[dimensions]`
    pub(super) query: &'a [f32],
    pub(super) k: usize,
    /// The number of the segment in the corpus.
    pub(super) segment: u32,
    /// How many of its passages are live.
    pub(super) live_count: usize,
}

/// How many of the nearest the walk keeps track of, to return `k`: the more, the fewer it misses.
fn effort(k: usize) -> usize {
    k.saturating_mul(4).max(64)
}

impl Graph {
    /// Opens the graph of the segment in `dir`; `None` where it has none.
    ///
    /// # Errors
    /// Where the file is damaged or cannot be read.
    pub(super) fn open(
        dir: &Path,
        passages: usize,
        dimensions: usize,
    ) -> Result<Option<Graph>, IndexError> {
        Ok(GraphFile::open(dir, passages, dimensions)?.map(Graph))
    }

    /// Builds the graph of the vectors that stand in `dir`, on all threads, and writes it there.
    pub(super) fn write(dir: &Path, vectors: &SegmentVectors) -> Result<(), IndexError> {
        let built = build::build(vectors);
        file::write(dir, &built, build::DEGREE, vectors.dimensions())
    }

    /// Nearly the best `k` live passages. `None` where a scan of the live ones is the better way:
    /// where they are few, or far from all that is near to the query.
    pub(super) fn search(
        &self,
        vectors: &SegmentVectors,
        wanted: &Wanted<'_>,
        is_live: &impl Fn(Place) -> bool,
    ) -> Option<TopK> {
        let &Wanted {
            query,
            k,
            segment,
            live_count,
        } = wanted;
        let effort = effort(k);
        let map = self.0.map();
        let (starts, ordinals) = self.0.passages();
        let nodes = starts.len().saturating_sub(1);
        let looked_at = effort
            .saturating_mul(LOOKED_AT_PER_FOUND)
            .saturating_mul(nodes);
        if looked_at > live_count.saturating_mul(live_count) {
            return None;
        }
        let passages = |node: u32| {
            let bounds = starts.get(node as usize..).and_then(|at| at.first_chunk());
            let [start, end] = *bounds.unwrap_or(&[0, 0]);
            let passages = ordinals.get(start as usize..end as usize);
            passages.unwrap_or_default().iter().copied()
        };
        let live = |node: u32| {
            passages(node)
                .map(|ordinal| Place { segment, ordinal })
                .filter(|&place| is_live(place))
        };
        let found =
            Walker::default().walk(&map, &Probe::of(query), effort, live_count, &|node| {
                live(node).next().is_some()
            })?;
        if found.len() < effort.min(nodes) {
            return None;
        }
        // Sorted, they are read in the order of the file; a damaged graph may name one twice.
        let mut places: Vec<Place> = found.iter().flat_map(|near| live(near.node())).collect();
        places.sort_unstable();
        places.dedup();
        let mut best = TopK::new(k);
        let mut scores = Vec::new();
        for place in places {
            dot_rows(vectors.row(place.ordinal as usize), query, &mut scores);
            for &score in &scores {
                best.offer(score, place, |_| true);
            }
        }
        Some(best)
    }
}
