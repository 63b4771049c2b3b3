//! Scalar quantization: vectors in one byte per number, a quarter of the memory to fetch in a walk.
//!
//! A row is scaled by its own largest number. Products of codes are integers, exact in any order of
//! addition, so every processor gives the same; they approximate the real ones to about three
//! digits, and results are rescored by the vectors themselves.

use super::walk::Similarity;
use crate::dense::vectors::quantize;

/// Codes that are multiplied at once.
const LANES: usize = 32;

/// How much of a row is prefetched, in bytes; the processor prefetches the rest by itself.
#[cfg(target_arch = "x86_64")]
const PREFETCHED: usize = 512;

/// The codes of some nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarCodes<'a> {
    /// `[nodes, dimensions]`
    pub(super) numbers: &'a [i8],
    /// The factors of the codes: `[nodes]`.
    pub(super) scales: &'a [f32],
    pub(super) dimensions: usize,
}

/// The codes of one vector, widened for multiplication.
#[derive(Clone, Debug, Default)]
pub(super) struct QueryCodes {
    /// `[dimensions]`
    numbers: Vec<i16>,
    scale: f32,
}

impl QueryCodes {
    /// A vector from outside the graph.
    pub(super) fn of(vector: &[f32]) -> QueryCodes {
        let mut query = QueryCodes::default();
        query.set(vector, &mut Vec::new());
        query
    }

    /// Quantizes another vector; `codes` is a buffer.
    pub(super) fn set(&mut self, vector: &[f32], codes: &mut Vec<i8>) {
        codes.resize(vector.len(), 0);
        self.scale = quantize(vector, codes);
        self.widen(codes);
    }

    fn widen(&mut self, codes: &[i8]) {
        self.numbers.clear();
        self.numbers
            .extend(codes.iter().map(|&code| i16::from(code)));
    }
}

impl ScalarCodes<'_> {
    /// The codes of a node: `[dimensions]`; empty for an unknown node.
    fn row(&self, node: u32) -> &[i8] {
        let start = node as usize * self.dimensions;
        self.numbers
            .get(start..start + self.dimensions)
            .unwrap_or_default()
    }

    fn scale(&self, node: u32) -> f32 {
        self.scales.get(node as usize).copied().unwrap_or_default()
    }

    /// Makes a node the query.
    pub(super) fn query_of(&self, node: u32, query: &mut QueryCodes) {
        query.scale = self.scale(node);
        query.widen(self.row(node));
    }

    /// Writes the similarity of the query to each of the `nodes`, the larger the more similar, into
    /// `similarities`, in place of its contents.
    pub(super) fn similarities(
        &self,
        query: &QueryCodes,
        nodes: &[u32],
        similarities: &mut Vec<f32>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been found to have AVX2, which is all that the
            // function requires; it reads and writes only through slices.
            #[allow(unsafe_code)]
            unsafe {
                similarities_avx2(self, query, nodes, similarities);
            }
            return;
        }
        similarities_with(self, query, nodes, similarities);
    }

    /// Whether the query is more similar to one of the `nodes` than `bound`.
    pub(super) fn any_above(&self, query: &QueryCodes, nodes: &[u32], bound: f32) -> bool {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            return unsafe { any_above_avx2(self, query, nodes, bound) };
        }
        any_above_with(self, query, nodes, bound)
    }
}

/// A query with the codes that it is compared with.
pub(super) struct ScalarQuery<'a> {
    pub(super) codes: ScalarCodes<'a>,
    pub(super) query: &'a QueryCodes,
}

impl Similarity for ScalarQuery<'_> {
    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>) {
        self.codes.similarities(self.query, nodes, similarities);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn similarities_avx2(
    codes: &ScalarCodes<'_>,
    query: &QueryCodes,
    nodes: &[u32],
    out: &mut Vec<f32>,
) {
    similarities_with(codes, query, nodes, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn any_above_avx2(codes: &ScalarCodes<'_>, query: &QueryCodes, nodes: &[u32], bound: f32) -> bool {
    any_above_with(codes, query, nodes, bound)
}

// Loops and no closures, as in the exact products: a closure passed to a function that is not
// inlined would be compiled without the processor's features.

#[inline(always)]
fn similarities_with(
    codes: &ScalarCodes<'_>,
    query: &QueryCodes,
    nodes: &[u32],
    out: &mut Vec<f32>,
) {
    out.clear();
    for &node in nodes {
        prefetch(codes.row(node));
    }
    for &node in nodes {
        out.push(similarity(codes, query, node));
    }
}

#[inline(always)]
fn any_above_with(codes: &ScalarCodes<'_>, query: &QueryCodes, nodes: &[u32], bound: f32) -> bool {
    for &node in nodes {
        if similarity(codes, query, node) > bound {
            return true;
        }
    }
    false
}

#[inline(always)]
fn similarity(codes: &ScalarCodes<'_>, query: &QueryCodes, node: u32) -> f32 {
    let product = dot(&query.numbers, codes.row(node));
    product as f32 * (query.scale * codes.scale(node))
}

/// Cannot overflow below 133,000 dimensions; beyond it wraps, and the ranking is worse.
#[inline(always)]
fn dot(wide: &[i16], codes: &[i8]) -> i32 {
    let (wide_blocks, wide_rest) = wide.as_chunks::<LANES>();
    let (code_blocks, code_rest) = codes.as_chunks::<LANES>();
    let mut sum = 0i32;
    for (wide, codes) in wide_blocks.iter().zip(code_blocks) {
        for lane in 0..LANES {
            let product = i32::from(wide[lane]).wrapping_mul(i32::from(codes[lane]));
            sum = sum.wrapping_add(product);
        }
    }
    for (&wide, &code) in wide_rest.iter().zip(code_rest) {
        sum = sum.wrapping_add(i32::from(wide).wrapping_mul(i32::from(code)));
    }
    sum
}

/// Prefetches a row that is going to be read. Rows are far apart, so that a walk would otherwise
/// mostly wait for memory.
#[inline(always)]
fn prefetch(row: &[i8]) {
    #[cfg(target_arch = "x86_64")]
    for line in row.chunks(64).take(PREFETCHED / 64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing; the address is that of a slice that is borrowed.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
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
            let codes = ScalarCodes { numbers: &numbers, scales: &scales, dimensions };
            let query_codes = QueryCodes::of(&query);
            let (mut detected, mut plain) = (Vec::new(), Vec::new());
            codes.similarities(&query_codes, &[4, 0, 1, 2, 3], &mut detected);
            similarities_with(&codes, &query_codes, &[4, 0, 1, 2, 3], &mut plain);
            prop_assert_eq!(&detected, &plain);
            for (found, row) in detected[1..].iter().zip(rows.chunks(dimensions)) {
                let exact: f32 = row.iter().zip(&query).map(|(x, y)| x * y).sum();
                prop_assert!((found - exact).abs() <= dimensions as f32 * 0.01, "{found} {exact}");
            }
            let largest = detected.iter().copied().fold(f32::MIN, f32::max);
            prop_assert!(!codes.any_above(&query_codes, &[0, 1, 2, 3, 4], largest));
            prop_assert!(codes.any_above(&query_codes, &[0, 1, 2, 3, 4], largest - 1.0));
        }
    }
}
