//! Scalar quantization: vectors in one byte per number, a quarter of the memory to fetch in a walk.
//!
//! A row is scaled by its own largest number. Products of codes are integers, exact in any order of
//! addition, so every processor gives the same; they approximate the real ones to about three
//! digits, and results are rescored by the vectors themselves.

use ken_storage::Watch;

use super::instructions::{InstructionSet, ROWS};
use super::walk::Similarity;
use crate::dense::prefetch::prefetch;
use crate::dense::vectors::quantize;

/// The codes of some nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarCodes<'a> {
    /// `[nodes, dimensions]`
    pub(super) numbers: &'a [i8],
    /// The factors of the codes: `[nodes]`.
    pub(super) scales: &'a [f32],
    pub(super) dimensions: usize,
    /// Checks the blocks of the numbers.
    pub(super) watch: Watch<'a>,
}

/// The codes of one vector.
#[derive(Clone, Debug, Default)]
pub(super) struct QueryCodes {
    /// `[dimensions]`
    numbers: Vec<i8>,
    scale: f32,
}

impl QueryCodes {
    /// A vector from outside the graph.
    pub(super) fn of(vector: &[f32]) -> QueryCodes {
        let mut query = QueryCodes::default();
        query.set(vector);
        query
    }

    /// Quantizes another vector.
    pub(super) fn set(&mut self, vector: &[f32]) {
        self.numbers.resize(vector.len(), 0);
        self.scale = quantize(vector, &mut self.numbers);
    }
}

impl ScalarCodes<'_> {
    /// The codes of a node: `[dimensions]`; `None` for an unknown node.
    fn row(&self, node: u32) -> Option<&[i8]> {
        let start = node as usize * self.dimensions;
        self.numbers.get(start..start + self.dimensions)
    }

    fn scale(&self, node: u32) -> f32 {
        self.scales.get(node as usize).copied().unwrap_or_default()
    }

    /// Makes `node` the query.
    pub(super) fn query_of(&self, node: u32, query: &mut QueryCodes) {
        query.scale = self.scale(node);
        query.numbers.clear();
        query.numbers.extend(self.row(node).unwrap_or_default());
    }

    /// Replaces the contents of `similarities` by the similarity of the query to each of the `nodes`; higher is more
    /// similar.
    pub(super) fn similarities(
        &self,
        query: &QueryCodes,
        nodes: &[u32],
        similarities: &mut Vec<f32>,
    ) {
        let instructions = InstructionSet::detected();
        similarities.clear();
        for nodes in nodes.chunks(ROWS) {
            let chunk = self.similarities_of(instructions, query, nodes);
            similarities.extend(chunk.iter().take(nodes.len()));
        }
    }

    /// Whether the query is more similar to one of the `nodes` than `bound`.
    pub(super) fn any_above(&self, query: &QueryCodes, nodes: &[u32], bound: f32) -> bool {
        let instructions = InstructionSet::detected();
        nodes.chunks(ROWS).any(|nodes| {
            let similarities = self.similarities_of(instructions, query, nodes);
            similarities
                .iter()
                .take(nodes.len())
                .any(|&similarity| similarity > bound)
        })
    }

    /// The similarities of at most [`ROWS`] nodes; the entries after the last node mean nothing.
    #[inline]
    fn similarities_of(
        &self,
        instructions: InstructionSet,
        query: &QueryCodes,
        nodes: &[u32],
    ) -> [f32; ROWS] {
        let mut rows = [query.numbers.as_slice(); ROWS];
        let mut scales = [0.0; ROWS];
        for ((row, scale), &node) in rows.iter_mut().zip(&mut scales).zip(nodes) {
            if let Some(codes) = self.row(node) {
                let start = node as usize * self.dimensions;
                self.watch.touch(start..start + self.dimensions);
                (*row, *scale) = (codes, self.scale(node));
            }
        }
        let products = instructions.dots(&query.numbers, rows);
        std::array::from_fn(|row| products[row] as f32 * (query.scale * scales[row]))
    }
}

/// A query with the codes that it is compared with.
pub(super) struct ScalarQuery<'a> {
    pub(super) codes: ScalarCodes<'a>,
    pub(super) query: &'a QueryCodes,
}

impl Similarity for ScalarQuery<'_> {
    fn prefetch(&self, node: u32) {
        if let Some(row) = self.codes.row(node) {
            prefetch(row);
        }
    }

    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>) {
        self.codes.similarities(self.query, nodes, similarities);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn similarities_are_near_the_dot_product(
            (query, rows) in (1usize..100).prop_flat_map(|dimensions| (
                prop::collection::vec(-1.0f32..1.0, dimensions),
                prop::collection::vec(-1.0f32..1.0, dimensions * 5),
            ))
        ) {
            let dimensions = query.len();
            let mut numbers = vec![0; rows.len()];
            let scales: Vec<f32> = rows
                .chunks(dimensions)
                .zip(numbers.chunks_mut(dimensions))
                .map(|(row, codes)| quantize(row, codes))
                .collect();
            let codes = ScalarCodes { numbers: &numbers, scales: &scales, dimensions, watch: Watch::default() };
            let query_codes = QueryCodes::of(&query);
            let mut similarities = Vec::new();
            codes.similarities(&query_codes, &[4, 0, 1, 2, 3, 5], &mut similarities);
            prop_assert_eq!(similarities.pop(), Some(0.0));
            for (similarity, row) in similarities[1..].iter().zip(rows.chunks(dimensions)) {
                let exact: f32 = row.iter().zip(&query).map(|(x, y)| x * y).sum();
                prop_assert!((similarity - exact).abs() <= dimensions as f32 * 0.01, "{similarity} {exact}");
            }
            let largest = similarities.iter().copied().fold(f32::MIN, f32::max);
            prop_assert!(!codes.any_above(&query_codes, &[0, 1, 2, 3, 4], largest));
            prop_assert!(codes.any_above(&query_codes, &[0, 1, 2, 3, 4], largest - 1.0));
        }
    }
}
