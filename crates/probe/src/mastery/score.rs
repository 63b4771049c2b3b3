//! The Mastery-Score of a sentence: the share of its questions that the model answers right.

use crate::interval::wilson_interval;

/// How well the model masters a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mastery {
    /// M(s), the mean exact match in `[0, 1]` (Zero-RAG, equation 3).
    pub mean: f64,
    /// The 95 % interval of the share of all possible questions about the sentence that the model would answer right:
    /// wide, since a sentence has few questions.
    pub interval: [f64; 2],
}

/// The mastery of a sentence by whether each of its questions was answered right. `None` without questions.
pub fn mastery(correct: &[bool]) -> Option<Mastery> {
    let right = correct.iter().filter(|&&correct| correct).count();
    let interval = wilson_interval(right, correct.len())?;
    Some(Mastery {
        mean: right as f64 / correct.len() as f64,
        interval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_mean_exact_match() {
        assert_eq!(mastery(&[]), None);
        for (correct, mean) in [
            (vec![true, true, true, true], 1.0),
            (vec![false, false], 0.0),
            (vec![true, false, false, false], 0.25),
        ] {
            let found = mastery(&correct).unwrap();
            assert_eq!(found.mean, mean);
            let [low, high] = found.interval;
            assert!(low <= mean && mean <= high);
            assert!(high - low > 0.2, "few questions say little: {found:?}");
        }
    }
}
