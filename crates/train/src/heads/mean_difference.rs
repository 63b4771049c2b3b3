//! The head that needs no minimization: the difference of the means of two classes.

use super::minimize::dot;
use super::objective::Examples;

/// The least variance along the direction, as a share of the squared distance of the means: perfectly separated
/// classes would have infinite log odds.
const LEAST_SPREAD: f64 = 1e-3;

/// The parameters of a logistic head: with the projection z on μ₁ − μ₀, the log odds of two normal distributions of
/// z with the pooled variance s² and the shares of both classes, (z₁ − z₀) / s² · (z − (z₁ + z₀) / 2) + ln(n₁ / n₀).
///
/// # Shapes
/// Targets are 0 or 1. Returns `[inputs + 1]`, the bias last; zeros if a class is missing or both means are equal.
pub(super) fn mean_difference(examples: Examples<'_>) -> Vec<f64> {
    let Examples {
        rows,
        inputs,
        targets,
    } = examples;
    let of_class = |class: bool| {
        let rows = rows.chunks_exact(inputs).zip(targets);
        rows.filter(move |(_, target)| (**target >= 0.5) == class)
            .map(|(row, _)| row)
    };
    let mean = |class: bool| {
        let mut sum = vec![0.0; inputs];
        for row in of_class(class) {
            for (sum, number) in sum.iter_mut().zip(row) {
                *sum += number;
            }
        }
        let count = of_class(class).count().max(1) as f64;
        sum.iter_mut().for_each(|sum| *sum /= count);
        sum
    };
    let [zeros, ones] = [false, true].map(mean);
    let counts = [false, true].map(|class| of_class(class).count() as f64);
    let direction: Vec<f64> = ones
        .iter()
        .zip(&zeros)
        .map(|(one, zero)| one - zero)
        .collect();
    let between = dot(&direction, &direction);
    if counts.contains(&0.0) || between <= 0.0 {
        return vec![0.0; inputs + 1];
    }
    let [low, high] = [&zeros, &ones].map(|mean| dot(&direction, mean));
    let spread = |class: bool, center: f64| {
        let squares = of_class(class).map(|row| (dot(&direction, row) - center).powi(2));
        squares.sum::<f64>()
    };
    let variance = (spread(false, low) + spread(true, high)) / targets.len() as f64;
    let slope = between / variance.max(LEAST_SPREAD * between * between);
    let bias = (counts[1] / counts[0]).ln() - slope * (low + high) / 2.0;
    direction
        .iter()
        .map(|weight| slope * weight)
        .chain([bias])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_odds_are_those_of_two_normal_distributions() {
        // Means (0, 1) and (4, 1), variance 1 along the first dimension; the second carries no information.
        let rows = [-1.0, 0.0, 1.0, 2.0, 3.0, 1.0, 5.0, 1.0];
        let targets = [0.0, 0.0, 1.0, 1.0];
        let examples = Examples {
            rows: &rows,
            inputs: 2,
            targets: &targets,
        };
        // (4 / 1) · (x − 2) + ln(2 / 2).
        let found = mean_difference(examples);
        for (found, expected) in found.iter().zip([4.0, 0.0, -8.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        let alike = Examples {
            targets: &[1.0; 4],
            ..examples
        };
        assert_eq!(mean_difference(alike), [0.0; 3]);
    }
}
