//! A graph of neighbors over the vectors of a large segment (HNSW), which finds nearly all of the
//! nearest by visiting few.
//!
//! The walk ranks by quantized vectors in the graph's own file: a byte a number (scalar), or, if
//! the vectors stay on disk, a byte for four (PQ). Its candidates are rescored by the vectors
//! themselves, so results have exact scores.

mod build;
mod effort;
mod file;
mod instructions;
mod product;
mod scalar;
mod walk;

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_storage::Watch;

use self::effort::Efforts;
pub(crate) use self::file::Graph;
use self::file::{Parts, StoredCodes};
#[cfg(test)]
pub(super) use self::instructions::InstructionSet;
use self::product::{ProductCodes, ProductQuery};
use self::scalar::{QueryCodes, ScalarCodes, ScalarQuery};
use self::walk::{Layer, Similarity, Walker, Without};
use super::layout::M_MAX;
use super::{Effort, RowBuffer, SegmentVectors};
use crate::IndexError;
use crate::dot::dot_rows;
use crate::top_k::{Place, TopK};

/// About how many nodes a walk visits per result, as measured. If a filter leaves so few passages that a
/// scan visits fewer, it is quicker.
const VISITED_PER_RESULT: usize = 16;

/// Nodes rescored in addition to twice `k`: over so many ranks, similarities differ by more than the error
/// of scalar codes.
const SCALAR_MARGIN: usize = 10;

/// Nodes rescored in addition to sixteen times `k`, of those that a walk by PQ codes finds: of ten million vectors, an
/// eighth of as many in the order of the codes hold .99 of the nearest (`results/2026-11-30-vector-codes`).
const PRODUCT_MARGIN: usize = 240;

/// A query to one segment.
pub(super) struct SegmentQuery<'a> {
    /// `[dimensions]`
    pub(super) vector: &'a [f32],
    pub(super) k: usize,
    /// The number of the segment in the corpus.
    pub(super) segment: u32,
    /// How many of its passages are live.
    pub(super) live_count: usize,
}

/// How the vectors that the walk ranks by are quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantization {
    /// A byte a number: accurate.
    Scalar,
    /// A byte for four numbers (PQ): small.
    Product,
}

impl Graph {
    /// Builds the graph of the vectors in `dir`, on all threads, and writes it there.
    ///
    /// # Errors
    /// If a file cannot be read or written, and [`IndexError::Cancelled`] soon after `cancel`
    /// has been set.
    pub(super) fn write(
        dir: &Path,
        vectors: &SegmentVectors,
        quantization: Quantization,
        cancel: &AtomicBool,
    ) -> Result<(), IndexError> {
        let built = build::build(vectors, cancel)?;
        let quantized;
        let dimensions = vectors.dimensions();
        let codes = match quantization {
            Quantization::Scalar => StoredCodes::Scalar(ScalarCodes {
                numbers: &built.codes,
                scales: &built.scales,
                dimensions,
                watch: Watch::default(),
            }),
            Quantization::Product => {
                quantized = product::quantize(vectors, &built.first_passages(), cancel)?;
                StoredCodes::Product(ProductCodes {
                    centroids: &quantized.centroids,
                    codes: &quantized.codes,
                    parts: product::parts(dimensions),
                    watch: Watch::default(),
                })
            }
        };
        let path = &file::path(dir);
        let layers = built.layers.iter();
        let parts = Parts {
            path,
            codes,
            layers: layers.map(|rows| Layer::in_memory(rows, M_MAX)).collect(),
            starts: &built.starts,
            ordinals: &built.ordinals,
        };
        let bounds = built.starts.windows(2);
        let passages: Vec<&[u32]> = bounds
            .map(|bounds| &built.ordinals[bounds[0] as usize..bounds[1] as usize])
            .collect();
        let search = |query: &SegmentQuery<'_>, list, node: u32| {
            let own = passages[node as usize];
            let is_live = |place: Place| own.binary_search(&place.ordinal).is_err();
            parts.search(vectors, query, list, Some(node), &is_live)
        };
        let efforts = Efforts::measure(vectors, &passages, &search, cancel)?;
        file::write(&parts, &efforts, M_MAX, dimensions)
    }

    /// Nearly the best `k` live passages. `None` if scanning the live ones is quicker, because
    /// they are few, or far from everything near the query.
    pub(super) fn search(
        &self,
        vectors: &SegmentVectors,
        query: &SegmentQuery<'_>,
        effort: Effort,
        is_live: &impl Fn(Place) -> bool,
    ) -> Result<Option<TopK>, IndexError> {
        let list = match effort {
            #[cfg(test)]
            Effort::List(length) => length.max(query.k),
            Effort::Recall(recall) => self.efforts().list(query.k, recall),
        };
        let best = self.parts().search(vectors, query, list, None, is_live);
        self.sound()?;
        best
    }
}

impl StoredCodes<'_> {
    /// How many of the nodes that a walk finds are rescored for the best `k`: all that may be among these, given the
    /// error of the codes.
    fn rescored(&self, k: usize) -> usize {
        match self {
            Self::Scalar(_) => k.saturating_mul(2).saturating_add(SCALAR_MARGIN),
            Self::Product(_) => k.saturating_mul(16).saturating_add(PRODUCT_MARGIN),
        }
    }
}

impl Parts<'_> {
    /// As [`Graph::search`], with a candidate list of length `list`, at least `k`: the longer, the
    /// higher the recall. The walk skips the node `without`.
    fn search(
        &self,
        vectors: &SegmentVectors,
        query: &SegmentQuery<'_>,
        list: usize,
        without: Option<u32>,
        is_live: &impl Fn(Place) -> bool,
    ) -> Result<Option<TopK>, IndexError> {
        match self.codes {
            StoredCodes::Scalar(codes) => {
                let by = ScalarQuery {
                    codes,
                    query: &QueryCodes::of(query.vector),
                };
                let by = Without { by, node: without };
                self.search_by(&by, vectors, query, list, is_live)
            }
            StoredCodes::Product(codes) => {
                let by = ProductQuery::of(codes, query.vector);
                let by = Without { by, node: without };
                self.search_by(&by, vectors, query, list, is_live)
            }
        }
    }

    fn search_by(
        &self,
        by: &impl Similarity,
        vectors: &SegmentVectors,
        query: &SegmentQuery<'_>,
        list: usize,
        is_live: &impl Fn(Place) -> bool,
    ) -> Result<Option<TopK>, IndexError> {
        let &SegmentQuery {
            vector,
            k,
            segment,
            live_count,
        } = query;
        let &Parts {
            starts, ordinals, ..
        } = self;
        let nodes = starts.len().saturating_sub(1);
        let visited = list
            .saturating_mul(VISITED_PER_RESULT)
            .saturating_mul(nodes);
        if visited > live_count.saturating_mul(live_count) {
            return Ok(None);
        }
        // Each passage belongs to one node. If nodes share them, which only a damaged graph does,
        // this ends before it takes too long.
        let left = Cell::new(Some(ordinals.len()));
        let passages = |node: u32| {
            let bounds = starts
                .get(node as usize..)
                .and_then(|starts| starts.first_chunk());
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
        let shared = || self.damaged("it gives passages to more than one node");
        let nearest = Walker::default().walk(&self.layers, by, list, live_count, &|node| {
            live(node).next().is_some()
        });
        left.replace(Some(ordinals.len())).ok_or_else(shared)?;
        let Some(nearest) = nearest.filter(|nearest| nearest.len() >= list.min(nodes)) else {
            return Ok(None);
        };
        // Sorted, places are read in file order; a damaged graph may name one twice.
        let rescored = nearest.iter().take(self.codes.rescored(k));
        let mut places: Vec<Place> = rescored.flat_map(|near| live(near.node())).collect();
        left.get().ok_or_else(shared)?;
        places.sort_unstable();
        places.dedup();
        vectors.prefetch(places.iter().map(|place| place.ordinal as usize));
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
