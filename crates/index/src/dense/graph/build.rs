//! Building a graph from the vectors of a segment.
//!
//! A node is a direction: passages with the same codes share one, so that a thousand copies of a
//! text do not become an isolated cluster of neighbors. Nodes are inserted in batches, as in
//! ParlayANN (Manohar and others 2024): those of a batch search the existing graph for their
//! neighbors in parallel, and are then linked both ways. So it takes no locks, and the same vectors
//! give the same graph on any number of threads.
//!
//! The layers above the first are the graph at a [`LAYER_RATIO`]th of its size. Before the nodes of
//! the next layer are inserted they are sorted by their nearest node, so that near ones are near
//! each other in memory, where most of the time is spent.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::AtomicBool;

use ken_storage::Watch;
use rayon::prelude::*;

use super::scalar::{QueryCodes, ScalarCodes, ScalarQuery};
use super::walk::{Layer, NO_NODE, Neighbor, Walker};
use crate::IndexError;
use crate::dense::layout::M_MAX;
use crate::dense::vectors::quantize;
use crate::dense::{RowBuffer, SegmentVectors, check_cancelled};

/// Neighbors that a new node chooses (M of the HNSW paper). The others are nodes that choose it.
const M: usize = 16;

/// The most neighbors of a node while building: above [`M_MAX`], so that it need not choose again for every new
/// neighbor.
const M_MAX_BUILDING: usize = 48;

/// The candidates among which a new node chooses its neighbors.
const EF_CONSTRUCTION: usize = 128;

/// The ratio of the size of a layer to that of the layer above.
const LAYER_RATIO: usize = 32;

/// The ratio of the size of the existing graph to that of a batch.
const BATCH: usize = 16;

/// A finished graph.
pub(super) struct Built {
    /// `[nodes, dimensions]`
    pub(super) codes: Vec<i8>,
    /// `[nodes]`
    pub(super) scales: Vec<f32>,
    /// For each layer, all nodes first, `[nodes of the layer, M_MAX]`.
    pub(super) layers: Vec<Vec<u32>>,
    /// Where the passages of each node start in `ordinals`, and where the last end: `[nodes + 1]`.
    pub(super) starts: Vec<u32>,
    /// `[passages]`
    pub(super) ordinals: Vec<u32>,
}

impl Built {
    /// The ordinal of the first passage of each node: `[nodes]`.
    pub(super) fn first_passages(&self) -> Vec<u32> {
        let (_, starts) = self.starts.split_last().unwrap_or((&0, &[]));
        let ordinals = starts
            .iter()
            .filter_map(|&start| self.ordinals.get(start as usize));
        ordinals.copied().collect()
    }
}

/// The numbers of nodes of the layers of a graph, `nodes` first.
pub(super) fn layer_sizes(nodes: usize) -> Vec<usize> {
    let sizes = std::iter::successors(Some(nodes), |&size| {
        (size > 2 * LAYER_RATIO).then_some(size / LAYER_RATIO)
    });
    sizes.collect()
}

/// Builds the graph on all threads, in about 800 bytes of memory per vector of 384 dimensions.
///
/// # Errors
/// If the vectors cannot be read, and [`IndexError::Cancelled`] soon after `cancel` has been
/// set.
pub(super) fn build(vectors: &SegmentVectors, cancel: &AtomicBool) -> Result<Built, IndexError> {
    let dimensions = vectors.dimensions();
    let mut directions = distinct(vectors, cancel)?;
    let nodes = directions.len();
    let sizes = layer_sizes(nodes);
    let mut graph = Growing {
        codes: vec![0; nodes * dimensions],
        scales: vec![0.0; nodes],
        dimensions,
        rows: vec![NO_NODE; nodes * M_MAX_BUILDING],
        finished: Vec::new(),
    };
    let mut done = 0;
    for &size in sizes.iter().rev() {
        let newcomers = &mut directions[done..size];
        if done > 0 {
            sort_by_nearest(newcomers, vectors, &graph, cancel)?;
        }
        let codes = graph.codes[done * dimensions..].par_chunks_mut(dimensions);
        let scales = graph.scales[done..].par_iter_mut();
        newcomers
            .par_iter()
            .zip(codes.zip(scales))
            .try_for_each_init(RowBuffer::default, |buffer, (passages, (codes, scale))| {
                check_cancelled(cancel)?;
                *scale = quantize(passages.vector(vectors, buffer)?, codes);
                Ok::<_, IndexError>(())
            })?;
        graph.insert(done, size, cancel)?;
        graph.finished.push(graph.finished_rows(size, cancel)?);
        done = size;
    }
    let mut starts = vec![0];
    let mut ordinals = Vec::new();
    for passages in directions {
        ordinals.extend(passages.0);
        starts.push(ordinals.len() as u32);
    }
    graph.finished.reverse();
    Ok(Built {
        codes: graph.codes,
        scales: graph.scales,
        layers: graph.finished,
        starts,
        ordinals,
    })
}

/// The passages of one node, by ordinal; at least one.
struct Passages(Vec<u32>);

impl Passages {
    fn vector<'a>(
        &self,
        vectors: &'a SegmentVectors,
        buffer: &'a mut RowBuffer,
    ) -> Result<&'a [f32], IndexError> {
        match self.0.first() {
            Some(&ordinal) => vectors.row(ordinal as usize, buffer),
            None => Ok(&[]),
        }
    }
}

/// The passages grouped by direction, in the order of the 64-bit hashes of their codes, which is independent of the
/// directions. Two directions with the same hash would share a node, and searches would hardly find one of them.
fn distinct(vectors: &SegmentVectors, cancel: &AtomicBool) -> Result<Vec<Passages>, IndexError> {
    let new = || (Vec::new(), RowBuffer::default());
    let mut hashed: Vec<(u64, u32)> = (0..vectors.passages())
        .into_par_iter()
        .map_init(new, |(codes, buffer), ordinal| {
            check_cancelled(cancel)?;
            codes.resize(vectors.dimensions(), 0);
            quantize(vectors.row(ordinal, buffer)?, codes);
            let mut hasher = DefaultHasher::new();
            hasher.write(bytemuck::cast_slice(codes));
            Ok((hasher.finish(), ordinal as u32))
        })
        .collect::<Result<_, IndexError>>()?;
    hashed.par_sort_unstable();
    Ok(hashed
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| Passages(same.iter().map(|&(_, ordinal)| ordinal).collect()))
        .collect())
}

/// Sorts new nodes by their nearest node in the graph.
fn sort_by_nearest(
    newcomers: &mut [Passages],
    vectors: &SegmentVectors,
    graph: &Growing,
    cancel: &AtomicBool,
) -> Result<(), IndexError> {
    let (layers, codes) = (graph.layers(), graph.codes());
    let new = || {
        let (walker, query) = (Walker::default(), QueryCodes::default());
        (walker, query, RowBuffer::default())
    };
    let mut keyed: Vec<(Option<u32>, Passages)> = newcomers
        .par_iter_mut()
        .map_init(new, |(walker, query, buffer), passages| {
            check_cancelled(cancel)?;
            query.set(passages.vector(vectors, buffer)?);
            let passages = std::mem::replace(passages, Passages(Vec::new()));
            let nearest = walker.nearest(&layers, &ScalarQuery { codes, query });
            Ok((nearest.map(Neighbor::node), passages))
        })
        .collect::<Result<_, IndexError>>()?;
    keyed.par_sort_by_key(|(nearest, _)| *nearest);
    for (place, (_, passages)) in newcomers.iter_mut().zip(keyed) {
        *place = passages;
    }
    Ok(())
}

/// A graph under construction.
struct Growing {
    codes: Vec<i8>,
    scales: Vec<f32>,
    dimensions: usize,
    /// `[nodes, M_MAX_BUILDING]`
    rows: Vec<u32>,
    /// The finished layers, the smallest first.
    finished: Vec<Vec<u32>>,
}

impl Growing {
    fn codes(&self) -> ScalarCodes<'_> {
        ScalarCodes {
            numbers: &self.codes,
            scales: &self.scales,
            dimensions: self.dimensions,
            watch: Watch::default(),
        }
    }

    fn layers(&self) -> Vec<Layer<'_>> {
        let growing = Layer::in_memory(&self.rows, M_MAX_BUILDING);
        let finished = self
            .finished
            .iter()
            .rev()
            .map(|rows| Layer::in_memory(rows, M_MAX));
        std::iter::once(growing).chain(finished).collect()
    }

    fn row(&self, node: u32) -> &[u32] {
        let row = &self.rows[node as usize * M_MAX_BUILDING..][..M_MAX_BUILDING];
        let length = row.iter().position(|&neighbor| neighbor == NO_NODE);
        &row[..length.unwrap_or(M_MAX_BUILDING)]
    }

    fn set_row(&mut self, node: u32, neighbors: &[u32]) {
        let row = &mut self.rows[node as usize * M_MAX_BUILDING..][..M_MAX_BUILDING];
        row.fill(NO_NODE);
        row[..neighbors.len()].copy_from_slice(neighbors);
    }

    /// Links the nodes from `done` to `size`, whose codes are set, with those before them and with
    /// each other.
    fn insert(&mut self, done: usize, size: usize, cancel: &AtomicBool) -> Result<(), IndexError> {
        let mut inserted = done.max(1); // node 0 needs no links
        let mut coming: Vec<u32> = (inserted as u32..size as u32).collect();
        coming.sort_by_key(|&node| hashed(node));
        let mut coming = &mut coming[..];
        while !coming.is_empty() {
            let count = (inserted / BATCH).clamp(1, coming.len());
            let (batch, later) = coming.split_at_mut(count);
            batch.sort_unstable(); // near nodes in sequence share cache lines
            self.insert_batch(batch, cancel)?;
            inserted += count;
            coming = later;
        }
        Ok(())
    }

    fn insert_batch(&mut self, batch: &[u32], cancel: &AtomicBool) -> Result<(), IndexError> {
        let (layers, codes) = (self.layers(), self.codes());
        let new = || (Walker::default(), QueryCodes::default());
        let chosen: Vec<Vec<u32>> = batch
            .par_iter()
            .map_init(new, |(walker, query), &node| {
                check_cancelled(cancel)?;
                codes.query_of(node, query);
                let among = ScalarQuery { codes, query };
                let found = walker.walk(&layers, &among, EF_CONSTRUCTION, usize::MAX, &|_| true);
                Ok(choose(&codes, &found.unwrap_or_default(), M, query))
            })
            .collect::<Result<_, IndexError>>()?;
        let mut links: Vec<(u32, u32)> = Vec::new();
        for (&node, neighbors) in batch.iter().zip(&chosen) {
            self.set_row(node, neighbors);
            links.extend(neighbors.iter().map(|&neighbor| (neighbor, node)));
        }
        links.par_sort_unstable();
        let by_node: Vec<&[(u32, u32)]> = links.chunk_by(|a, b| a.0 == b.0).collect();
        let linked: Vec<(u32, Vec<u32>)> = by_node
            .par_iter()
            .map_init(QueryCodes::default, |query, links| {
                check_cancelled(cancel)?;
                let node = links[0].0;
                let mut row = self.row(node).to_vec();
                row.extend(links.iter().map(|&(_, newcomer)| newcomer));
                if row.len() > M_MAX_BUILDING {
                    row = self.best_of(node, &row, query);
                }
                Ok((node, row))
            })
            .collect::<Result<_, IndexError>>()?;
        for (node, row) in linked {
            self.set_row(node, &row);
        }
        Ok(())
    }

    /// At most [`M_MAX`] of these neighbors, which the node keeps.
    fn best_of(&self, node: u32, neighbors: &[u32], query: &mut QueryCodes) -> Vec<u32> {
        let codes = self.codes();
        let mut similarities = Vec::new();
        codes.query_of(node, query);
        codes.similarities(query, neighbors, &mut similarities);
        let pairs = neighbors.iter().zip(similarities);
        let mut found: Vec<Neighbor> = pairs
            .map(|(&neighbor, similarity)| Neighbor::new(similarity, neighbor))
            .collect();
        found.sort_unstable_by_key(|&near| Reverse(near));
        choose(&codes, &found, M_MAX, query)
    }

    /// The rows of the nodes before `size`, each sorted and at most [`M_MAX`] long.
    fn finished_rows(&self, size: usize, cancel: &AtomicBool) -> Result<Vec<u32>, IndexError> {
        let mut finished = vec![NO_NODE; size * M_MAX];
        let rows = finished.par_chunks_mut(M_MAX).enumerate();
        rows.try_for_each_init(QueryCodes::default, |query, (node, finished)| {
            check_cancelled(cancel)?;
            let row = self.row(node as u32);
            let kept = match row.len() > M_MAX {
                true => &self.best_of(node as u32, row, query),
                false => row,
            };
            finished[..kept.len()].copy_from_slice(kept);
            finished.sort_unstable();
            Ok::<_, IndexError>(())
        })?;
        Ok(finished)
    }
}

/// Chooses at most `limit` of some candidates, best first, each nearer to the node that is being linked than to any
/// candidate chosen before it, so that links go in all directions, not into one cluster (algorithm 4 of the paper).
/// `query` is a buffer.
fn choose(
    codes: &ScalarCodes<'_>,
    found: &[Neighbor],
    limit: usize,
    query: &mut QueryCodes,
) -> Vec<u32> {
    let mut chosen = Vec::with_capacity(limit);
    for near in found {
        if chosen.len() == limit {
            break;
        }
        codes.query_of(near.node(), query);
        if !codes.any_above(query, &chosen, near.similarity()) {
            chosen.push(near.node());
        }
    }
    chosen
}

/// A hash of a node's number.
fn hashed(node: u32) -> u64 {
    ken_random::mixed((u64::from(node) + 1).wrapping_mul(ken_random::STEP))
}
