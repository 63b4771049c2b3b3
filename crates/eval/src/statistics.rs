//! The small statistics of a summary: mean, percentile, and, from `ken_probe`, the confidence interval of a share.
//! Pure functions of numbers.

pub use ken_probe::wilson_interval;
use serde::Serialize;

/// The arithmetic mean; `None` without numbers.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A number that was measured repeatedly, as with several seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// The mean of the defined values; `None` if there are none.
    pub mean: Option<f64>,
    /// The sample standard deviation of a single measurement; `None` for fewer than two values.
    pub deviation: Option<f64>,
    /// The values, in order; `None` if not defined.
    pub each: Vec<Option<f64>>,
}

impl Spread {
    /// The spread of some numbers.
    pub fn of(values: Vec<Option<f64>>) -> Self {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let center = mean(&known);
        let squares = known
            .iter()
            .map(|value| (value - center.unwrap_or_default()).powi(2))
            .sum::<f64>();
        Self {
            mean: center,
            deviation: (known.len() > 1).then(|| (squares / (known.len() - 1) as f64).sqrt()),
            each: values,
        }
    }
}

/// 1 for true, 0 for false.
pub fn number(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

/// The share of outcomes that are true; `None` without outcomes.
pub fn share(outcomes: impl IntoIterator<Item = bool>) -> Option<f64> {
    mean(&outcomes.into_iter().map(number).collect::<Vec<_>>())
}

/// The `percent`-th percentile (0 to 100) by linear interpolation between the closest ranks, numpy's default: the
/// value at position `percent / 100 * (n - 1)` of the sorted values. `None` without values.
pub fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = percent.clamp(0.0, 100.0) / 100.0 * last as f64;
    let below = *sorted.get(position.floor() as usize)?;
    let above = *sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

/// The rank of each value, from 1 for the smallest; equal values share the mean of their ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for same in order.chunk_by(|&index, &next| values[index] == values[next]) {
        let shared = below as f64 + (same.len() as f64 + 1.0) / 2.0;
        same.iter().for_each(|&index| ranks[index] = shared);
        below += same.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_spread_is_of_what_is_known() {
        let spread = Spread::of(vec![Some(1.0), None, Some(3.0)]);
        assert_eq!((spread.mean, spread.each.len()), (Some(2.0), 3));
        assert!((spread.deviation.unwrap() - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(vec![Some(1.0)]).deviation, None);
        assert_eq!(Spread::of(vec![None]).mean, None);
    }

    #[test]
    fn nothing_has_no_statistics() {
        assert_eq!(mean(&[]), None);
        assert_eq!(percentile(&[], 50.0), None);
        assert!(ranks(&[]).is_empty());
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[0.5, 0.1, 0.5, 0.9]), [2.5, 1.0, 2.5, 4.0]);
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
