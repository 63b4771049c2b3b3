//! The small statistics of a summary: mean, percentile, confidence interval of a share.
//!
//! Pure functions of numbers; what they are applied to is decided in `summary`.

/// The two-sided 95 % quantile of the standard normal distribution.
const Z_95: f64 = 1.959_963_984_540_054;

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

/// The 95 % Wilson score interval `[low, high]` of a share of `successes` in `trials`. Unlike the
/// normal approximation it holds for few trials and near 0 and 1. `None` without trials.
pub fn wilson_interval(successes: usize, trials: usize) -> Option<[f64; 2]> {
    if trials == 0 {
        return None;
    }
    let n = trials as f64;
    let share = successes as f64 / n;
    let z2 = Z_95 * Z_95;
    let center = share + z2 / (2.0 * n);
    let spread = Z_95 * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    Some([
        ((center - spread) / scale).max(0.0),
        ((center + spread) / scale).min(1.0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(mean(&[]), None);
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(wilson_interval(0, 0), None);
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

        #[test]
        fn the_interval_holds_the_share(trials in 1_usize..5000, part in 0.0..=1.0_f64) {
            let successes = (trials as f64 * part) as usize;
            let share = successes as f64 / trials as f64;
            let [low, high] = wilson_interval(successes, trials).unwrap();
            prop_assert!(0.0 <= low && low <= share + 1e-12 && share <= high + 1e-12 && high <= 1.0);
        }
    }
}
