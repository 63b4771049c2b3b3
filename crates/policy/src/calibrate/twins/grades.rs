//! How many search results, k, a question gets by its signal: the more certain it is that memory is right, the
//! fewer.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The most values of k that a policy chooses among.
const MOST: usize = 5;

/// Values of k, from the least to the most, and a threshold between each and the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grades {
    count: usize,
    /// Zeros after the first `count`.
    ks: [usize; MOST],
    /// Zeros after the first `count - 1`; `None` before calibration.
    thresholds: Option<[f64; MOST - 1]>,
}

/// Why values of k are no grades.
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

impl Grades {
    /// Grades without thresholds.
    ///
    /// # Errors
    /// Fewer than two values, too many, or values that do not rise.
    pub fn new(values: &[usize]) -> Result<Self, BadGrades> {
        if !(2..=MOST).contains(&values.len()) {
            return Err(BadGrades::Count);
        }
        if values.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(BadGrades::Values);
        }
        let mut ks = [0; MOST];
        ks[..values.len()].copy_from_slice(values);
        Ok(Self {
            count: values.len(),
            ks,
            thresholds: None,
        })
    }

    /// The same with thresholds.
    ///
    /// # Errors
    /// Another number than one between each k and the next, or thresholds that fall. Where two are equal, the k
    /// between them is never chosen, and neither are those below negative infinity.
    pub fn at(self, thresholds: &[f64]) -> Result<Self, BadGrades> {
        if thresholds.len() + 1 != self.count {
            return Err(BadGrades::ThresholdCount);
        }
        let falls = |pair: &[f64]| !matches!(pair, [low, high] if low <= high);
        if thresholds.windows(2).any(falls) {
            return Err(BadGrades::Thresholds);
        }
        let mut padded = [0.0; MOST - 1];
        padded[..thresholds.len()].copy_from_slice(thresholds);
        Ok(Self {
            thresholds: Some(padded),
            ..self
        })
    }

    /// The same without thresholds.
    #[must_use]
    pub fn open(self) -> Self {
        Self {
            thresholds: None,
            ..self
        }
    }

    /// The values of k, from the least.
    #[must_use]
    pub fn ks(&self) -> &[usize] {
        &self.ks[..self.count]
    }

    /// The thresholds, from the least; `None` before calibration.
    #[must_use]
    pub fn thresholds(&self) -> Option<&[f64]> {
        let padded = self.thresholds.as_ref()?;
        Some(&padded[..self.count - 1])
    }

    /// The largest k.
    #[must_use]
    pub fn most(&self) -> usize {
        self.ks[self.count - 1]
    }

    /// The k of a question by its signal. What is missing gets the largest, and so does NaN, from a broken
    /// model; without thresholds everything does.
    #[must_use]
    pub fn k_of(&self, score: Option<f64>) -> usize {
        self.ks[self.grade_of(score)]
    }

    /// The place of that k among all.
    pub(crate) fn grade_of(&self, score: Option<f64>) -> usize {
        let pair = self
            .thresholds()
            .zip(score.filter(|score| score.is_finite()));
        match pair {
            Some((thresholds, score)) => thresholds.iter().filter(|one| score > **one).count(),
            None => self.count - 1,
        }
    }

    /// The grades that some signal chooses: without those between equal thresholds or below negative infinity.
    ///
    /// # Errors
    /// Where only one is left: its k.
    pub fn used(&self) -> Result<Self, usize> {
        let Some(thresholds) = self.thresholds() else {
            return Ok(*self);
        };
        let mut ks = vec![self.ks[0]];
        let mut kept = Vec::new();
        for (&threshold, &k) in thresholds.iter().zip(&self.ks[1..]) {
            let is_empty = threshold == kept.last().copied().unwrap_or(f64::NEG_INFINITY);
            if is_empty {
                ks.pop();
            } else {
                kept.push(threshold);
            }
            ks.push(k);
        }
        let grades = Self::new(&ks).and_then(|grades| grades.at(&kept));
        grades.map_err(|_| self.most())
    }
}

/// `:K:K…`, with `@T:T…` where there are thresholds.
impl fmt::Display for Grades {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ks().iter().try_for_each(|k| write!(f, ":{k}"))?;
        let thresholds = self.thresholds().unwrap_or_default();
        thresholds.iter().enumerate().try_for_each(|(at, one)| {
            let sign = if at == 0 { '@' } else { ':' };
            write!(f, "{sign}{one}")
        })
    }
}

/// As `ks` and `thresholds`, which are empty before calibration and null where they are infinite.
impl Serialize for Grades {
    fn serialize<To: Serializer>(&self, to: To) -> Result<To::Ok, To::Error> {
        let mut written = to.serialize_struct("Grades", 2)?;
        written.serialize_field("ks", self.ks())?;
        written.serialize_field("thresholds", self.thresholds().unwrap_or_default())?;
        written.end()
    }
}
