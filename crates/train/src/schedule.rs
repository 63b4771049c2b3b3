//! The learning rate by step: a linear warm-up, then a cosine down to a floor.

use serde::{Deserialize, Serialize};

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The highest learning rate.
    pub peak: f64,
    /// The share of all steps in which it rises, in `[0, 1]`.
    pub warm_up: f64,
    /// The share of the highest that it ends at, in `[0, 1]`.
    pub floor: f64,
}

impl Schedule {
    /// The learning rate of a step, counted from 0, of so many.
    #[must_use]
    pub fn at(&self, step: usize, steps: usize) -> f64 {
        let rising = (self.warm_up * steps as f64).ceil();
        let step = step as f64;
        if step < rising {
            return self.peak * (step + 1.0) / rising;
        }
        let falling = (steps as f64 - rising).max(1.0);
        let way = ((step - rising) / falling).min(1.0);
        let height = 0.5 * (1.0 + (std::f64::consts::PI * way).cos());
        self.peak * (self.floor + (1.0 - self.floor) * height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_then_falls() {
        let schedule = Schedule {
            peak: 2.0,
            warm_up: 0.1,
            floor: 0.05,
        };
        let rates: Vec<f64> = (0..100).map(|step| schedule.at(step, 100)).collect();
        assert!((rates[0] - 0.2).abs() < 1e-12 && (rates[9] - 2.0).abs() < 1e-12);
        assert!(rates[..10].is_sorted());
        assert!(rates[10..].iter().rev().is_sorted());
        assert!((rates[55] - (0.1 + 1.9 * 0.5)).abs() < 1e-9);
        assert!(rates[99] >= 0.1 && rates[99] < 0.11);
        let constant = Schedule {
            peak: 1.0,
            warm_up: 0.0,
            floor: 1.0,
        };
        assert!((0..9).all(|step| constant.at(step, 9) == 1.0));
    }
}
