//! A line by least squares, with the interval in which one more measurement is expected.

use ken_eval::statistics::mean;

use super::student::within_95_percent;

/// A line by least squares.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// The value at 0.
    at_zero: f64,
    /// The rise by 1.
    pub(super) slope: f64,
    count: usize,
    /// The mean of the horizontal values.
    center: f64,
    /// The sum of the squared distances from it.
    spread: f64,
    /// The sum of the squared residuals.
    residual: f64,
}

impl Line {
    /// The line through points, of which two differ horizontally.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let of =
            |value: fn(&(f64, f64)) -> f64| mean(&points.iter().map(value).collect::<Vec<_>>());
        let (center, y) = (of(|point| point.0)?, of(|point| point.1)?);
        let spread: f64 = points.iter().map(|point| (point.0 - center).powi(2)).sum();
        let shared = points
            .iter()
            .map(|point| (point.0 - center) * (point.1 - y));
        let slope = shared.sum::<f64>() / spread;
        let at_zero = y - slope * center;
        let residuals = points
            .iter()
            .map(|point| point.1 - at_zero - slope * point.0);
        (spread > 0.0).then(|| Self {
            at_zero,
            slope,
            count: points.len(),
            center,
            spread,
            residual: residuals.map(|residual| residual.powi(2)).sum(),
        })
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        self.at_zero + self.slope * x
    }

    /// The 95% prediction interval of a measurement at `x`, if its errors are normal and as large as those of the points;
    /// `None` for a line through fewer than three points.
    pub(super) fn interval_at(&self, x: f64) -> Option<[f64; 2]> {
        let freedom = self.count.checked_sub(2).filter(|&freedom| freedom > 0)?;
        let deviation = (self.residual / freedom as f64).sqrt();
        let distance = (x - self.center).powi(2) / self.spread;
        let error = deviation * (1.0 + 1.0 / self.count as f64 + distance).sqrt();
        let half = within_95_percent(freedom) * error;
        Some([self.at(x) - half, self.at(x) + half])
    }
}
