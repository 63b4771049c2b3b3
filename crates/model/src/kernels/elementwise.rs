//! Elementwise operations between matrix products: additions, activations, softmax.

use super::wide::{exp_of_nonpositive, greatest, sum, widest};

/// `x + y`, into `x`.
pub(crate) fn add(x: &mut [f32], y: &[f32]) {
    add_scaled(x, 1.0, y);
}

/// `x + factor * y`, into `x`.
pub(crate) fn add_scaled(x: &mut [f32], factor: f32, y: &[f32]) {
    widest(
        #[inline(always)]
        || {
            for (x, &y) in x.iter_mut().zip(y) {
                *x += factor * y;
            }
        },
    );
}

/// `factor * x`, into `x`.
pub(crate) fn scale(x: &mut [f32], factor: f32) {
    for x in x {
        *x *= factor;
    }
}

/// The gated activation of a feed-forward layer: `silu(gate) * up`.
///
/// # Shapes
/// `gate_and_up`: `[2 * width]`, the gate first; `out`: `[width]`.
pub(crate) fn gated_silu(gate_and_up: &[f32], out: &mut [f32]) {
    gated(gate_and_up, out, |x| x * sigmoid(x));
}

/// As [`gated_silu`] with GELU, approximated by the hyperbolic tangent: `gelu(gate) * up`, where `gelu(x)` is
/// `x / 2 * (1 + tanh(u))` with `u = sqrt(2 / pi) * (x + 0.044715 x^3)`, which is `x * sigmoid(2 u)`.
///
/// # Shapes
/// As [`gated_silu`].
pub(crate) fn gated_gelu_tanh(gate_and_up: &[f32], out: &mut [f32]) {
    /// `2 * sqrt(2 / pi)`.
    const STEEPNESS: f32 = std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::SQRT_2;
    gated(gate_and_up, out, |x| {
        x * sigmoid(STEEPNESS * (x + 0.044_715 * x * x * x))
    });
}

/// The logistic function, by the exponential of a number that is never positive.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let e = exp_of_nonpositive(-x.abs());
    let over = if x >= 0.0 { 1.0 } else { e };
    over / (1.0 + e)
}

#[inline(always)]
fn gated(gate_and_up: &[f32], out: &mut [f32], activation: impl Fn(f32) -> f32) {
    widest(
        #[inline(always)]
        || {
            let (gate, up) = gate_and_up.split_at(out.len());
            for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
                *out = activation(gate) * up;
            }
        },
    );
}

/// As [`gated_silu`] with the exact GELU: `gelu(gate) * up`.
///
/// # Shapes
/// As [`gated_silu`].
pub(crate) fn gated_gelu(gate_and_up: &[f32], out: &mut [f32]) {
    gated(gate_and_up, out, exact_gelu);
}

/// Replaces each x by x * Phi(x), where Phi is the cumulative distribution function of the standard
/// normal: the exact GELU, not its approximation by tanh. Absolute error below 1e-6 per unit of |x|.
pub(crate) fn gelu(values: &mut [f32]) {
    widest(
        #[inline(always)]
        || {
            for x in values {
                *x = exact_gelu(*x);
            }
        },
    );
}

#[inline(always)]
fn exact_gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    // erfc(z) for z >= 0 by Abramowitz and Stegun, formula 7.1.26.
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t
        + 0.254_829_6)
        * t;
    let tail = series * exp_of_nonpositive(-z * z);
    // max(x, 0) - |x| erfc / 2, and NaN stays NaN.
    0.5 * (x + x.abs()) - 0.5 * x.abs() * tail
}

/// The softmax of `scale * values`, in place; for code that runs with the widest vector instructions.
#[inline(always)]
pub fn softmax_inlined(values: &mut [f32], scale: f32) {
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

    proptest! {
        #[test]
        fn gated_gelu_agrees_with_the_definition(values in prop::collection::vec(-30.0f32..30.0, 12)) {
            let mut out = [0.0; 6];
            gated_gelu_tanh(&values, &mut out);
            for i in 0..6 {
                let gate = f64::from(values[i]);
                let u = (2.0 / std::f64::consts::PI).sqrt() * (gate + 0.044715 * gate.powi(3));
                let expected = 0.5 * gate * (1.0 + u.tanh()) * f64::from(values[6 + i]);
                let error = (f64::from(out[i]) - expected).abs();
                prop_assert!(error <= 2e-6 * (1.0 + expected.abs()));
            }
        }
    }

    #[test]
    fn not_a_number_stays_not_a_number() {
        let mut values = [f32::NAN, 1.0, f32::INFINITY];
        gelu(&mut values[..2]);
        assert!(values[0].is_nan());
        let mut gated = [0.0; 3];
        gated_gelu_tanh(&[f32::NAN, -1e30, 1e30, 1.0, 1.0, 1.0], &mut gated);
        assert!(gated[0].is_nan() && gated[1].abs() < 1e-6 && gated[2] == 1e30);
        softmax_inlined(&mut values, 1.0);
        assert!(values.iter().any(|x| x.is_nan()));
    }
}
