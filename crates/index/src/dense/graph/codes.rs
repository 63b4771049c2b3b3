//! Vectors in one byte per number, by which the graph is walked: a quarter of the memory to fetch.
//!
//! A row is scaled by its own largest number. Products of codes are integers, so their sums are exact
//! and the same on every processor. They approximate the real ones to about three digits.

use super::walk::Similarity;
use crate::dense::vectors::quantize;

/// Codes that are multiplied in one go.
const LANES: usize = 32;

/// A row is prefetched only this far, in bytes; the processor predicts the rest.
#[cfg(target_arch = "x86_64")]
const PREFETCHED: usize = 512;

/// The codes of some nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codes<'a> {
    /// `[nodes, dimensions]`
    pub(super) numbers: &'a [i8],
    /// What the codes of a node are to be multiplied by: `[nodes]`.
    pub(super) scales: &'a [f32],
    pub(super) dimensions: usize,
}

/// One vector in codes, widened for multiplication.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    /// `[dimensions]`
    numbers: Vec<i16>,
    scale: f32,
}

impl Probe {
    /// A vector from outside the graph.
    pub(super) fn of(vector: &[f32]) -> Probe {
        let mut probe = Probe::default();
        probe.set(vector, &mut Vec::new());
        probe
    }

    /// Makes this the probe of another vector; `codes` is scratch space.
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

impl Codes<'_> {
    /// The codes of a node: `[dimensions]`; empty where there is no such node.
    fn row(&self, node: u32) -> &[i8] {
        let start = node as usize * self.dimensions;
        self.numbers
            .get(start..start + self.dimensions)
            .unwrap_or_default()
    }

    fn scale(&self, node: u32) -> f32 {
        self.scales.get(node as usize).copied().unwrap_or_default()
    }

    /// Makes `probe` that of a node.
    pub(super) fn probe(&self, node: u32, probe: &mut Probe) {
        probe.scale = self.scale(node);
        probe.widen(self.row(node));
    }

    /// Replaces `similarities` by those of the probe to each of the `nodes`; larger is more similar.
    pub(super) fn similarities(&self, probe: &Probe, nodes: &[u32], similarities: &mut Vec<f32>) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has just been found to have AVX2, which is all that the
            // function asks for; it reads and writes only through slices.
            #[allow(unsafe_code)]
            unsafe {
                similarities_avx2(self, probe, nodes, similarities);
            }
            return;
        }
        similarities_with(self, probe, nodes, similarities);
    }

    /// Whether the probe is more similar to one of the `nodes` than `bound`.
    pub(super) fn any_above(&self, probe: &Probe, nodes: &[u32], bound: f32) -> bool {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            return unsafe { any_above_avx2(self, probe, nodes, bound) };
        }
        any_above_with(self, probe, nodes, bound)
    }
}

/// A probe, and the nodes that it is compared with.
pub(super) struct Among<'a> {
    pub(super) codes: Codes<'a>,
    pub(super) probe: &'a Probe,
}

impl Similarity for Among<'_> {
    fn to_nodes(&self, nodes: &[u32], similarities: &mut Vec<f32>) {
        self.codes.similarities(self.probe, nodes, similarities);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn similarities_avx2(codes: &Codes<'_>, probe: &Probe, nodes: &[u32], out: &mut Vec<f32>) {
    similarities_with(codes, probe, nodes, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn any_above_avx2(codes: &Codes<'_>, probe: &Probe, nodes: &[u32], bound: f32) -> bool {
    any_above_with(codes, probe, nodes, bound)
}

// Loops and no closures, as in the exact products: a closure handed to a function that is not
// inlined would be compiled without the processor's features.

#[inline(always)]
fn similarities_with(codes: &Codes<'_>, probe: &Probe, nodes: &[u32], out: &mut Vec<f32>) {
    out.clear();
    for &node in nodes {
        prefetch(codes.row(node));
    }
    for &node in nodes {
        out.push(similarity(codes, probe, node));
    }
}

#[inline(always)]
fn any_above_with(codes: &Codes<'_>, probe: &Probe, nodes: &[u32], bound: f32) -> bool {
    for &node in nodes {
        if similarity(codes, probe, node) > bound {
            return true;
        }
    }
    false
}

#[inline(always)]
fn similarity(codes: &Codes<'_>, probe: &Probe, node: u32) -> f32 {
    let product = dot(&probe.numbers, codes.row(node));
    product as f32 * (probe.scale * codes.scale(node))
}

/// Cannot overflow below 133,000 dimensions; past that it wraps, and the ranking is worse.
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

/// Prefetches a row. Rows are far apart, so the walk would otherwise mostly wait for the memory.
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
            let codes = Codes { numbers: &numbers, scales: &scales, dimensions };
            let probe = Probe::of(&query);
            let (mut detected, mut plain) = (Vec::new(), Vec::new());
            codes.similarities(&probe, &[4, 0, 1, 2, 3], &mut detected);
            similarities_with(&codes, &probe, &[4, 0, 1, 2, 3], &mut plain);
            prop_assert_eq!(&detected, &plain);
            for (found, row) in detected[1..].iter().zip(rows.chunks(dimensions)) {
                let exact: f32 = row.iter().zip(&query).map(|(x, y)| x * y).sum();
                prop_assert!((found - exact).abs() <= dimensions as f32 * 0.01, "{found} {exact}");
            }
            let largest = detected.iter().copied().fold(f32::MIN, f32::max);
            prop_assert!(!codes.any_above(&probe, &[0, 1, 2, 3, 4], largest));
            prop_assert!(codes.any_above(&probe, &[0, 1, 2, 3, 4], largest - 1.0));
        }
    }
}
