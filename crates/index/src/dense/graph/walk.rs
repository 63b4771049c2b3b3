//! The walk through a graph, from near nodes to nearer ones: the search of the paper on hierarchical
//! navigable small worlds (Malkov and Yashunin 2016, algorithms 2 and 5).
//!
//! The caller computes similarities. Nothing here panics on a damaged graph: an invalid neighbor ends
//! its row.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Fills a row of neighbors after the last one.
pub(super) const NO_NODE: u32 = u32::MAX;

/// A node with its similarity to what is searched for, in one number: the larger the more similar,
/// and of equals the node with the smaller number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near(u64);

impl Near {
    /// Before any other.
    const FAR: Near = Near(0);

    pub(super) fn new(similarity: f32, node: u32) -> Near {
        // The bits of floats are ordered as whole numbers are, but for the sign.
        let bits = similarity.to_bits();
        let ordered = match bits >> 31 {
            0 => bits | 1 << 31,
            _ => !bits,
        };
        Near(u64::from(ordered) << 32 | u64::from(!node))
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

/// The neighbors of the nodes from 0 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    /// `[nodes, degree]`, filled up with [`NO_NODE`]
    pub(super) rows: &'a [u32],
    pub(super) degree: usize,
}

impl<'a> Layer<'a> {
    fn nodes(&self) -> usize {
        self.rows.len() / self.degree
    }

    pub(super) fn neighbors(&self, node: u32) -> impl Iterator<Item = u32> + use<'a> {
        let (start, nodes) = (node as usize * self.degree, self.nodes());
        let row = self.rows.get(start..start + self.degree);
        let row = row.unwrap_or_default().iter().copied();
        row.take_while(move |&neighbor| (neighbor as usize) < nodes)
    }
}

/// What is searched for, as it compares with nodes.
pub(super) trait Similarity {
    /// Replaces `similarities` by those to each of the `nodes`; larger is more similar.
    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>);
}

/// The buffers of a walk, reused by the next.
#[derive(Debug, Default)]
pub(super) struct Walker {
    /// One bit for each node.
    seen: Vec<u64>,
    open: BinaryHeap<Near>,
    /// The worst on top.
    best: BinaryHeap<Reverse<Near>>,
    fresh: Vec<u32>,
    similarities: Vec<f32>,
}

impl Walker {
    /// The `ef` nodes nearest to what is searched for, best first, of those that are `accepted`; the
    /// others are walked through. `None` where more than `budget` nodes had to be visited. All nodes
    /// are in the first of the `layers`, ever fewer in those above, node 0 in each.
    pub(super) fn walk(
        &mut self,
        layers: &[Layer<'_>],
        probe: &impl Similarity,
        ef: usize,
        budget: usize,
        accepted: &impl Fn(u32) -> bool,
    ) -> Option<Vec<Near>> {
        let (bottom, above) = layers.split_first()?;
        let from = self.nearest(above, probe)?;
        self.search(bottom, probe, from, ef, budget, accepted)
    }

    /// A node near to what is searched for, found greedily.
    pub(super) fn nearest(
        &mut self,
        layers: &[Layer<'_>],
        probe: &impl Similarity,
    ) -> Option<Near> {
        probe.to_nodes(&[0], &mut self.similarities);
        let mut at = Near::new(*self.similarities.first()?, 0);
        for layer in layers.iter().rev() {
            at = self.descend(layer, probe, at);
        }
        Some(at)
    }

    /// From neighbor to nearer neighbor, until there is none.
    fn descend(&mut self, layer: &Layer<'_>, probe: &impl Similarity, from: Near) -> Near {
        let mut at = from;
        loop {
            self.fresh.clear();
            self.fresh.extend(layer.neighbors(at.node()));
            probe.to_nodes(&self.fresh, &mut self.similarities);
            let nearest = self.fresh_ones().max();
            match nearest {
                Some(nearer) if nearer > at => at = nearer,
                _ => return at,
            }
        }
    }

    fn fresh_ones(&self) -> impl Iterator<Item = Near> {
        let ones = self.fresh.iter().zip(&self.similarities);
        ones.map(|(&node, &similarity)| Near::new(similarity, node))
    }

    fn search(
        &mut self,
        layer: &Layer<'_>,
        probe: &impl Similarity,
        from: Near,
        ef: usize,
        budget: usize,
        accepted: &impl Fn(u32) -> bool,
    ) -> Option<Vec<Near>> {
        self.seen.clear();
        self.seen.resize(layer.nodes().div_ceil(64), 0);
        self.open.clear();
        self.best.clear();
        self.see(from.node());
        let mut bound = self.take(from, ef, accepted);
        let mut visited = 1;
        while let Some(at) = self.open.pop() {
            if at < bound {
                break;
            }
            self.fresh.clear();
            for neighbor in layer.neighbors(at.node()) {
                if self.see(neighbor) {
                    self.fresh.push(neighbor);
                }
            }
            visited += self.fresh.len();
            if visited > budget {
                return None;
            }
            probe.to_nodes(&self.fresh, &mut self.similarities);
            for index in 0..self.fresh.len() {
                let near = Near::new(self.similarities[index], self.fresh[index]);
                if near > bound {
                    bound = self.take(near, ef, accepted);
                }
            }
        }
        let mut best: Vec<Near> = self.best.drain().map(|Reverse(near)| near).collect();
        best.sort_unstable_by_key(|&near| Reverse(near));
        Some(best)
    }

    /// Marks a node. Returns whether it is seen for the first time.
    fn see(&mut self, node: u32) -> bool {
        let Some(word) = self.seen.get_mut(node as usize / 64) else {
            return false;
        };
        let bit = 1u64 << (node % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Keeps a node to continue from, and as a result where it is accepted. Returns what the next ones
    /// have to exceed.
    fn take(&mut self, near: Near, ef: usize, accepted: &impl Fn(u32) -> bool) -> Near {
        self.open.push(near);
        if accepted(near.node()) {
            if self.best.len() < ef {
                self.best.push(Reverse(near));
            } else if let Some(mut worst) = self.best.peek_mut() {
                *worst = Reverse(near);
            }
        }
        match self.best.peek() {
            Some(&Reverse(worst)) if self.best.len() >= ef => worst,
            _ => Near::FAR,
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
            let near = Near::new(one.0, one.1);
            prop_assert_eq!(near.similarity().to_bits(), one.0.to_bits());
            prop_assert_eq!(near.node(), one.1);
            let expected = one.0.total_cmp(&other.0).then(other.1.cmp(&one.1));
            prop_assert_eq!(near.cmp(&Near::new(other.0, other.1)), expected);
        }
    }
}
