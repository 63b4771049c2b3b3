//! Rules, which open or shut a door for a question, and the thresholds that they compare a signal with.

use std::fmt;

use crate::Signal;

/// The most values of k that a policy chooses among.
const MOST: usize = 5;

/// What opens a door.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// It is always open.
    Always,
    /// It is never open.
    Never,
    /// Chance, with this probability in `[0, 1]`.
    Chance(f64),
    /// Golden answers: it opens if that turns a wrong answer into a right one.
    Oracle,
    /// A signal above a threshold.
    Above {
        /// The signal.
        signal: Signal,
        /// The thresholds: several if the policy chooses among values of k.
        thresholds: Thresholds,
    },
    /// The signal that had the evidence retrieved, measured again with it and no longer above its threshold (KBM's
    /// double judgment, figure 8).
    Settled,
}

impl Rule {
    /// A rule of one threshold; `None` before calibration.
    pub const fn above(signal: Signal, threshold: Option<f64>) -> Self {
        let thresholds = Thresholds::one(threshold);
        Self::Above { signal, thresholds }
    }

    /// Its signal.
    pub fn signal(&self) -> Option<Signal> {
        match self {
            Self::Above { signal, .. } => Some(*signal),
            _ => None,
        }
    }

    /// Its thresholds, from the least; `None` without a signal and before calibration.
    pub fn thresholds(&self) -> Option<&[f64]> {
        match self {
            Self::Above { thresholds, .. } => thresholds.values(),
            _ => None,
        }
    }

    /// Its first threshold.
    pub fn threshold(&self) -> Option<f64> {
        self.thresholds()?.first().copied()
    }

    /// Whether its thresholds are still to be chosen.
    pub fn is_open(&self) -> bool {
        self.signal().is_some() && self.thresholds().is_none()
    }

    /// Removes the thresholds, for calibration to choose.
    #[must_use]
    pub fn open(mut self) -> Self {
        if let Self::Above { thresholds, .. } = &mut self {
            thresholds.values = None;
        }
        self
    }

    /// The number of its thresholds that a score is above; `None` for the oracle, which no score decides. A score that
    /// is missing or not finite is above all, since the corpus is the safer choice; so is every score before
    /// calibration.
    pub(crate) fn grade(&self, score: Option<f64>) -> Option<usize> {
        match self {
            Self::Always | Self::Settled => Some(1),
            Self::Never => Some(0),
            Self::Chance(share) => Some(usize::from(score.is_none_or(|drawn| drawn < *share))),
            Self::Oracle => None,
            Self::Above { thresholds, .. } => Some(thresholds.grade(score)),
        }
    }
}

/// Whether a signal is above a threshold, and the comparison in words.
pub(crate) fn compared(signal: Signal, score: f64, threshold: f64) -> (bool, String) {
    let is_above = Rule::above(signal, Some(threshold)).grade(Some(score)) == Some(1);
    let side = if is_above { "above" } else { "not above" };
    let what = signal.subject;
    (
        is_above,
        format!("{what}, {score:.3}, is {side} {threshold}"),
    )
}

/// Why values of k or thresholds do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadGrades {
    /// Too few or too many.
    #[error("it takes 2 to {MOST} values of k")]
    Count,
    /// Values of k out of order.
    #[error("its values of k must rise")]
    Values,
    /// The wrong number of thresholds.
    #[error("it takes one threshold between each k and the next")]
    ThresholdCount,
    /// Thresholds out of order.
    #[error("its thresholds must rise")]
    Thresholds,
}

/// One threshold, or one between each k and the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    count: usize,
    /// Zeros after the first `count`; `None` before calibration.
    values: Option<[f64; MOST - 1]>,
}

impl Thresholds {
    /// One threshold; `None` before calibration.
    pub const fn one(threshold: Option<f64>) -> Self {
        let values = match threshold {
            Some(threshold) => Some([threshold, 0.0, 0.0, 0.0]),
            None => None,
        };
        Self { count: 1, values }
    }

    /// One between each k and the next, before calibration.
    pub(crate) fn between(ks: Ks) -> Self {
        Self {
            count: ks.values().len().max(2) - 1,
            values: None,
        }
    }

    /// Sets the values. If two are equal, the k between them is never chosen; neither are those below negative infinity.
    ///
    /// # Errors
    /// Another number of them, or values that fall or are NaN.
    pub fn at(self, values: &[f64]) -> Result<Self, BadGrades> {
        if values.len() != self.count {
            return Err(BadGrades::ThresholdCount);
        }
        if !values.is_sorted() || values.iter().any(|value| value.is_nan()) {
            return Err(BadGrades::Thresholds);
        }
        let mut padded = [0.0; MOST - 1];
        padded[..values.len()].copy_from_slice(values);
        Ok(Self {
            values: Some(padded),
            ..self
        })
    }

    fn values(&self) -> Option<&[f64]> {
        Some(&self.values.as_ref()?[..self.count])
    }

    fn grade(&self, score: Option<f64>) -> usize {
        let pair = self.values().zip(score.filter(|score| score.is_finite()));
        pair.map_or(self.count, |(thresholds, score)| {
            thresholds.iter().filter(|value| score > **value).count()
        })
    }
}

/// Values of k, from the least: the search results that a question of each grade reads. Empty if a policy does not
/// choose k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ks {
    count: usize,
    /// Zeros after the first `count`.
    values: [usize; MOST],
}

impl Ks {
    /// No choice of k.
    pub(crate) const NONE: Self = Self {
        count: 0,
        values: [0; MOST],
    };

    /// One k, whatever the grade.
    pub fn only(k: usize) -> Self {
        Self {
            count: 1,
            values: [k; MOST],
        }
    }

    /// Several values, between which a signal chooses.
    ///
    /// # Errors
    /// Fewer than two values, too many, or values that do not rise.
    pub fn new(values: &[usize]) -> Result<Self, BadGrades> {
        if !(2..=MOST).contains(&values.len()) {
            return Err(BadGrades::Count);
        }
        if !values.is_sorted_by(|low, high| low < high) {
            return Err(BadGrades::Values);
        }
        let mut padded = [0; MOST];
        padded[..values.len()].copy_from_slice(values);
        Ok(Self {
            count: values.len(),
            values: padded,
        })
    }

    /// The values; empty if a policy does not choose k.
    pub fn values(&self) -> &[usize] {
        &self.values[..self.count]
    }

    /// The k of a grade; `None` if a policy does not choose k.
    pub(crate) fn of(&self, grade: usize) -> Option<usize> {
        let last = self.count.checked_sub(1)?;
        self.values.get(grade.min(last)).copied()
    }
}

/// `:K:K…`.
impl fmt::Display for Ks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values().iter().try_for_each(|k| write!(f, ":{k}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use proptest::prelude::*;

    fn graded(ks: &[usize]) -> Policy {
        Policy::graded(Signal::PERPLEXITY, Ks::new(ks).unwrap())
    }

    #[test]
    fn a_signal_gets_the_k_of_its_interval() {
        let policy = graded(&[0, 1, 3, 8]);
        assert_eq!(policy.k_of(Some(0.0)), Some(8), "without thresholds");
        let policy = policy.at(&[1.0, 1.5, 2.0]).unwrap();
        for (score, k) in [
            (Some(0.2), 0),
            (Some(1.0), 0),
            (Some(1.2), 1),
            (Some(1.5), 1),
            (Some(2.0), 3),
            (Some(2.1), 8),
            (Some(f64::INFINITY), 8),
            (Some(f64::NAN), 8),
            (None, 8),
        ] {
            assert_eq!(policy.k_of(score), Some(k), "{score:?}");
            assert_eq!(policy.retrieves(score), Some(k > 0), "{score:?}");
        }
        assert_eq!(policy.to_string(), "uncertainty:perplexity:0:1:3:8@1:1.5:2");
    }

    #[test]
    fn bad_grades_are_refused() {
        assert_eq!(Ks::new(&[3]), Err(BadGrades::Count));
        assert_eq!(Ks::new(&[0, 1, 2, 3, 4, 5]), Err(BadGrades::Count));
        assert_eq!(Ks::new(&[1, 1]), Err(BadGrades::Values));
        let policy = graded(&[0, 1, 3]);
        assert_eq!(policy.at(&[1.0]), Err(BadGrades::ThresholdCount));
        assert_eq!(policy.at(&[2.0, 1.0]), Err(BadGrades::Thresholds));
        assert_eq!(policy.at(&[f64::NAN, 1.0]), Err(BadGrades::Thresholds));
    }

    #[test]
    fn unused_grades_are_left_out() {
        let simplified = |thresholds: [f64; 3]| {
            let policy = graded(&[0, 1, 3, 8]).at(&thresholds).unwrap();
            let text = policy.simplified().to_string();
            text.replace("uncertainty:perplexity", "")
        };
        let least = f64::NEG_INFINITY;
        assert_eq!(simplified([1.0, 1.5, 2.0]), ":0:1:3:8@1:1.5:2");
        assert_eq!(simplified([1.0, 1.0, 2.0]), ":0:3:8@1:2");
        assert_eq!(simplified([least, 1.0, 1.0]), ":1:8@1");
        assert_eq!(simplified([least, least, 2.0]), ":3:8@2");
        assert_eq!(simplified([least; 3]), "always:8");
    }

    proptest! {
        #[test]
        fn the_used_grades_choose_as_all_do(
            mut levels in prop::collection::vec(-1_i32..6, 3),
            score in -2_i32..7,
        ) {
            levels.sort_unstable();
            let thresholds = levels.iter().map(|level| match level {
                -1 => f64::NEG_INFINITY,
                level => f64::from(*level),
            });
            let thresholds: Vec<f64> = thresholds.collect();
            let policy = graded(&[0, 2, 3, 9]).at(&thresholds).unwrap();
            let score = Some(f64::from(score));
            prop_assert_eq!(policy.simplified().k_of(score), policy.k_of(score));
        }
    }
}
