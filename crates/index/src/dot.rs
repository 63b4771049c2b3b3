//! Dot products of one query with many rows, at memory speed.
//!
//! One body, written for auto-vectorization, is compiled twice on x86-64: for AVX2 with FMA, chosen
//! at run time, and for the baseline. The order of additions is its own, so the last bits differ
//! from a plain loop's, and between processors.

/// Independent running sums: four vector registers of eight, enough to hide the latency of an
/// addition.
const LANES: usize = 32;

/// Writes the dot product of `query` with each row into `scores`.
///
/// # Shapes
/// `rows`: `[n, query.len()]`, row-major; `scores`: `[n]`. `query` is not empty.
pub(crate) fn dot_rows(rows: &[f32], query: &[f32], scores: &mut Vec<f32>) {
    scores.clear();
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has just been found to have AVX2 and FMA, which is all that the
        // function requires; it reads and writes only through slices.
        #[allow(unsafe_code)]
        unsafe {
            dot_rows_avx2(rows, query, scores);
        }
        return;
    }
    // Every aarch64 has a fused multiply-add; elsewhere it would be a slow call into libm.
    dot_rows_with::<{ cfg!(target_arch = "aarch64") }>(rows, query, scores);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_rows_avx2(rows: &[f32], query: &[f32], scores: &mut Vec<f32>) {
    dot_rows_with::<true>(rows, query, scores);
}

// Loops and no closures: a closure passed to a function that is not inlined would be compiled
// without the processor's features.
#[inline(always)]
fn dot_rows_with<const FUSED: bool>(rows: &[f32], query: &[f32], scores: &mut Vec<f32>) {
    scores.resize(rows.len() / query.len(), 0.0);
    for (score, row) in scores.iter_mut().zip(rows.chunks_exact(query.len())) {
        *score = dot::<FUSED>(row, query);
    }
}

#[inline(always)]
fn dot<const FUSED: bool>(a: &[f32], b: &[f32]) -> f32 {
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (a_block, b_block) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] = multiply_add::<FUSED>(a_block[lane], b_block[lane], sums[lane]);
        }
    }
    for ((sum, &x), &y) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum = multiply_add::<FUSED>(x, y, *sum);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

#[inline(always)]
fn multiply_add<const FUSED: bool>(x: f32, y: f32, sum: f32) -> f32 {
    if FUSED {
        x.mul_add(y, sum)
    } else {
        x * y + sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(row: &[f32], query: &[f32]) -> f64 {
        let products = row.iter().zip(query);
        products.map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
    }

    proptest! {
        #[test]
        fn every_compilation_agrees_with_a_plain_loop(
            (query, rows) in (1usize..100).prop_flat_map(|dimensions| (
                prop::collection::vec(-1.0f32..1.0, dimensions),
                prop::collection::vec(-1.0f32..1.0, dimensions * 5),
            ))
        ) {
            let mut detected = Vec::new();
            dot_rows(&rows, &query, &mut detected);
            let mut fused = Vec::new();
            dot_rows_with::<true>(&rows, &query, &mut fused);
            let mut plain = Vec::new();
            dot_rows_with::<false>(&rows, &query, &mut plain);
            for (n, row) in rows.chunks(query.len()).enumerate() {
                let expected = reference(row, &query);
                for scores in [&detected, &fused, &plain] {
                    prop_assert_eq!(scores.len(), 5);
                    prop_assert!((f64::from(scores[n]) - expected).abs() < 1e-5);
                }
            }
        }
    }
}
