//! The confidence interval of a measured share. Pure functions of numbers.

/// The two-sided 95 % quantile of the standard normal distribution.
const Z_95: f64 = 1.959_963_984_540_054;

/// The 95 % Wilson score interval `[low, high]` of a share of `successes` in `trials`. Unlike the
/// normal approximation it holds for few trials and near 0 and 1. `None` without trials.
pub fn wilson_interval(successes: usize, trials: usize) -> Option<[f64; 2]> {
    if trials == 0 {
        return None;
    }
    let trials = trials as f64;
    Some(wilson_interval_of(successes as f64 / trials, trials))
}

/// As [`wilson_interval`], for a share in `[0, 1]` that is worth `trials` independent trials: a positive number, not
/// necessarily whole.
pub fn wilson_interval_of(share: f64, trials: f64) -> [f64; 2] {
    let z2 = Z_95 * Z_95;
    let center = share + z2 / (2.0 * trials);
    let spread = Z_95 * (share * (1.0 - share) / trials + z2 / (4.0 * trials * trials)).sqrt();
    let scale = 1.0 + z2 / trials;
    // Rounding would miss the ends by a little.
    let low = if share <= 0.0 {
        0.0
    } else {
        (center - spread) / scale
    };
    let high = if share >= 1.0 {
        1.0
    } else {
        (center + spread) / scale
    };
    [low.max(0.0), high.min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_has_no_interval() {
        assert_eq!(wilson_interval(0, 0), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_share(trials in 1_usize..5000, part in 0.0..=1.0_f64) {
            let successes = (trials as f64 * part) as usize;
            let share = successes as f64 / trials as f64;
            let [low, high] = wilson_interval(successes, trials).unwrap();
            prop_assert!(0.0 <= low && low <= share + 1e-12 && share <= high + 1e-12 && high <= 1.0);
        }

        /// What it is by definition: every truth that is within 1.96 standard deviations, its own,
        /// of what was seen.
        #[test]
        fn it_holds_the_truths_that_the_score_test_keeps(
            trials in 1_usize..60,
            part in 0.0..=1.0_f64,
            truth in 0.001..0.999_f64,
        ) {
            let successes = (trials as f64 * part) as usize;
            let [low, high] = wilson_interval(successes, trials).unwrap();
            let n = trials as f64;
            let away = (successes as f64 / n - truth).abs();
            let bound = Z_95 * (truth * (1.0 - truth) / n).sqrt();
            // Not at the very border, where rounding decides.
            if (away - bound).abs() > 1e-9 {
                prop_assert_eq!(away < bound, low < truth && truth < high);
            }
        }

        #[test]
        fn right_and_wrong_mirror_each_other_and_more_of_either_moves_it(
            right in 0_usize..20,
            wrong in 0_usize..20,
        ) {
            prop_assume!(right + wrong > 0);
            let [low, high] = wilson_interval(right, right + wrong).unwrap();
            let [other_low, other_high] = wilson_interval(wrong, right + wrong).unwrap();
            prop_assert!((low - (1.0 - other_high)).abs() < 1e-12);
            prop_assert!((high - (1.0 - other_low)).abs() < 1e-12);
            let [more_low, more_high] = wilson_interval(right + 1, right + wrong + 1).unwrap();
            prop_assert!(more_low >= low && more_high >= high - 1e-12);
        }
    }

    /// The chance that the interval of a random sample holds the truth, summed up over all samples:
    /// 95 % on average over all truths, though less for some of them, however few the trials.
    #[test]
    fn it_covers_the_truth_about_as_often_as_it_says() {
        for trials in [1, 2, 3, 4, 8, 20, 40] {
            let mut mean = 0.0;
            for step in 0..1000 {
                let truth = (f64::from(step) + 0.5) / 1000.0;
                let mut chance = (1.0 - truth).powi(trials);
                for successes in 0..=trials {
                    let counts = (successes as usize, trials as usize);
                    let [low, high] = wilson_interval(counts.0, counts.1).unwrap();
                    if low <= truth && truth <= high {
                        mean += chance / 1000.0;
                    }
                    chance *= f64::from(trials - successes) / f64::from(successes + 1) * truth
                        / (1.0 - truth);
                }
            }
            assert!((0.945..0.965).contains(&mean), "{trials}: {mean}");
        }
    }
}
