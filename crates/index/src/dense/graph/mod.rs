//! A graph of neighbors over the vectors of a large segment (HNSW), which finds nearly all of the
//! nearest by visiting few.
//!
//! The walk ranks by quantized copies of the vectors in the graph's own file: a byte a number, or,
//! where the vectors stay on disk, a byte for four (PQ). What it finds is scored again by the vectors
//! themselves, so scores are exact.

mod build;
mod codes;
mod file;
mod pq;
mod walk;

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use self::codes::{Among, Codes, Probe};
use self::file::{GraphFile, Parts, StoredCodes};
use self::pq::{PqCodes, PqProbe};
use self::walk::{Similarity, Walker};
use super::layout::M_MAX;
use super::{RowBuffer, SegmentVectors};
use crate::IndexError;
use crate::dot::dot_rows;
use crate::top_k::{Place, TopK};

/// About how many nodes are visited for each that is found, as measured. It decides when a filter
/// leaves so few passages that a scan is faster.
const VISITED_PER_FOUND: usize = 16;

/// The graph of a segment's vectors.
#[derive(Debug)]
pub(crate) struct Graph(GraphFile);

/// What to find in a graph.
pub(super) struct GraphQuery<'a> {
    /// `[dimensions]`
    pub(super) vector: &'a [f32],
    pub(super) k: usize,
    /// The number of the segment in the corpus.
    pub(super) segment: u32,
    /// How many of its passages are live.
    pub(super) live_count: usize,
}

/// What the walk ranks by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranking {
    /// A byte a number: close to the vectors.
    Bytes,
    /// A byte for four numbers: small.
    Pq,
}

impl Ranking {
    /// How many of the nearest the walk keeps, to return `k`: the more, the fewer it misses.
    fn ef_search(self, k: usize) -> usize {
        match self {
            Self::Bytes => k.saturating_mul(4).max(80),
            Self::Pq => k.saturating_mul(16).max(256),
        }
    }
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
    ///
    /// # Errors
    /// Where a file cannot be read or written, and [`IndexError::Cancelled`] soon after `cancel`
    /// has been set.
    pub(super) fn write(
        dir: &Path,
        vectors: &SegmentVectors,
        ranking: Ranking,
        cancel: &AtomicBool,
    ) -> Result<(), IndexError> {
        let built = build::build(vectors, cancel)?;
        let dimensions = vectors.dimensions();
        let compressed;
        let codes = match ranking {
            Ranking::Bytes => StoredCodes::Bytes(Codes {
                numbers: &built.codes,
                scales: &built.scales,
                dimensions,
            }),
            Ranking::Pq => {
                compressed = pq::compress(vectors, &built.first_passages(), cancel)?;
                StoredCodes::Pq(PqCodes {
                    centroids: &compressed.centroids,
                    codes: &compressed.codes,
                    subspaces: pq::subspaces(dimensions),
                })
            }
        };
        let parts = Parts {
            codes,
            layers: &built.layers,
            starts: &built.starts,
            ordinals: &built.ordinals,
        };
        file::write(dir, &parts, M_MAX, dimensions)
    }

    /// What the walk ranks by.
    pub(super) fn ranking(&self) -> Ranking {
        match self.0.codes() {
            StoredCodes::Bytes(_) => Ranking::Bytes,
            StoredCodes::Pq(_) => Ranking::Pq,
        }
    }

    /// Nearly the best `k` live passages. `None` where a scan of the live ones is faster: where they are
    /// few, or far from everything near the query.
    ///
    /// # Errors
    /// Where the vectors cannot be read.
    pub(super) fn search(
        &self,
        vectors: &SegmentVectors,
        query: &GraphQuery<'_>,
        is_live: &impl Fn(Place) -> bool,
    ) -> Result<Option<TopK>, IndexError> {
        match self.0.codes() {
            StoredCodes::Bytes(codes) => {
                let probe = &Probe::of(query.vector);
                self.search_by(&Among { codes, probe }, vectors, query, is_live)
            }
            StoredCodes::Pq(codes) => {
                let probe = PqProbe::of(codes, query.vector);
                self.search_by(&probe, vectors, query, is_live)
            }
        }
    }

    fn search_by(
        &self,
        probe: &impl Similarity,
        vectors: &SegmentVectors,
        query: &GraphQuery<'_>,
        is_live: &impl Fn(Place) -> bool,
    ) -> Result<Option<TopK>, IndexError> {
        let &GraphQuery {
            vector,
            k,
            segment,
            live_count,
        } = query;
        let ef = self.ranking().ef_search(k);
        let (starts, ordinals) = self.0.passages();
        let nodes = starts.len().saturating_sub(1);
        let visited = ef.saturating_mul(VISITED_PER_FOUND).saturating_mul(nodes);
        if visited > live_count.saturating_mul(live_count) {
            return Ok(None);
        }
        // Each passage belongs to one node. Only a damaged graph shares them among nodes; then this
        // ends before it takes too long.
        let left = Cell::new(Some(ordinals.len()));
        let passages = |node: u32| {
            let bounds = starts.get(node as usize..).and_then(|at| at.first_chunk());
            let [start, end] = *bounds.unwrap_or(&[0, 0]);
            let passages = ordinals.get(start as usize..end as usize);
            let passages = passages.unwrap_or_default();
            left.set(left.get().and_then(|left| left.checked_sub(passages.len())));
            let passages = left.get().map(|_| passages).unwrap_or_default();
            passages.iter().copied()
        };
        let live = |node: u32| {
            passages(node)
                .map(|ordinal| Place { segment, ordinal })
                .filter(|&place| is_live(place))
        };
        let shared = || self.0.damaged("it gives passages to more than one node");
        let layers = self.0.layers();
        let found = Walker::default().walk(&layers, probe, ef, live_count, &|node| {
            live(node).next().is_some()
        });
        left.replace(Some(ordinals.len())).ok_or_else(shared)?;
        let Some(found) = found.filter(|found| found.len() >= ef.min(nodes)) else {
            return Ok(None);
        };
        // Sorted, they are read in the order of the file; a damaged graph may name one twice.
        let mut places: Vec<Place> = found.iter().flat_map(|near| live(near.node())).collect();
        left.get().ok_or_else(shared)?;
        places.sort_unstable();
        places.dedup();
        vectors.expect(places.iter().map(|place| place.ordinal as usize));
        let mut best = TopK::new(k);
        let (mut scores, mut buffer) = (Vec::new(), RowBuffer::default());
        for place in places {
            let row = vectors.row(place.ordinal as usize, &mut buffer)?;
            dot_rows(row, vector, &mut scores);
            for &score in &scores {
                best.offer(score, place, |_| true);
            }
        }
        Ok(Some(best))
    }
}
