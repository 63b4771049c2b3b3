//! Finding a lowest point by values and gradients: L-BFGS (Nocedal 1980; Nocedal and Wright,
//! algorithm 7.4) with steps that are halved until they lower the value enough (Armijo).

use std::collections::VecDeque;

use super::objective::dot;

/// Steps remembered.
const MEMORY: usize = 10;

/// The part of the decrease guaranteed by the slope that a step has to bring.
const ENOUGH: f64 = 1e-4;

/// How often a step is halved before the search ends.
const HALVINGS: usize = 40;

/// A step, the change of the gradient along it, and one by their product.
struct Remembered {
    step: Vec<f64>,
    change: Vec<f64>,
    weight: f64,
}

/// A value and its gradient.
pub(super) type Slope = (f64, Vec<f64>);

/// Walks from `start` downwards for at most so many `steps`, and ends where no slope is steeper than
/// `flat`. The value never rises; the same start gives the same end.
///
/// # Shapes
/// `start`, every gradient, and what is returned: `[parameters]`.
pub(super) fn minimize(
    value_and_gradient: &dyn Fn(&[f64]) -> Slope,
    start: Vec<f64>,
    steps: usize,
    flat: f64,
) -> Vec<f64> {
    let mut at = start;
    let (mut value, mut gradient) = value_and_gradient(&at);
    let mut memory: VecDeque<Remembered> = VecDeque::new();
    for _ in 0..steps {
        let steepest = gradient
            .iter()
            .fold(0.0_f64, |most, slope| most.max(slope.abs()));
        if steepest <= flat || !value.is_finite() {
            break;
        }
        let mut direction = descent(&gradient, &memory);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // What is remembered leads uphill: forget it.
            memory.clear();
            direction = gradient.iter().map(|slope| -slope).collect();
            slope = -dot(&gradient, &gradient);
        }
        let mut length = match memory.is_empty() {
            true => (1.0 / slope.abs().sqrt()).min(1.0),
            false => 1.0,
        };
        let mut found = None;
        for _ in 0..HALVINGS {
            let there: Vec<f64> = at
                .iter()
                .zip(&direction)
                .map(|(x, d)| x + length * d)
                .collect();
            let (lower, next) = value_and_gradient(&there);
            if lower <= value + ENOUGH * length * slope {
                found = Some((there, lower, next));
                break;
            }
            length /= 2.0;
        }
        let Some((there, lower, next)) = found else {
            break;
        };
        let step: Vec<f64> = there.iter().zip(&at).map(|(new, old)| new - old).collect();
        let change: Vec<f64> = next
            .iter()
            .zip(&gradient)
            .map(|(new, old)| new - old)
            .collect();
        let product = dot(&step, &change);
        if product > 1e-12 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            memory.push_back(Remembered {
                step,
                change,
                weight: 1.0 / product,
            });
            if memory.len() > MEMORY {
                memory.pop_front();
            }
        }
        (at, value, gradient) = (there, lower, next);
    }
    at
}

/// Where to go: against the gradient, bent by what is remembered of the curvature.
fn descent(gradient: &[f64], memory: &VecDeque<Remembered>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for known in memory.iter().rev() {
        let share = known.weight * dot(&known.step, &direction);
        for (d, change) in direction.iter_mut().zip(&known.change) {
            *d -= share * change;
        }
        shares.push(share);
    }
    if let Some(last) = memory.back() {
        let scale = 1.0 / (last.weight * dot(&last.change, &last.change));
        direction.iter_mut().for_each(|d| *d *= scale);
    }
    for (known, share) in memory.iter().zip(shares.into_iter().rev()) {
        let other = known.weight * dot(&known.change, &direction);
        for (d, step) in direction.iter_mut().zip(&known.step) {
            *d += (share - other) * step;
        }
    }
    direction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valley_of_rosenbrock_is_walked_to_its_end() {
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
    fn what_is_no_number_ends_the_walk() {
        let end = minimize(&|at| (f64::NAN, vec![1.0; at.len()]), vec![2.0], 10, 0.0);
        assert_eq!(end, [2.0]);
    }
}
