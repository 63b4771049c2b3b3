//! Plain code compiled for the widest vector instructions of the CPU.

/// Runs code compiled for the widest vector instructions available. The compiler vectorizes its loops,
/// so everything that it calls must be inlined.
#[inline]
pub fn widest<R>(code: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(code)
}

/// Numbers that are processed together: two registers of AVX-512, four of AVX2.
pub(crate) const LANES: usize = 32;

/// The sum of `f` over all values, in lanes, so that compilers can vectorize it.
#[inline(always)]
pub fn sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let blocks = values.chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane += f(value);
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane += f(value);
    }
    lanes.iter().sum()
}

/// The sum of products of two rows, in lanes as [`sum`].
///
/// # Shapes
/// Both `[width]`.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    for ((lane, &a), &b) in lanes.iter_mut().zip(a_rest).zip(b_rest) {
        *lane += a * b;
    }
    lanes.iter().sum()
}

/// The greatest of some values; negative infinity for none. NaN is ignored.
#[inline(always)]
pub fn greatest(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let blocks = values.chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    for (lane, &value) in lanes.iter_mut().zip(rest) {
        *lane = if value > *lane { value } else { *lane };
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// `exp(x)` for `x <= 0`, to 2 units in the last place; written so that compilers vectorize it.
/// Splits `x` into `n ln 2 + r` with `|r| <= ln 2 / 2` and expands `exp(r)` as a polynomial.
#[inline(always)]
pub fn exp_of_nonpositive(x: f32) -> f32 {
    /// Adding it rounds a float to the nearest integer, in its last bits; subtracting it again leaves that integer.
    const ROUNDER: f32 = 12_582_912.0;
    // Below this the result is less than the smallest normal number. `max` also drops NaN, which is
    // restored at the end.
    let clamped = x.max(-87.0);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (clamped - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let p = 1.987_569_2e-4f32;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    let result = p * power;
    if x.is_nan() { x } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exponential_is_accurate(x in -87.0f32..=0.0) {
            let exact = f64::from(x).exp();
            let error = (f64::from(widest(|| exp_of_nonpositive(x))) - exact).abs() / exact;
            prop_assert!(error < 3e-7, "{x}: {error}");
        }

        #[test]
        fn sum_and_greatest_agree_with_their_definitions(
            values in prop::collection::vec(-9.0f32..9.0, 1..70),
        ) {
            let exact: f64 = values.iter().map(|&value| f64::from(value).powi(2)).sum();
            let near = f64::from(widest(|| sum(&values, |value| value * value)));
            prop_assert!((near - exact).abs() <= 1e-6 * exact);
            let near = f64::from(widest(|| dot(&values, &values)));
            prop_assert!((near - exact).abs() <= 1e-6 * exact);
            let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            prop_assert_eq!(widest(|| greatest(&values)), most);
        }
    }

    #[test]
    fn exponential_keeps_nan_and_vanishes_far_below() {
        assert!(exp_of_nonpositive(f32::NAN).is_nan());
        assert!(exp_of_nonpositive(-1e30) < 1e-37);
        assert_eq!(exp_of_nonpositive(0.0), 1.0);
    }
}
