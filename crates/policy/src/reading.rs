//! The reading of a signal for a question, or for the evidence for it.

/// The three outcomes of a signal. A rule never compares a signal that cannot tell with a threshold: it takes the
/// careful side instead, which is to retrieve, to keep retrieved evidence, and to withhold an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// A finite number.
    Number(f64),
    /// It was measured without a usable result: no answers, or a number that is not finite.
    CannotTell,
    /// It was not measured, or the model does not report what it needs: a decision by it is an error.
    NotMeasured,
}

impl Reading {
    /// The number, if there is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::CannotTell | Self::NotMeasured => None,
        }
    }

    /// The number for records: NaN if the signal cannot tell, `None` if it was not measured.
    pub fn recorded(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::CannotTell => Some(f64::NAN),
            Self::NotMeasured => None,
        }
    }

    /// Whether it was measured without a usable result.
    pub fn cannot_tell(self) -> bool {
        self == Self::CannotTell
    }

    /// Applies a function to the number.
    #[must_use]
    pub fn map(self, number: impl FnOnce(f64) -> f64) -> Self {
        match self {
            Self::Number(own) => number(own).into(),
            other => other,
        }
    }

    /// Another number if the signal cannot tell.
    #[must_use]
    pub fn or(self, number: f64) -> Self {
        match self {
            Self::CannotTell => Self::Number(number),
            known => known,
        }
    }

    /// Combines the numbers of two readings; if either has none, neither has the result.
    #[must_use]
    pub fn with(self, other: Self, number: impl FnOnce(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => number(one, other).into(),
            (Self::NotMeasured, _) | (_, Self::NotMeasured) => Self::NotMeasured,
            (Self::CannotTell, _) | (_, Self::CannotTell) => Self::CannotTell,
        }
    }
}

impl From<f64> for Reading {
    fn from(number: f64) -> Self {
        match number.is_finite() {
            true => Self::Number(number),
            false => Self::CannotTell,
        }
    }
}

/// What is missing was not measured.
impl From<Option<f64>> for Reading {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::NotMeasured, Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_cannot_tell() {
        assert_eq!(Reading::from(0.5), Reading::Number(0.5));
        assert_eq!(Reading::from(None), Reading::NotMeasured);
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Reading::from(Some(number)), Reading::CannotTell);
            assert_eq!(Reading::Number(1.0).map(|_| number), Reading::CannotTell);
        }
        let sum = |one: Reading, other: Reading| one.with(other, |a, b| a + b);
        assert_eq!(sum(1.0.into(), 2.0.into()), Reading::Number(3.0));
        assert_eq!(sum(1.0.into(), Reading::CannotTell), Reading::CannotTell);
        assert_eq!(
            sum(Reading::CannotTell, Reading::NotMeasured),
            Reading::NotMeasured
        );
    }
}
