//! The greedy walk through a graph, from near nodes to nearer ones: the search of the HNSW paper
//! (Malkov and Yashunin 2016, algorithms 2 and 5).
//!
//! Similarities come from the caller. Nothing here panics on a damaged graph: an invalid neighbor
//! ends its row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ken_storage::Watch;

use crate::dense::prefetch::prefetch;

/// Pads a row of neighbors.
pub(super) const NO_NODE: u32 = u32::MAX;

/// A node with its similarity to the query, in one number: the larger the more similar, and among
/// equals the node with the smaller number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Neighbor(u64);

impl Neighbor {
    /// Farther than any other.
    const FAR: Neighbor = Neighbor(0);

    pub(super) fn new(similarity: f32, node: u32) -> Neighbor {
        // The bits of floats are ordered like integers, but for the sign.
        let bits = similarity.to_bits();
        let ordered = match bits >> 31 {
            0 => bits | 1 << 31,
            _ => !bits,
        };
        Neighbor(u64::from(ordered) << 32 | u64::from(!node))
    }

    pub(super) fn node(self) -> u32 {
        !(self.0 as u32)
    }

    pub(super) fn similarity(self) -> f32 {
        let ordered = (self.0 >> 32) as u32;
        f32::from_bits(match ordered >> 31 {
            0 => !ordered,
            _ => ordered & !(1 << 31),
        })
    }
}

/// A layer: the neighbors of its nodes, from node 0 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    /// `[nodes, m]`, padded with [`NO_NODE`]
    pub(super) rows: &'a [u32],
    pub(super) m: usize,
    pub(super) watch: Watch<'a>,
}

impl<'a> Layer<'a> {
    /// A layer that is being built.
    pub(super) fn in_memory(rows: &'a [u32], m: usize) -> Self {
        let watch = Watch::default();
        Self { rows, m, watch }
    }

    fn nodes(&self) -> usize {
        self.rows.len() / self.m
    }

    fn row(&self, node: u32) -> &'a [u32] {
        let start = node as usize * self.m;
        let row = self.rows.get(start..start + self.m);
        row.unwrap_or_default()
    }

    pub(super) fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + use<'a> {
        let nodes = self.nodes();
        let row_bytes = self.m * size_of::<u32>();
        let start = node as usize * row_bytes;
        self.watch.touch(start..start + row_bytes);
        let row = self.row(node).iter().copied();
        row.take_while(move |&neighbor| (neighbor as usize) < nodes)
    }
}

/// A query that can be compared with nodes.
pub(super) trait Similarity {
    /// Prefetches the memory that a comparison with the node reads.
    fn prefetch(&self, node: u32);

    /// Replaces the contents of `similarities` by its similarity to each of the `nodes`; higher is more similar.
    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>);
}

/// A query that is infinitely far from one node, so that a walk skips it.
pub(super) struct Without<S> {
    pub(super) by: S,
    pub(super) node: Option<u32>,
}

impl<S: Similarity> Similarity for Without<S> {
    fn prefetch(&self, node: u32) {
        self.by.prefetch(node);
    }

    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>) {
        self.by.to_nodes(nodes, similarities);
        if self.node.is_some()
            && let Some(index) = nodes.iter().position(|&node| Some(node) == self.node)
            && let Some(similarity) = similarities.get_mut(index)
        {
            *similarity = f32::NEG_INFINITY;
        }
    }
}

/// The reusable buffers of a walk.
#[derive(Debug, Default)]
pub(super) struct Walker {
    /// One bit for each node.
    visited: Vec<u64>,
    candidates: BinaryHeap<Neighbor>,
    /// The worst on top.
    best: BinaryHeap<Reverse<Neighbor>>,
    unvisited: Vec<u32>,
    similarities: Vec<f32>,
}

impl Walker {
    /// The `ef` accepted nodes nearest to the query, best first; the others are only passed
    /// through. `None` if more than `budget` nodes would have to be visited. All nodes are in
    /// the first of the `layers`, ever fewer in those above, node 0 in each.
    pub(super) fn walk(
        &mut self,
        layers: &[Layer<'_>],
        query: &impl Similarity,
        ef: usize,
        budget: usize,
        is_accepted: &impl Fn(u32) -> bool,
    ) -> Option<Vec<Neighbor>> {
        let (bottom, above) = layers.split_first()?;
        let from = self.nearest(above, query)?;
        self.search(bottom, query, from, ef, budget, is_accepted)
    }

    /// A node near the query, found greedily.
    pub(super) fn nearest(
        &mut self,
        layers: &[Layer<'_>],
        query: &impl Similarity,
    ) -> Option<Neighbor> {
        query.to_nodes(&[0], &mut self.similarities);
        let mut nearest = Neighbor::new(*self.similarities.first()?, 0);
        for layer in layers.iter().rev() {
            nearest = self.descend(layer, query, nearest);
        }
        Some(nearest)
    }

    /// Goes from neighbor to nearer neighbor, until none is nearer.
    fn descend(
        &mut self,
        layer: &Layer<'_>,
        query: &impl Similarity,
        mut from: Neighbor,
    ) -> Neighbor {
        loop {
            self.unvisited.clear();
            for neighbor in layer.neighbors(from.node()) {
                query.prefetch(neighbor);
                self.unvisited.push(neighbor);
            }
            query.to_nodes(&self.unvisited, &mut self.similarities);
            let nearest = self.compared().max();
            match nearest {
                Some(nearer) if nearer > from => from = nearer,
                _ => return from,
            }
        }
    }

    fn compared(&self) -> impl Iterator<Item = Neighbor> {
        let ones = self.unvisited.iter().zip(&self.similarities);
        ones.map(|(&node, &similarity)| Neighbor::new(similarity, node))
    }

    fn search(
        &mut self,
        layer: &Layer<'_>,
        query: &impl Similarity,
        from: Neighbor,
        ef: usize,
        budget: usize,
        is_accepted: &impl Fn(u32) -> bool,
    ) -> Option<Vec<Neighbor>> {
        self.visited.clear();
        self.visited.resize(layer.nodes().div_ceil(64), 0);
        self.candidates.clear();
        self.best.clear();
        self.best.reserve(ef.min(layer.nodes()));
        self.visit(from.node());
        let mut bound = self.take(from, ef, is_accepted);
        let mut visited = 1;
        while let Some(at) = self.candidates.pop() {
            if at < bound {
                break;
            }
            self.unvisited.clear();
            for neighbor in layer.neighbors(at.node()) {
                if self.visit(neighbor) {
                    query.prefetch(neighbor);
                    self.unvisited.push(neighbor);
                }
            }
            if let Some(next) = self.candidates.peek() {
                prefetch(layer.row(next.node()));
            }
            visited += self.unvisited.len();
            if visited > budget {
                return None;
            }
            query.to_nodes(&self.unvisited, &mut self.similarities);
            for index in 0..self.unvisited.len() {
                let near = Neighbor::new(self.similarities[index], self.unvisited[index]);
                if near > bound {
                    bound = self.take(near, ef, is_accepted);
                }
            }
        }
        let mut best: Vec<Neighbor> = self.best.drain().map(|Reverse(near)| near).collect();
        best.sort_unstable_by_key(|&near| Reverse(near));
        Some(best)
    }

    /// Marks a node as visited; returns whether this is its first visit.
    fn visit(&mut self, node: u32) -> bool {
        let Some(word) = self.visited.get_mut(node as usize / 64) else {
            return false;
        };
        let bit = 1u64 << (node % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Keeps a node as a candidate, and as a result if it is accepted. Returns the neighbor that the next ones
    /// must surpass.
    fn take(&mut self, near: Neighbor, ef: usize, is_accepted: &impl Fn(u32) -> bool) -> Neighbor {
        self.candidates.push(near);
        if is_accepted(near.node()) {
            if self.best.len() < ef {
                self.best.push(Reverse(near));
            } else if let Some(mut worst) = self.best.peek_mut() {
                *worst = Reverse(near);
            }
        }
        match self.best.peek() {
            Some(&Reverse(worst)) if self.best.len() >= ef => worst,
            _ => Neighbor::FAR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_similarity_and_then_of_number(
            one in (any::<f32>().prop_filter("a number", |x| !x.is_nan()), any::<u32>()),
            other in (any::<f32>().prop_filter("a number", |x| !x.is_nan()), any::<u32>()),
        ) {
            let near = Neighbor::new(one.0, one.1);
            prop_assert_eq!(near.similarity().to_bits(), one.0.to_bits());
            prop_assert_eq!(near.node(), one.1);
            let expected = one.0.total_cmp(&other.0).then(other.1.cmp(&one.1));
            prop_assert_eq!(near.cmp(&Neighbor::new(other.0, other.1)), expected);
        }
    }
}
