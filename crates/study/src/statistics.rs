//! The small statistics of a summary: mean, percentile, and, from `ken_probe`, the confidence
//! interval of a share.
//!
//! Pure functions of numbers; what they are applied to is decided in `summary`.

pub use ken_probe::wilson_interval;

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `percent`-th percentile (0 to 100) by linear interpolation between the closest ranks, which
/// is numpy's default: the value at position `percent / 100 * (n - 1)` of the sorted values.
/// `None` of nothing.
pub fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let below = *sorted.get(position.floor() as usize)?;
    let above = *sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(mean(&[]), None);
        assert_eq!(percentile(&[], 50.0), None);
    }

    proptest! {
        #[test]
        fn percentiles_rise_and_stay_in_range(
            values in proptest::collection::vec(0.0..1e6_f64, 1..50),
            low in 0.0..100.0_f64,
            step in 0.0..100.0_f64,
        ) {
            let (a, b) = (percentile(&values, low), percentile(&values, low + step));
            prop_assert!(a <= b);
            prop_assert_eq!(percentile(&values, 0.0), values.iter().copied().reduce(f64::min));
            prop_assert_eq!(percentile(&values, 100.0), values.iter().copied().reduce(f64::max));
        }
    }
}
