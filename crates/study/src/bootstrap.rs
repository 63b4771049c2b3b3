//! Intervals of a mean difference between two ways of answering the same questions, by drawing the
//! questions anew.

/// Draws of a bootstrap.
pub const DRAWS: usize = 10_000;

/// The 95 % percentile interval `[low, high]` of the mean of `differences`, one for each question:
/// paired, so that how hard a question is cancels out. The same seed gives the same interval.
/// `None` of nothing.
pub fn mean_interval(differences: &[f64], draws: usize, seed: u64) -> Option<[f64; 2]> {
    if differences.is_empty() || draws == 0 {
        return None;
    }
    let mut random = Random(seed);
    let n = differences.len();
    let mut means: Vec<f64> = (0..draws)
        .map(|_| (0..n).map(|_| differences[random.below(n)]).sum::<f64>() / n as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((draws - 1) as f64 * share).round() as usize];
    Some([at(0.025), at(0.975)])
}

/// SplitMix64 (Steele and others 2014): small, and the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A whole number below `count`, which is not 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((u128::from(bits) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut random = Random(5);
        let (mut covered, runs) = (0, 400);
        for seed in 0..runs {
            // Wins of 0.3, losses of 0.1, ties else: 0.2 in the mean.
            let differences: Vec<f64> = (0..100)
                .map(|_| match random.below(10) {
                    0..3 => 1.0,
                    3 => -1.0,
                    _ => 0.0,
                })
                .collect();
            let [low, high] = mean_interval(&differences, 500, seed).unwrap();
            covered += usize::from(low <= 0.2 && 0.2 <= high);
        }
        // 380 in the mean; three standard deviations are 13, and percentiles are a little narrow.
        assert!((360..=396).contains(&covered), "{covered}");
    }

    #[test]
    fn nothing_has_no_interval() {
        assert_eq!(mean_interval(&[], 10, 0), None);
        assert_eq!(mean_interval(&[0.5], 10, 0), Some([0.5, 0.5]));
    }
}
