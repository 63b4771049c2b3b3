//! A number over questions with its interval.

use ken_report::Cell;
use serde::Serialize;

use crate::bootstrap::interval;
use crate::paired_interval::paired_interval;
use crate::statistics::{mean, number, wilson_interval};

/// A number with its 95 % interval, low and high; `None` if no question counts for it. The interval is Wilson's for a
/// share, [`paired_interval`] for a difference, and a bootstrap over questions for any other number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Measure {
    /// The number.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
}

impl Measure {
    /// Resamples per interval. A report has hundreds of intervals, and more resamples would only change the third
    /// decimal.
    pub const DRAWS: usize = 1000;

    /// The mean of a number per question; 0 and 1 for booleans.
    pub fn mean(values: &[f64], seed: u64) -> Self {
        let count = |kind: f64| values.iter().filter(|value| **value == kind).count();
        let yes = count(1.0);
        Self {
            value: mean(values),
            interval: match yes + count(0.0) == values.len() {
                true => wilson_interval(yes, values.len()),
                false => interval(values, Self::DRAWS, seed, mean),
            },
        }
    }

    /// The share of outcomes that are true.
    pub fn share(outcomes: impl IntoIterator<Item = bool>) -> Self {
        let outcomes = outcomes.into_iter().map(number);
        Self::mean(&outcomes.collect::<Vec<_>>(), 0)
    }

    /// The mean of paired differences.
    pub fn difference(differences: &[f64], seed: u64) -> Self {
        Self {
            value: mean(differences),
            interval: paired_interval(differences, seed),
        }
    }

    /// Any other statistic of questions.
    pub fn of<T: Copy>(
        questions: &[T],
        seed: u64,
        statistic: impl Fn(&[T]) -> Option<f64>,
    ) -> Self {
        Self {
            value: statistic(questions),
            interval: interval(questions, Self::DRAWS, seed, statistic),
        }
    }
}

impl From<Measure> for Cell {
    fn from(measure: Measure) -> Self {
        (measure.value, measure.interval).into()
    }
}
