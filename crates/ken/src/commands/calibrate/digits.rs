//! Chosen thresholds in few digits, so that people can read and copy them.

use ken_policy::{Calibration, Observation, Rule};

/// The fewest significant digits.
const FEWEST: usize = 4;

/// The most that a number can need.
const MOST: usize = 17;

/// The calibration with thresholds in as few digits as decide every observation as before.
pub(super) fn shortened(mut calibration: Calibration, observations: &[Observation]) -> Calibration {
    let scores = observations.iter();
    let scores = scores.flat_map(|observation| [observation.question, observation.review]);
    let scores: Vec<f64> = scores.collect();
    let short = |threshold: f64| shortest(threshold, &scores);
    let thresholds = calibration.policy.retrieve.thresholds().unwrap_or_default();
    let thresholds: Vec<f64> = thresholds.iter().copied().map(short).collect();
    if let Ok(policy) = calibration.policy.at(&thresholds) {
        calibration.policy = policy;
    }
    let keep = &mut calibration.policy.keep;
    if let (Some(signal), Some(threshold)) = (keep.signal(), keep.threshold()) {
        *keep = Rule::above(signal, Some(short(threshold)));
    }
    if let Some(abstain) = &mut calibration.abstain {
        abstain.threshold = abstain.threshold.map(short);
    }
    calibration
}

/// The number in the fewest digits that exactly those scores are above that are above the threshold.
fn shortest(threshold: f64, scores: &[f64]) -> f64 {
    let above = scores.iter().copied().filter(|score| *score > threshold);
    let next = above.fold(f64::INFINITY, f64::min);
    let mut rounded = (FEWEST..=MOST).filter_map(|digits| rounded_up(threshold, digits));
    let alike = rounded.find(|rounded| (threshold..next).contains(rounded));
    alike.unwrap_or(threshold)
}

/// A number rounded up to so many significant digits.
fn rounded_up(number: f64, digits: usize) -> Option<f64> {
    let decimals = digits - 1;
    let text = format!("{number:.decimals$e}");
    let nearest: f64 = text.parse().ok()?;
    if nearest >= number {
        return Some(nearest);
    }
    let (start, exponent) = text.split_once('e')?;
    let unit = format!("1e-{decimals}").parse::<f64>().ok()?;
    let next = start.parse::<f64>().ok()? + unit;
    format!("{next:.decimals$}e{exponent}").parse().ok()
}

#[cfg(test)]
mod tests {
    use ken_policy::{Goal, Policy, Signal, calibrate};

    use super::*;

    #[test]
    fn a_threshold_has_the_digits_that_decide_alike() {
        for (threshold, scores, expected) in [
            (0.123_456_789, &[0.123_456_789, 0.5][..], 0.1235),
            (0.123_412, &[0.1, 0.123_412, 0.5], 0.1235),
            (0.123_412, &[0.123_412, 0.123_45], 0.123_42),
            (0.123_412, &[0.123_412, 0.123_42], 0.123_412),
            (-0.432_19, &[-0.432_19, f64::NAN, 0.0], -0.4321),
            (9.999_91, &[9.999_91], 10.0),
            (0.5, &[0.5, 0.6], 0.5),
            (0.0, &[0.0], 0.0),
            (f64::NEG_INFINITY, &[0.5], f64::NEG_INFINITY),
        ] {
            assert_eq!(shortest(threshold, scores), expected, "{threshold}");
        }
    }

    #[test]
    fn a_policy_in_few_digits_decides_alike() {
        let scores = [0.123_412, 0.234_567_8, 0.345_678_9, 0.456_789_1];
        let observations = scores.map(|score| {
            let memory = f64::from(u8::from(score < 0.3));
            Observation::of(score, memory, 1.0)
        });
        let open = Policy::above(Signal::PERPLEXITY, None);
        let exact = calibrate(&open, None, 0, &observations, Goal::BestAccuracy);
        assert_eq!(exact.policy.threshold(), Some(0.234_567_8));
        let short = shortened(exact, &observations);
        assert_eq!(short.policy.threshold(), Some(0.2346));
    }
}
