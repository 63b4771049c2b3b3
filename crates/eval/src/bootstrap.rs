//! Bootstrap intervals by resampling the questions.

use ken_random::below;

/// Resamples per interval.
pub const DRAWS: usize = 10_000;

/// The 95 % percentile interval `[low, high]` of a statistic of the questions, determined by the seed. For
/// differences it is paired, so that the difficulty of questions cancels out. Resamples whose statistic is `None` are
/// skipped; `None` if most are.
pub fn interval<T: Copy>(
    questions: &[T],
    draws: usize,
    seed: u64,
    statistic: impl Fn(&[T]) -> Option<f64>,
) -> Option<[f64; 2]> {
    if questions.is_empty() {
        return None;
    }
    let mut state = seed;
    let n = questions.len();
    let mut drawn = Vec::with_capacity(n);
    let mut values: Vec<f64> = Vec::with_capacity(draws);
    for _ in 0..draws {
        drawn.clear();
        drawn.extend((0..n).map(|_| questions[below(&mut state, n)]));
        values.extend(statistic(&drawn));
    }
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let value_at = |share: f64| values[(last as f64 * share).round() as usize];
    (2 * values.len() > draws).then(|| [value_at(0.025), value_at(0.975)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::mean;

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut state = 5;
        let (mut covered, runs) = (0, 400);
        for seed in 0..runs {
            // Wins of 0.3, losses of 0.1, otherwise ties: 0.2 on average.
            let differences: Vec<f64> = (0..100)
                .map(|_| match below(&mut state, 10) {
                    0..3 => 1.0,
                    3 => -1.0,
                    _ => 0.0,
                })
                .collect();
            let [low, high] = interval(&differences, 500, seed, mean).unwrap();
            covered += usize::from(low <= 0.2 && 0.2 <= high);
        }
        // 380 on average; three standard deviations are 13, and percentiles are a little narrow.
        assert!((360..=396).contains(&covered), "{covered}");
    }

    #[test]
    fn nothing_has_no_interval() {
        assert_eq!(interval(&[], 10, 0, mean), None);
        assert_eq!(interval(&[0.5], 10, 0, mean), Some([0.5, 0.5]));
        assert_eq!(interval(&[1.0], 10, 0, |_: &[f64]| None), None);
    }
}
