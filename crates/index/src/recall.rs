//! The recall that dense search aims at.

use std::fmt;
use std::str::FromStr;

/// The share of the nearest passages that dense search finds, on average over queries: above 0, at
/// most 1. At 1, every vector is scored.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Recall(f64);

impl Recall {
    /// All of the nearest passages.
    pub const EXACT: Recall = Recall(1.0);

    /// The share of the nearest passages that a search finds, in `[0, 1]`.
    pub fn share(self) -> f64 {
        self.0
    }
}

impl Default for Recall {
    fn default() -> Self {
        Self(0.99)
    }
}

impl fmt::Display for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is not a recall.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("{received:?} is no recall (a number above 0, at most 1)")]
pub struct UnknownRecall {
    /// The given text.
    pub received: String,
}

impl FromStr for Recall {
    type Err = UnknownRecall;

    fn from_str(text: &str) -> Result<Self, UnknownRecall> {
        let share = text.parse().ok();
        let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
        share.map(Self).ok_or_else(|| UnknownRecall {
            received: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recall_is_a_share() {
        assert_eq!("1".parse::<Recall>().unwrap(), Recall::EXACT);
        let default = Recall::default();
        assert_eq!(default.to_string().parse::<Recall>().unwrap(), default);
        for wrong in ["0", "1.01", "-0.5", "NaN", "most", ""] {
            let error = wrong.parse::<Recall>().unwrap_err();
            assert!(error.to_string().contains("at most 1"), "{error}");
        }
    }
}
