//! Platt scaling (Platt 1999): an affine map of out-of-fold logits, which preserves their order.

use super::objective::{Examples, Loss, Objective, Shape};

/// The least slope: uninformative scores keep their order, and every probability is about the base
/// rate.
const LEAST_SLOPE: f64 = 1e-3;

/// An affine map of logits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) slope: f64,
    pub(super) shift: f64,
}

/// The map with the lowest cross entropy. Labels are smoothed as in Platt, so that few examples do not
/// produce certainty.
///
/// # Shapes
/// `logits` and `labels`: `[examples]`, with both labels among them.
pub(super) fn line(logits: &[f64], labels: &[bool]) -> Line {
    let positive = labels.iter().filter(|&&label| label).count() as f64;
    let negative = labels.len() as f64 - positive;
    let (high, low) = ((positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0));
    let targets = labels.iter().map(|&label| if label { high } else { low });
    let targets: Vec<f64> = targets.collect();
    let objective = Objective {
        shape: Shape::Logistic,
        loss: Loss::CrossEntropy,
        examples: Examples {
            rows: logits,
            inputs: 1,
            targets: &targets,
        },
        decay: 0.0,
    };
    let parameters = objective.minimize(vec![1.0, 0.0], 200, 1e-9);
    let base_rate = targets.iter().sum::<f64>() / targets.len().max(1) as f64;
    match parameters[..] {
        [slope, shift] if slope >= LEAST_SLOPE && slope.is_finite() && shift.is_finite() => {
            Line { slope, shift }
        }
        _ => Line {
            slope: LEAST_SLOPE,
            shift: (base_rate / (1.0 - base_rate)).ln(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_policy::logistic;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    #[test]
    fn overconfident_logits_are_scaled_down() {
        let mut drawn = StdRng::seed_from_u64(3);
        let (logits, labels): (Vec<f64>, Vec<bool>) = (0..4000)
            .map(|_| {
                let truth = drawn.random_range(-3.5..2.5);
                (2.0 * truth + 1.0, drawn.random::<f64>() < logistic(truth))
            })
            .unzip();
        let Line { slope, shift } = line(&logits, &labels);
        assert!((slope - 0.5).abs() < 0.05, "{slope}");
        assert!((shift + 0.5).abs() < 0.1, "{shift}");
    }

    #[test]
    fn inverted_scores_keep_their_order() {
        let Line { slope, shift } = line(
            &[-1.0, -2.0, 1.0, 2.0, 3.0, 1.5],
            &[true, true, false, false, false, false],
        );
        assert_eq!(slope, LEAST_SLOPE);
        assert!((logistic(shift) - 0.36).abs() < 0.05, "{shift}");
    }

    #[test]
    fn perfect_scores_do_not_produce_certainty() {
        let Line { slope, shift } = line(&[-1.0, -2.0, 1.0, 2.0], &[false, false, true, true]);
        let sure = logistic(slope * 2.0 + shift);
        assert!(sure > 0.6 && sure < 0.95, "{sure}");
    }
}
