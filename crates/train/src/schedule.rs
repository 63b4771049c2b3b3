//! The learning rate by step: a linear warm-up, then a cosine down to a floor.

use serde::{Deserialize, Serialize};

/// The learning rate schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The peak learning rate.
    pub peak: f64,
    /// The fraction of all steps used for warm-up, in `[0, 1]`.
    pub warm_up: f64,
    /// The final learning rate as a fraction of the peak, in `[0, 1]`.
    pub floor: f64,
}

impl Schedule {
    /// The learning rate of a step, counted from 0, out of `steps`.
    pub fn at(&self, step: usize, steps: usize) -> f64 {
        let warm_up = (self.warm_up * steps as f64).ceil();
        let step = step as f64;
        if step < warm_up {
            return self.peak * (step + 1.0) / warm_up;
        }
        let decay = (steps as f64 - warm_up).max(1.0);
        let progress = ((step - warm_up) / decay).min(1.0);
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        self.peak * (self.floor + (1.0 - self.floor) * cosine)
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
