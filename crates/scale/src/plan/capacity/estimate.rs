//! A number with the interval that it is expected in.

use std::ops::{Add, Mul};

use ken_eval::statistics::percentile;
use serde::Serialize;

/// A number with its interval. Sums and products take the ends with them: errors of several parts are assumed to go the
/// same way, so the interval of a sum is rather too wide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// A number that is known.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    /// The median of measurements, and the smallest and the largest of them; `None` without any.
    pub fn among(values: &[f64]) -> Option<Self> {
        Some(Self {
            value: percentile(values, 50.0)?,
            low: percentile(values, 0.0)?,
            high: percentile(values, 100.0)?,
        })
    }

    /// A function of it that never falls.
    #[must_use]
    pub fn rising(self, of: impl Fn(f64) -> f64) -> Self {
        self.with(self, |value, _| of(value))
    }

    /// A function of both that falls with neither.
    #[must_use]
    pub fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            value: of(self.value, other.value),
            low: of(self.low, other.low),
            high: of(self.high, other.high),
        }
    }

    /// How long an amount takes at this rate.
    #[must_use]
    pub fn time_for(self, amount: f64) -> Self {
        Self {
            value: amount / self.value,
            low: amount / self.high,
            high: amount / self.low,
        }
    }
}

impl Add for Estimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, |own, other| own + other)
    }
}

impl Mul<f64> for Estimate {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        self.rising(|value| value * factor)
    }
}

impl Mul for Estimate {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        self.with(other, |own, other| own * other)
    }
}
