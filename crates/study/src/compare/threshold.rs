//! The threshold that a policy is compared at where nobody says one: the best on other questions.

use ken_answer::chance;
use ken_route::{Goal, Observation, calibrate};
use serde::Serialize;

/// The thresholds of a policy; scores above them retrieve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Thresholds {
    /// One for all questions.
    Given(f64),
    /// For each half of the questions the one that answers the other half best, so that no question
    /// has a say in its own; `None` where every question has to retrieve.
    OfOtherHalf([Option<f64>; 2]),
}

impl Thresholds {
    /// Chooses on each half for the other.
    pub(super) fn crossed(halves: [&[Observation]; 2]) -> Self {
        let best = |others: &[Observation]| calibrate(others, Goal::BestAccuracy).threshold;
        let [first, second] = halves;
        Self::OfOtherHalf([best(second), best(first)])
    }

    /// The threshold for a question of a half; `None` where it has to retrieve.
    pub(super) fn of(self, half: usize) -> Option<f64> {
        match self {
            Self::Given(threshold) => Some(threshold),
            Self::OfOtherHalf(thresholds) => thresholds[half],
        }
    }
}

/// The half that a question belongs to: 0 or 1, by the seed.
pub(crate) fn half(seed: u64, id: &str) -> usize {
    usize::from(chance(seed, id) >= 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_half_is_cut_by_the_other() {
        let observation = |score: f64, helps: bool| Observation {
            score,
            without: 1.0 - f64::from(u8::from(helps)),
            with: f64::from(u8::from(helps)),
        };
        // In one half what is above 1 needs retrieval, in the other all.
        let first = [observation(1.0, false), observation(2.0, true)];
        let second = [observation(1.0, true), observation(2.0, true)];
        let thresholds = Thresholds::crossed([&first, &second]);
        assert_eq!(thresholds, Thresholds::OfOtherHalf([None, Some(1.0)]));
        assert_eq!((thresholds.of(0), thresholds.of(1)), (None, Some(1.0)));
        assert_eq!(Thresholds::Given(0.3).of(1), Some(0.3));
    }

    #[test]
    fn halves_are_even() {
        let second = (0..1000).filter(|n| half(7, &n.to_string()) == 1).count();
        assert!((420..=580).contains(&second), "{second}");
    }
}
