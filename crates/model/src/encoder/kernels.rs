//! The arithmetic of the encoder on plain `f32` slices, row-major: products, layer normalization,
//! softmax and GELU. It knows nothing of layers, heads or texts, and uses no threads but those
//! that `matmul` is told to use.

use gemm::Parallelism;

/// A matrix inside a slice: rows of `stride` numbers, of which the view holds the first columns
/// from `start` on.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) start: usize,
    pub(super) stride: usize,
}

impl View {
    /// One past the last element of `rows` x `columns` seen through this view.
    fn end(self, rows: usize, columns: usize) -> usize {
        if rows == 0 || columns == 0 {
            0
        } else {
            self.start + (rows - 1) * self.stride + columns
        }
    }
}

/// What becomes of the numbers that stand in the output of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// They are replaced.
    Replace,
    /// The product is added to them.
    Add,
}

/// `out = scale * left * right`, or `out += scale * left * right`.
///
/// # Shapes
/// `left`: `[rows, inner]`; `right`: `[inner, columns]`, or `[columns, inner]` where `transposed`;
/// `out`: `[rows, columns]`.
#[allow(clippy::too_many_arguments)]
pub(super) fn matmul(
    (rows, inner, columns): (usize, usize, usize),
    (left, left_view): (&[f32], View),
    (right, right_view): (&[f32], View),
    transposed: bool,
    scale: f32,
    (out, out_view): (&mut [f32], View),
    mode: Output,
    parallelism: Parallelism,
) {
    let (right_rows, right_columns) = if transposed {
        (columns, inner)
    } else {
        (inner, columns)
    };
    assert!(
        left_view.end(rows, inner) <= left.len(),
        "left matrix out of bounds"
    );
    assert!(
        right_view.end(right_rows, right_columns) <= right.len(),
        "right matrix out of bounds"
    );
    assert!(
        out_view.end(rows, columns) <= out.len(),
        "output matrix out of bounds"
    );
    assert!(out_view.stride >= columns, "rows of the output overlap");
    if rows == 0 || columns == 0 {
        return;
    }
    let (right_column_step, right_row_step) = if transposed {
        (right_view.stride, 1)
    } else {
        (1, right_view.stride)
    };
    // SAFETY: the assertions above keep every element that the three views reach inside its slice,
    // the output's rows do not overlap, and `out` is borrowed mutably, so it aliases neither input.
    // No offset overflows `isize`, being within a slice.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.as_mut_ptr().add(out_view.start),
            1,
            out_view.stride as isize,
            mode == Output::Add,
            left.as_ptr().add(left_view.start),
            1,
            left_view.stride as isize,
            right.as_ptr().add(right_view.start),
            right_column_step as isize,
            right_row_step as isize,
            1.0,
            scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Defines a function that runs the same body with AVX2 where the processor has it. The body is
/// plain Rust: the compiler only gets wider registers for it.
macro_rules! widened {
    ($(#[$doc:meta])* $name:ident => $body:ident($($arg:ident: $kind:ty),*)) => {
        $(#[$doc])*
        pub(super) fn $name($($arg: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $kind),*) {
                    $body($($arg),*);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2, as just asked.
                    #[allow(unsafe_code)]
                    return unsafe { wide($($arg),*) };
                }
            }
            $body($($arg),*);
        }
    };
}

widened! {
    /// Replaces each row by `(row - mean) / sqrt(variance + epsilon) * scale + shift`, in place.
    ///
    /// # Shapes
    /// `rows`: `[n, scale.len()]`; `shift`: as `scale`.
    layer_norm => layer_norm_body(rows: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32)
}

widened! {
    /// Replaces each row of `columns` numbers by its softmax, in place.
    softmax => softmax_body(rows: &mut [f32], columns: usize)
}

widened! {
    /// Replaces each x by x * Phi(x), Phi the normal distribution function (the exact GELU, not
    /// its tanh approximation), in place. Absolute error below 1e-6 per unit of |x|.
    gelu => gelu_body(values: &mut [f32])
}

/// The number of independent running sums: enough for two registers of eight.
const LANES: usize = 16;

#[inline(always)]
fn fold(
    values: &[f32],
    start: f32,
    step: impl Fn(f32, f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = step(*lane, value);
    }
    lanes.into_iter().fold(start, join)
}

#[inline(always)]
fn layer_norm_body(rows: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32) {
    let width = scale.len();
    for row in rows.chunks_exact_mut(width) {
        let mean = fold(row, 0.0, |sum, x| sum + x, |a, b| a + b) / width as f32;
        let squares = fold(
            row,
            0.0,
            |sum, x| sum + (x - mean) * (x - mean),
            |a, b| a + b,
        );
        let factor = 1.0 / (squares / width as f32 + epsilon).sqrt();
        for ((x, &scale), &shift) in row.iter_mut().zip(scale).zip(shift) {
            *x = (*x - mean) * factor * scale + shift;
        }
    }
}

#[inline(always)]
fn softmax_body(rows: &mut [f32], columns: usize) {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    for row in rows.chunks_exact_mut(columns) {
        let max = fold(row, f32::NEG_INFINITY, larger, larger);
        for x in row.iter_mut() {
            *x = exp(*x - max);
        }
        let factor = 1.0 / fold(row, 0.0, |sum, x| sum + x, |a, b| a + b);
        for x in row.iter_mut() {
            *x *= factor;
        }
    }
}

#[inline(always)]
fn gelu_body(values: &mut [f32]) {
    for x in values {
        let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
        // erfc(z) for z >= 0 by Abramowitz and Stegun, formula 7.1.26.
        let t = 1.0 / (1.0 + 0.327_591_1 * z);
        let series = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t
            + 0.254_829_6)
            * t;
        let tail = series * exp(-z * z);
        // max(x, 0) - |x| erfc / 2, and NaN stays NaN.
        *x = 0.5 * (*x + x.abs()) - 0.5 * x.abs() * tail;
    }
}

/// e^x to about 2 units in the last place; x is clamped to [-87, 88], NaN stays NaN. Without a
/// branch or a call, so that loops over it become vector code.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding and subtracting this rounds a small number to an integer.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let power = shifted - ROUND;
    let r = (x - power * 0.693_359_4) + power * 2.121_944_4e-4;
    let mut series = 1.987_569_1e-4;
    for coefficient in [
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        1.666_666_6e-1,
        0.5,
    ] {
        series = series * r + coefficient;
    }
    // The low bits of the shifted number hold the integer power; NaN makes them garbage, but the
    // series is NaN then.
    let exponent = shifted
        .to_bits()
        .wrapping_sub(ROUND.to_bits())
        .wrapping_add(127)
        << 23;
    (series * r * r + r + 1.0) * f32::from_bits(exponent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// erfc by its series near 0 and its continued fraction further out, in f64.
    fn erfc(z: f64) -> f64 {
        if z < 2.5 {
            let (mut term, mut sum) = (z, z);
            for n in 1..200 {
                term *= -z * z / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
        }
        let fraction = (1..200)
            .rev()
            .fold(z, |tail, n| z + 0.5 * f64::from(n) / tail);
        (-z * z).exp() / (fraction * std::f64::consts::PI.sqrt())
    }

    proptest! {
        #[test]
        fn gelu_is_exact(values in prop::collection::vec(-12f32..12.0, 1..70)) {
            let mut fast = values.clone();
            gelu(&mut fast);
            for (&x, &y) in values.iter().zip(&fast) {
                let x = f64::from(x);
                let upper = 0.5 * x.abs() * erfc(x.abs() / 2f64.sqrt());
                let exact = x.max(0.0) - upper;
                prop_assert!((f64::from(y) - exact).abs() <= 1e-6 * x.abs().max(1.0), "{x}: {y} {exact}");
            }
        }

        #[test]
        fn softmax_agrees_with_its_definition(
            values in prop::collection::vec(-60f32..60.0, 1..90), repeat in 1usize..4,
        ) {
            let columns = values.len();
            let mut fast = values.repeat(repeat);
            softmax(&mut fast, columns);
            let max = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let exact: Vec<f64> = values.iter().map(|&x| f64::from(x - max).exp()).collect();
            let sum: f64 = exact.iter().sum();
            for (at, &y) in fast.iter().enumerate() {
                prop_assert!((f64::from(y) - exact[at % columns] / sum).abs() < 1e-6);
            }
        }

        #[test]
        fn layer_norm_agrees_with_its_definition(values in prop::collection::vec(-9f32..9.0, 2..90)) {
            let scale: Vec<f32> = (0..values.len()).map(|at| 1.0 + at as f32 / 50.0).collect();
            let shift: Vec<f32> = (0..values.len()).map(|at| at as f32 / 10.0 - 3.0).collect();
            let mut fast = values.clone();
            layer_norm(&mut fast, &scale, &shift, 1e-3);
            let n = values.len() as f64;
            let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
            let variance = values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
            for (at, &y) in fast.iter().enumerate() {
                let exact = (f64::from(values[at]) - mean) / (variance + 1e-3).sqrt()
                    * f64::from(scale[at]) + f64::from(shift[at]);
                prop_assert!((f64::from(y) - exact).abs() < 1e-4, "{y} {exact}");
            }
        }

        #[test]
        fn matmul_agrees_with_its_definition(
            rows in 1usize..9, inner in 1usize..9, columns in 1usize..9,
            transposed: bool, add: bool, seed in 0u32..1000,
        ) {
            let number = |at: usize| ((at as u32 * 37 + seed) % 19) as f32 - 9.0;
            let view = View { start: 3, stride: 11 };
            let left: Vec<f32> = (0..120).map(number).collect();
            let right: Vec<f32> = (0..120).map(|at| number(at + 7)).collect();
            let before: Vec<f32> = (0..120).map(|at| number(at + 11)).collect();
            let mut out = before.clone();
            let mode = if add { Output::Add } else { Output::Replace };
            matmul((rows, inner, columns), (&left, view), (&right, view), transposed, 0.5,
                (&mut out, view), mode, Parallelism::None);
            for at in 0..out.len() {
                let (row, column) = (at.wrapping_sub(3) / 11, at.wrapping_sub(3) % 11);
                let mut exact = before[at];
                if at >= 3 && row < rows && column < columns {
                    let product: f32 = (0..inner).map(|k| {
                        let (r, c) = if transposed { (column, k) } else { (k, column) };
                        left[3 + row * 11 + k] * right[3 + r * 11 + c]
                    }).sum();
                    exact = 0.5 * product + if add { before[at] } else { 0.0 };
                }
                prop_assert!((out[at] - exact).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn not_a_number_stays_not_a_number() {
        let mut values = [f32::NAN, 1.0, f32::INFINITY];
        gelu(&mut values[..2]);
        assert!(values[0].is_nan());
        softmax(&mut values, 3);
        assert!(values.iter().any(|x| x.is_nan()));
    }
}
