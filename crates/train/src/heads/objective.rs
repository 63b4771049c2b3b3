//! The objective of a head, its mean loss over the examples with an L2 penalty, and its gradient.

use std::fmt;
use std::str::FromStr;

use ken_policy::logistic;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;

use super::minimize::{dot, minimize};

/// Examples per partial sum. Partial sums are added in order, so that the result does not depend on
/// the number of threads.
const CHUNK: usize = 64;

/// The architecture of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Logistic regression.
    Logistic,
    /// The projection on the difference of the two class means, as log odds under equal variances along it. It has a
    /// closed form, so no penalty.
    MeanDifference,
    /// One hidden layer with tanh.
    Mlp {
        /// Hidden units, at least 1.
        hidden: usize,
    },
}

/// The default number of hidden units.
const HIDDEN: usize = 16;

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Logistic => f.write_str("logistic"),
            Self::MeanDifference => f.write_str("mean-difference"),
            Self::Mlp { hidden } => write!(f, "mlp:{hidden}"),
        }
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = |number: &str| match number.parse() {
            Ok(hidden @ 1..=4096) => Ok(Self::Mlp { hidden }),
            _ => Err(format!(
                "`{number}` is not a number of hidden units from 1 to 4096"
            )),
        };
        match text.split_once(':') {
            None if text == "logistic" => Ok(Self::Logistic),
            None if text == "mean-difference" => Ok(Self::MeanDifference),
            None if text == "mlp" => Ok(Self::Mlp { hidden: HIDDEN }),
            Some(("mlp", number)) => units(number),
            _ => Err(format!(
                "unknown head `{text}` (logistic, mean-difference and mlp:UNITS are known)"
            )),
        }
    }
}

/// The loss of one example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// −y ln p − (1 − y) ln(1 − p), Zero-RAG, Eq. 5, for both classes.
    CrossEntropy,
    /// (p − y)², Zero-RAG, Eq. 4.
    Squared,
}

/// Standardized examples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Examples<'a> {
    /// `[examples, inputs]`, row by row.
    pub(super) rows: &'a [f64],
    pub(super) inputs: usize,
    /// `[examples]`, in `[0, 1]`.
    pub(super) targets: &'a [f64],
}

/// The objective of a head. Its parameters are one list: for each layer the weights, `[outputs, inputs]`
/// row by row, then the biases, `[outputs]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Objective<'a> {
    pub(super) shape: Shape,
    pub(super) loss: Loss,
    pub(super) examples: Examples<'a>,
    /// The L2 penalty: half of it times the sum of the squared weights is added to the mean loss.
    /// Biases are not penalized.
    pub(super) decay: f64,
}

impl Shape {
    /// The number of parameters.
    pub(super) fn parameters(self, inputs: usize) -> usize {
        match self {
            Self::Logistic | Self::MeanDifference => inputs + 1,
            Self::Mlp { hidden } => hidden * (inputs + 1) + hidden + 1,
        }
    }

    /// The initial parameters: zero for a convex objective, else small random weights, so that hidden
    /// units differ.
    pub(super) fn start(self, inputs: usize, seed: u64) -> Vec<f64> {
        let mut parameters = vec![0.0; self.parameters(inputs)];
        if let Self::Mlp { hidden } = self {
            let mut drawn = StdRng::seed_from_u64(seed);
            let (first, rest) = parameters.split_at_mut(hidden * inputs);
            let mut draw = |weights: &mut [f64], fan: usize| {
                let width = 1.0 / (fan.max(1) as f64).sqrt();
                for weight in weights {
                    *weight = drawn.random_range(-width..=width);
                }
            };
            draw(first, inputs);
            draw(&mut rest[hidden..2 * hidden], hidden);
        }
        parameters
    }

    /// The logit of one example.
    ///
    /// # Shapes
    /// `row`: `[inputs]`. `units` receives the hidden activations: `[hidden]`.
    pub(super) fn logit(self, parameters: &[f64], row: &[f64], units: &mut Vec<f64>) -> f64 {
        match self {
            Self::Logistic | Self::MeanDifference => {
                dot(&parameters[..row.len()], row) + parameters[row.len()]
            }
            Self::Mlp { hidden } => {
                let (weights, rest) = parameters.split_at(hidden * row.len());
                let (biases, last) = rest.split_at(hidden);
                units.clear();
                let rows = weights.chunks_exact(row.len());
                let sums = rows.zip(biases).map(|(w, bias)| dot(w, row) + bias);
                units.extend(sums.map(f64::tanh));
                dot(&last[..hidden], units) + last[hidden]
            }
        }
    }
}

impl Objective<'_> {
    /// The parameters that [`minimize`] finds.
    pub(super) fn minimize(&self, start: Vec<f64>, steps: usize, tolerance: f64) -> Vec<f64> {
        minimize(&|x| self.value_and_gradient(x), start, steps, tolerance)
    }

    /// The objective and its gradient: `[parameters]`.
    pub(super) fn value_and_gradient(&self, parameters: &[f64]) -> (f64, Vec<f64>) {
        let Examples {
            rows,
            inputs,
            targets,
        } = self.examples;
        let count = targets.len().max(1) as f64;
        let sums: Vec<(f64, Vec<f64>)> = rows
            .par_chunks(CHUNK * inputs)
            .zip(targets.par_chunks(CHUNK))
            .map(|(rows, targets)| self.sum(parameters, rows, targets))
            .collect();
        let mut value = 0.0;
        let mut gradient = vec![0.0; parameters.len()];
        for (part, slopes) in &sums {
            value += part / count;
            for (sum, slope) in gradient.iter_mut().zip(slopes) {
                *sum += slope / count;
            }
        }
        for range in self.shape.weights(inputs) {
            for (slope, weight) in gradient[range.clone()].iter_mut().zip(&parameters[range]) {
                value += 0.5 * self.decay * weight * weight;
                *slope += self.decay * weight;
            }
        }
        (value, gradient)
    }

    /// The summed loss of some examples and its gradient.
    fn sum(&self, parameters: &[f64], rows: &[f64], targets: &[f64]) -> (f64, Vec<f64>) {
        let inputs = self.examples.inputs;
        let mut gradient = vec![0.0; parameters.len()];
        let mut units = Vec::new();
        let mut value = 0.0;
        for (row, &target) in rows.chunks_exact(inputs).zip(targets) {
            let logit = self.shape.logit(parameters, row, &mut units);
            let (loss, slope) = self.loss.of(logit, target);
            value += loss;
            match self.shape {
                Shape::Logistic | Shape::MeanDifference => {
                    add(&mut gradient[..inputs], row, slope);
                    gradient[inputs] += slope;
                }
                Shape::Mlp { hidden } => {
                    let last = &parameters[hidden * (inputs + 1)..];
                    let (weights, rest) = gradient.split_at_mut(hidden * inputs);
                    let (biases, outer) = rest.split_at_mut(hidden);
                    add(&mut outer[..hidden], &units, slope);
                    outer[hidden] += slope;
                    let layer = weights.chunks_exact_mut(inputs).zip(biases);
                    for ((weights, bias), (unit, last)) in layer.zip(units.iter().zip(last)) {
                        let inner = slope * last * (1.0 - unit * unit);
                        add(weights, row, inner);
                        *bias += inner;
                    }
                }
            }
        }
        (value, gradient)
    }
}

impl Shape {
    /// The ranges of the weights among the parameters.
    fn weights(self, inputs: usize) -> Vec<std::ops::Range<usize>> {
        match self {
            Self::Logistic | Self::MeanDifference => std::iter::once(0..inputs).collect(),
            Self::Mlp { hidden } => {
                let outer = hidden * (inputs + 1);
                vec![0..hidden * inputs, outer..outer + hidden]
            }
        }
    }
}

impl Loss {
    /// The loss at a logit and its slope there.
    pub(super) fn of(self, logit: f64, target: f64) -> (f64, f64) {
        let probability = logistic(logit);
        match self {
            // ln(1 + e^z) − y z, without overflow.
            Self::CrossEntropy => {
                let soft = logit.max(0.0) + (-logit.abs()).exp().ln_1p();
                (soft - target * logit, probability - target)
            }
            Self::Squared => {
                let miss = probability - target;
                (miss * miss, 2.0 * miss * probability * (1.0 - probability))
            }
        }
    }
}

/// Adds a multiple of one list to another.
fn add(sums: &mut [f64], values: &[f64], factor: f64) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += factor * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(inputs: usize, count: usize) -> (Vec<f64>, Vec<f64>) {
        let mut drawn = StdRng::seed_from_u64(11);
        let mut draw = || drawn.random_range(-1.0..1.0);
        let rows: Vec<f64> = (0..inputs * count).map(|_| draw()).collect();
        let targets = (0..count).map(|_| (draw() + 1.0) / 2.0).collect();
        (rows, targets)
    }

    #[test]
    fn the_gradient_matches_finite_differences() {
        const STEP: f64 = 1e-5;
        let (inputs, count) = (5, CHUNK + 7);
        let (rows, targets) = examples(inputs, count);
        for shape in [Shape::Logistic, Shape::Mlp { hidden: 3 }] {
            for loss in [Loss::CrossEntropy, Loss::Squared] {
                let objective = Objective {
                    shape,
                    loss,
                    examples: Examples {
                        rows: &rows,
                        inputs,
                        targets: &targets,
                    },
                    decay: 0.3,
                };
                let mut drawn = StdRng::seed_from_u64(5);
                let parameters: Vec<f64> = (0..shape.parameters(inputs))
                    .map(|_| drawn.random_range(-0.5..0.5))
                    .collect();
                let (_, gradient) = objective.value_and_gradient(&parameters);
                for (place, slope) in gradient.iter().enumerate() {
                    let value = |step: f64| {
                        let mut moved = parameters.clone();
                        moved[place] += step;
                        objective.value_and_gradient(&moved).0
                    };
                    let measured = (value(STEP) - value(-STEP)) / (2.0 * STEP);
                    assert!(
                        (slope - measured).abs() < 1e-8,
                        "{shape} {loss:?} {place}: {slope} {measured}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_logit_overflows() {
        for logit in [-1e6, -40.0, 0.0, 40.0, 1e6] {
            for loss in [Loss::CrossEntropy, Loss::Squared] {
                let (value, slope) = loss.of(logit, 1.0);
                assert!(value.is_finite() && slope.is_finite(), "{loss:?} {logit}");
            }
        }
        assert_eq!((logistic(-1e6), logistic(1e6)), (0.0, 1.0));
    }

    #[test]
    fn shapes_round_trip_through_text() {
        for text in ["logistic", "mlp:8"] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
        }
        assert_eq!("mlp".parse(), Ok(Shape::Mlp { hidden: HIDDEN }));
        for text in ["mlp:0", "mlp:x", "tree", "logistic:3"] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }
}
