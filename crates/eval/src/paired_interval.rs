//! Intervals of differences between two systems that answered the same questions.

use crate::bootstrap::{DRAWS, interval};
use crate::statistics::mean;

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Bisections of the interval that contains a limit: as many as a float has digits.
const HALVINGS: usize = 60;

/// The 95 % interval `[low, high]` of a mean of differences, one per question; `None` without questions. If each
/// question is won (1), lost (-1) or neither, it is the score interval of paired shares, which does not shrink to a
/// point if few questions happen to be answered alike. For other differences it is a bootstrap's.
pub fn paired_interval(differences: &[f64], seed: u64) -> Option<[f64; 2]> {
    let count = |kind: f64| differences.iter().filter(|d| **d == kind).count();
    let (won, lost, n) = (count(1.0), count(-1.0), differences.len());
    match won + lost + count(0.0) == n {
        true => score_interval(won, lost, n),
        false => interval(differences, DRAWS, seed, mean),
    }
}

/// The 95 % interval `[low, high]` of the share of questions that one policy answers right, less that of another: of
/// `n` questions, only the one answers `won` right, and only the other `lost` (Tango 1998, score test for matched
/// pairs). `None` without questions.
fn score_interval(won: usize, lost: usize, n: usize) -> Option<[f64; 2]> {
    if n == 0 {
        return None;
    }
    let [won, lost, n] = [won, lost, n].map(|count| count as f64);
    let high = |won: f64, lost: f64| {
        let (mut within, mut beyond) = ((won - lost) / n, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(within, beyond);
            match deviations(won, lost, n, middle) > -Z {
                true => within = middle,
                false => beyond = middle,
            }
        }
        within
    };
    Some([-high(lost, won), high(won, lost)])
}

/// By how many standard deviations the counts exceed a hypothetical true difference.
fn deviations(won: f64, lost: f64, n: f64, difference: f64) -> f64 {
    // Given the difference, the share that only the other answers right is a root of a quadratic equation.
    let linear = (2.0 * n - won + lost) * difference - won - lost;
    let constant = -lost * difference * (1.0 - difference);
    let root = (linear * linear - 8.0 * n * constant).max(0.0).sqrt();
    let other = (root - linear) / (4.0 * n);
    let variance = n * (2.0 * other + difference * (1.0 - difference));
    let above = won - lost - n * difference;
    match variance > 0.0 {
        true => above / variance.sqrt(),
        // Without variation, any other difference is ruled out.
        false if above == 0.0 => 0.0,
        false => above.signum() * f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use ken_random::below;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fractions_are_resampled() {
        let [low, high] = paired_interval(&[0.5, -0.5, 0.25, 1.0], 0).unwrap();
        assert!(low < 0.3125 && 0.3125 < high, "{low} {high}");
        let alike = vec![0.0; 30];
        assert_eq!(paired_interval(&alike, 0), score_interval(0, 0, 30));
        assert_eq!(paired_interval(&[], 0), None);
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 2e-4
    }

    #[test]
    fn no_difference_in_few_questions_proves_little() {
        // Without wins and losses, the limits are z² / (n + z²).
        for (n, expected) in [(30, 0.1135), (200, 0.0188), (2000, 0.0019)] {
            let [low, high] = score_interval(0, 0, n).unwrap();
            assert!(
                close(low, -expected) && close(high, expected),
                "{n}: {low} {high}"
            );
        }
        assert_eq!(score_interval(0, 0, 0), None);
    }

    /// Checked against the test itself, with the likeliest shares of both kinds of questions from a grid.
    #[test]
    fn limits_are_where_the_score_test_rejects() {
        for (won, lost, n) in [(3_u8, 1_u8, 20_u8), (0, 4, 25), (7, 7, 40), (10, 0, 10)] {
            let found = score_interval(won.into(), lost.into(), n.into()).unwrap();
            let [won, lost, n] = [won, lost, n].map(f64::from);
            let accepted = (-999..1000).map(|step| f64::from(step) / 1000.0);
            let accepted = accepted.filter(|difference| {
                let likelihood = |other: f64| {
                    let one = other + difference;
                    let neither = 1.0 - one - other;
                    let part = |count: f64, share: f64| match count {
                        0.0 => 0.0,
                        count => count * share.max(0.0).ln(),
                    };
                    part(won, one) + part(lost, other) + part(n - won - lost, neither)
                };
                let (least, most) = ((-difference).max(0.0), (1.0 - difference) / 2.0);
                let grid = (0..=4000).map(|at| least + (most - least) * f64::from(at) / 4000.0);
                let other = grid.max_by(|a, b| likelihood(*a).total_cmp(&likelihood(*b)));
                let other = other.unwrap();
                let variance = n * (2.0 * other + difference - difference * difference);
                (won - lost - n * difference).abs() <= Z * variance.sqrt()
            });
            let accepted: Vec<f64> = accepted.collect();
            let ends = [accepted[0], accepted[accepted.len() - 1]];
            for (found, end) in found.into_iter().zip(ends) {
                assert!(
                    (found - end).abs() < 3e-3,
                    "{won} {lost} {n}: {found} {end}"
                );
            }
        }
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        let mut state = 7;
        // Of twenty questions three are won and one is lost; or none and one.
        for (wins, losses) in [(3, 1), (0, 1)] {
            let truth = (wins as f64 - losses as f64) / 20.0;
            let covered = (0..2000).filter(|_| {
                let drawn: Vec<usize> = (0..100).map(|_| below(&mut state, 20)).collect();
                let count = |kind: std::ops::Range<usize>| {
                    drawn.iter().filter(|one| kind.contains(one)).count()
                };
                let (won, lost) = (count(0..wins), count(wins..wins + losses));
                let [low, high] = score_interval(won, lost, 100).unwrap();
                low <= truth && truth <= high
            });
            let covered = covered.count();
            // 1,900 on average; three standard deviations are 29.
            assert!((1860..=1985).contains(&covered), "{wins}: {covered}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_difference_and_mirrors(won in 0_usize..40, lost in 0_usize..40, same in 0_usize..200) {
            let n = won + lost + same;
            prop_assume!(n > 0);
            let [low, high] = score_interval(won, lost, n).unwrap();
            let difference = (won as f64 - lost as f64) / n as f64;
            prop_assert!(-1.0 <= low && low <= difference + 1e-9);
            prop_assert!(difference <= high + 1e-9 && high <= 1.0);
            let [other_low, other_high] = score_interval(lost, won, n).unwrap();
            prop_assert!((other_low + high).abs() < 1e-9 && (other_high + low).abs() < 1e-9);
            // The same shares of twice as many questions give a narrower interval.
            let [narrow_low, narrow_high] = score_interval(2 * won, 2 * lost, 2 * n).unwrap();
            prop_assert!(narrow_high - narrow_low <= high - low + 1e-9);
        }
    }
}
