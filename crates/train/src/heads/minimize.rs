//! L-BFGS (Nocedal 1980; Nocedal and Wright, algorithm 7.4) with Armijo backtracking.

use std::collections::VecDeque;

/// The number of curvature pairs kept.
const MEMORY: usize = 10;

/// The fraction of the predicted decrease that a step must achieve (Armijo).
const SUFFICIENT: f64 = 1e-4;

/// The most halvings of a step.
const HALVINGS: usize = 40;

/// A curvature pair: a step, the change of the gradient along it, and the inverse of their product.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    weight: f64,
}

/// A value and its gradient.
pub(super) type Slope = (f64, Vec<f64>);

/// Minimizes from `start` for at most `steps` iterations, until no component of the gradient exceeds
/// `tolerance`. The value never rises, and the result is deterministic.
///
/// # Shapes
/// `start`, every gradient, and the result: `[parameters]`.
pub(super) fn minimize(
    value_and_gradient: &dyn Fn(&[f64]) -> Slope,
    start: Vec<f64>,
    steps: usize,
    tolerance: f64,
) -> Vec<f64> {
    let mut point = start;
    let (mut value, mut gradient) = value_and_gradient(&point);
    let mut memory: VecDeque<Pair> = VecDeque::new();
    for _ in 0..steps {
        let slopes = gradient.iter().map(|slope| slope.abs());
        let steepest = slopes.fold(0.0_f64, f64::max);
        if steepest <= tolerance || !value.is_finite() {
            break;
        }
        let mut direction = descent(&gradient, &memory);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // Not a descent direction: restart from the gradient.
            memory.clear();
            direction = gradient.iter().map(|slope| -slope).collect();
            slope = -dot(&gradient, &gradient);
        }
        let mut length = match memory.is_empty() {
            true => (1.0 / slope.abs().sqrt()).min(1.0),
            false => 1.0,
        };
        let mut accepted = None;
        for _ in 0..HALVINGS {
            let there = point.iter().zip(&direction).map(|(x, d)| x + length * d);
            let there: Vec<f64> = there.collect();
            let (lower, next) = value_and_gradient(&there);
            if lower <= value + SUFFICIENT * length * slope {
                accepted = Some((there, lower, next));
                break;
            }
            length /= 2.0;
        }
        let Some((there, lower, next)) = accepted else {
            break;
        };
        let difference = |new: &[f64], old: &[f64]| -> Vec<f64> {
            new.iter().zip(old).map(|(new, old)| new - old).collect()
        };
        let (step, change) = (difference(&there, &point), difference(&next, &gradient));
        let product = dot(&step, &change);
        if product > 1e-12 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            memory.push_back(Pair {
                step,
                change,
                weight: 1.0 / product,
            });
            if memory.len() > MEMORY {
                memory.pop_front();
            }
        }
        (point, value, gradient) = (there, lower, next);
    }
    point
}

/// The descent direction: the two-loop recursion over the curvature pairs.
fn descent(gradient: &[f64], memory: &VecDeque<Pair>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let share = pair.weight * dot(&pair.step, &direction);
        for (d, change) in direction.iter_mut().zip(&pair.change) {
            *d -= share * change;
        }
        shares.push(share);
    }
    if let Some(last) = memory.back() {
        let scale = 1.0 / (last.weight * dot(&last.change, &last.change));
        direction.iter_mut().for_each(|d| *d *= scale);
    }
    for (pair, share) in memory.iter().zip(shares.into_iter().rev()) {
        let other = pair.weight * dot(&pair.change, &direction);
        for (d, step) in direction.iter_mut().zip(&pair.step) {
            *d += (share - other) * step;
        }
    }
    direction
}

/// The dot product.
pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    ken_policy::dot::<4, _>(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rosenbrock_function_is_minimized() {
        let valley = |at: &[f64]| {
            let (x, y) = (at[0], at[1]);
            let (a, b) = (1.0 - x, y - x * x);
            let value = a * a + 100.0 * b * b;
            (value, vec![-2.0 * a - 400.0 * x * b, 200.0 * b])
        };
        let end = minimize(&valley, vec![-1.2, 1.0], 200, 1e-9);
        assert!(
            (end[0] - 1.0).abs() < 1e-6 && (end[1] - 1.0).abs() < 1e-6,
            "{end:?}"
        );
    }

    #[test]
    fn a_value_that_is_not_a_number_ends_the_search() {
        let end = minimize(&|at| (f64::NAN, vec![1.0; at.len()]), vec![2.0], 10, 0.0);
        assert_eq!(end, [2.0]);
    }
}
