//! What happens to a row between two products: norms, additions, the gated activation, the
//! softmax.

use crate::decoder::wide::{exp_of_nonpositive, greatest, sum, widest};

/// Divides a row by its root mean square and multiplies it by the norm's weight.
pub(super) fn norm(row: &mut [f32], weight: &[f32], epsilon: f32) {
    widest(
        #[inline(always)]
        || norm_inlined(row, weight, epsilon),
    );
}

/// As [`norm`], for code that is already compiled for the widest vectors.
#[inline(always)]
pub(super) fn norm_inlined(row: &mut [f32], weight: &[f32], epsilon: f32) {
    let squares = sum(row, |value| value * value);
    let scale = 1.0 / (squares / row.len() as f32 + epsilon).sqrt();
    for (value, &weight) in row.iter_mut().zip(weight) {
        *value = *value * scale * weight;
    }
}

/// `x + y`, into `x`.
pub(super) fn add(x: &mut [f32], y: &[f32]) {
    widest(
        #[inline(always)]
        || {
            for (x, &y) in x.iter_mut().zip(y) {
                *x += y;
            }
        },
    );
}

/// The gated activation of a feed-forward layer: `silu(gate) * up`.
///
/// # Shapes
/// `gate_and_up`: `[2 * width]`, the gate in front; `out`: `[width]`.
pub(super) fn gated_silu(gate_and_up: &[f32], out: &mut [f32]) {
    widest(
        #[inline(always)]
        || {
            let (gate, up) = gate_and_up.split_at(out.len());
            for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
                // x * sigmoid(x), with the exponential of a number that is never positive.
                let e = exp_of_nonpositive(-gate.abs());
                let sigmoid = if gate >= 0.0 { 1.0 } else { e } / (1.0 + e);
                *out = gate * sigmoid * up;
            }
        },
    );
}

/// The softmax of `scale * values`, in place; for code compiled for the widest vectors.
#[inline(always)]
pub(super) fn softmax_inlined(values: &mut [f32], scale: f32) {
    let top = greatest(values) * scale;
    for value in values.iter_mut() {
        *value = exp_of_nonpositive(*value * scale - top);
    }
    let inverse = 1.0 / sum(values, |value| value);
    for value in values.iter_mut() {
        *value *= inverse;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn norm_agrees_with_the_definition(row in prop::collection::vec(-5.0f32..5.0, 1..40)) {
            let weight: Vec<f32> = (0..row.len()).map(|i| 0.5 + i as f32 / 8.0).collect();
            let mut normed = row.clone();
            norm(&mut normed, &weight, 1e-5);
            let squares: f64 = row.iter().map(|&value| f64::from(value).powi(2)).sum();
            let root = (squares / row.len() as f64 + 1e-5).sqrt();
            for ((&value, &weight), &got) in row.iter().zip(&weight).zip(&normed) {
                let exact = f64::from(value) / root * f64::from(weight);
                prop_assert!((f64::from(got) - exact).abs() <= 1e-6 * (1.0 + exact.abs()));
            }
        }

        #[test]
        fn softmax_agrees_with_the_definition(values in prop::collection::vec(-30.0f32..30.0, 1..70)) {
            let mut weights = values.clone();
            widest(#[inline(always)] || softmax_inlined(&mut weights, 0.5));
            let exponential = |value: f32| (f64::from(value) * 0.5).exp();
            let total: f64 = values.iter().map(|&value| exponential(value)).sum();
            for (&value, &weight) in values.iter().zip(&weights) {
                prop_assert!((f64::from(weight) - exponential(value) / total).abs() < 1e-6);
            }
        }

        #[test]
        fn gated_silu_agrees_with_the_definition(values in prop::collection::vec(-50.0f32..50.0, 12)) {
            let mut out = [0.0; 6];
            gated_silu(&values, &mut out);
            for i in 0..6 {
                let gate = f64::from(values[i]);
                let expected = gate / (1.0 + (-gate).exp()) * f64::from(values[6 + i]);
                let error = (f64::from(out[i]) - expected).abs();
                prop_assert!(error <= 1e-6 * (1.0 + expected.abs()));
            }
        }
    }
}
