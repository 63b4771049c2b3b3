//! The tuned policy in its written form: with thresholds from all questions, in few digits.

use ken_answer::Policy;
use ken_policy::Goal;

use crate::compare::{Answered, settled};

/// A candidate with its threshold from all these questions, as the shortest decimal with the same decisions. If no
/// retrieval can be saved, the policy `always`.
pub(super) fn written(tried: Policy, goal: Goal, answered: &[Answered<'_>]) -> Policy {
    let policy = settled(tried, goal, answered);
    let (Some(signal), Some(threshold)) = (policy.signal(), policy.threshold()) else {
        return policy;
    };
    if policy == tried {
        return policy;
    }
    let scores = answered.iter().filter_map(|a| a.score(policy));
    let shortest = shortest(threshold, scores.filter(|score| *score > threshold));
    Policy::above(signal, Some(shortest))
}

/// The shortest decimal from a threshold (inclusive) to the least of the numbers above it (exclusive).
fn shortest(threshold: f64, above: impl Iterator<Item = f64>) -> f64 {
    let next = above.min_by(f64::total_cmp).unwrap_or(f64::INFINITY);
    let decimals = (0..=15).map(|digits| {
        let scale = 10_f64.powi(digits);
        // Adding 0 avoids a negative zero.
        (threshold * scale).ceil() / scale + 0.0
    });
    let mut fitting = decimals.filter(|decimal| (threshold..next).contains(decimal));
    fitting.next().unwrap_or(threshold)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thresholds_are_written_in_few_digits() {
        let short = |threshold, next: &[f64]| shortest(threshold, next.iter().copied());
        assert_eq!(short(1.787_714_943, &[1.93, 2.4]), 1.8);
        assert_eq!(short(1.787_714_943, &[1.8]), 1.79);
        assert_eq!(short(0.138_353_291, &[0.138_353_292]), 0.138_353_291);
        assert_eq!(short(1.787_714_943, &[]), 2.0);
        assert_eq!(short(-0.4, &[0.1]).to_string(), "0");
    }

    proptest! {
        #[test]
        fn a_shorter_threshold_decides_alike(threshold in -50.0_f64..50.0, gap in 1e-12_f64..5.0) {
            let next = threshold + gap;
            let found = shortest(threshold, [next, next + 1.0].into_iter());
            prop_assert!(found >= threshold && (found < next || gap < 1e-9));
            let (text, given) = (found.to_string(), threshold.to_string());
            prop_assert!(text.len() <= given.len(), "{} {}", text, given);
        }
    }
}
