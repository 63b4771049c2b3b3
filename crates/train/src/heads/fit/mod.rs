//! Learning a head from examples: standardized vectors, weights held back as strongly as serves
//! examples best that were not learned from, and those examples' scores for whoever wants to judge
//! or to calibrate.

use std::ops::{ControlFlow, Range};

use ken_route::{BadNetwork, Layer, Network};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::calibrate::{Line, line};
use super::minimize::minimize;
use super::objective::{Examples, Loss, Objective, Shape};

/// Parts of cross-fitting: each is scored by a head that was learned from the others.
const FOLDS: usize = 5;

/// How strongly weights may be held back, the strongest first. Two layers are drawn to zero together
/// from some strength on, which one layer is not, so that their strengths lie closer together.
const DECAYS_OF_ONE: [f64; 8] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001];
const DECAYS_OF_TWO: [f64; 8] = [0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.01];

/// Of each class, or in all where there are none, so many examples have to be there.
const LEAST: usize = 10;

/// Steps of a search at most, and the slope that counts as flat.
const STEPS: usize = 200;
const FLAT: f64 = 1e-5;

/// How a head is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadOptions {
    /// What it looks like inside.
    pub shape: Shape,
    /// The seed of the parts and of first weights.
    pub seed: u64,
}

/// Is told how many of how many searches for weights are done, after each, and says whether to go on.
pub type Watch<'a> = &'a mut dyn FnMut(usize, usize) -> ControlFlow<()>;

/// A learned head.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Ready to be applied to vectors as they are.
    pub network: Network,
    /// How strongly the weights were held back.
    pub decay: f64,
    /// Mean loss on examples that were not learned from: cross entropy in nats before calibration,
    /// or the squared error. The smaller, the better.
    pub loss: f64,
}

/// Why no head can be learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// There are too few examples.
    #[error("there are {received} labels; at least {needed} are needed")]
    TooFew {
        /// How many there are.
        received: usize,
        /// How many are needed.
        needed: usize,
    },
    /// All examples, or nearly all, have one label.
    #[error(
        "{received} of {examples} labels are of one class; at least {needed} of each are needed"
    )]
    OneClass {
        /// How many there are of the rarer class.
        received: usize,
        /// Examples.
        examples: usize,
        /// How many are needed.
        needed: usize,
    },
    /// All labels are the same number.
    #[error("all {examples} labels are the same number, from which nothing can be learned")]
    OneValue {
        /// Examples.
        examples: usize,
    },
    /// It was to go on no further.
    #[error("stopped before it was learned")]
    Interrupted,
    /// The vectors are not as many as the labels, or not of one length.
    #[error("vectors and labels do not fit each other")]
    Shapes,
    /// A vector or a label is not finite, or a label lies outside of `[0, 1]`.
    #[error("a number of example {example} is not finite, or its label not between 0 and 1")]
    Number {
        /// Counted from 0.
        example: usize,
    },
    /// What was learned is no network.
    #[error("what was learned cannot be used: {0}")]
    Network(#[from] BadNetwork),
}

/// Learns the probability that a label is true.
///
/// # Shapes
/// `vectors`: `[examples][inputs]`; `labels`: `[examples]`.
///
/// # Errors
/// Fewer than ten labels of one class, vectors that do not fit or are not finite, a `watch` that ended
/// it.
pub fn classify(
    vectors: &[&[f32]],
    labels: &[bool],
    options: HeadOptions,
    watch: Watch<'_>,
) -> Result<Fitted, HeadError> {
    let examples = labels.len();
    let positive = labels.iter().filter(|&&label| label).count();
    let rarer = positive.min(examples - positive);
    if examples < 2 * LEAST {
        return Err(HeadError::TooFew {
            received: examples,
            needed: 2 * LEAST,
        });
    }
    if rarer < LEAST {
        return Err(HeadError::OneClass {
            received: rarer,
            examples,
            needed: LEAST,
        });
    }
    let targets: Vec<f64> = labels
        .iter()
        .map(|&label| f64::from(u8::from(label)))
        .collect();
    let learned = learn(vectors, &targets, Loss::CrossEntropy, options, watch)?;
    let honest = line(&learned.cross_fitted, labels);
    learned.fitted(options.shape, honest)
}

/// Learns a number in `[0, 1]` by its squared error (Zero-RAG, Eq. 4).
///
/// # Shapes
/// `vectors`: `[examples][inputs]`; `targets`: `[examples]`.
///
/// # Errors
/// Fewer than twenty labels or all the same, labels outside of `[0, 1]`, vectors that do not fit or
/// are not finite, a `watch` that ended it.
pub fn regress(
    vectors: &[&[f32]],
    targets: &[f64],
    options: HeadOptions,
    watch: Watch<'_>,
) -> Result<Fitted, HeadError> {
    let examples = targets.len();
    if examples < 2 * LEAST {
        return Err(HeadError::TooFew {
            received: examples,
            needed: 2 * LEAST,
        });
    }
    if targets.iter().all(|target| *target == targets[0]) {
        return Err(HeadError::OneValue { examples });
    }
    let learned = learn(vectors, targets, Loss::Squared, options, watch)?;
    let as_it_is = Line {
        slope: 1.0,
        shift: 0.0,
    };
    learned.fitted(options.shape, as_it_is)
}

/// What was learned from all examples.
struct Learned {
    standard: Standard,
    parameters: Vec<f64>,
    decay: f64,
    loss: f64,
    /// The logit of each example by a head that was not learned from it.
    cross_fitted: Vec<f64>,
}

fn learn(
    vectors: &[&[f32]],
    targets: &[f64],
    loss: Loss,
    options: HeadOptions,
    watch: Watch<'_>,
) -> Result<Learned, HeadError> {
    let inputs = check(vectors, targets)?;
    let standard = Standard::of(vectors, inputs);
    let rows = standard.rows(vectors);
    let folds = folds(targets, options.seed);
    let decays = decays(options.shape);
    let total = (FOLDS + 1) * decays.len();
    let mut done = 0;
    let mut step = || {
        done += 1;
        match watch(done.min(total), total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(HeadError::Interrupted),
        }
    };
    let mut logits = vec![vec![0.0; targets.len()]; decays.len()];
    for fold in 0..FOLDS {
        let of_others: Vec<usize> = (0..targets.len()).filter(|&at| folds[at] != fold).collect();
        let mut others = Vec::with_capacity(of_others.len() * inputs);
        for &at in &of_others {
            others.extend_from_slice(&rows[at * inputs..(at + 1) * inputs]);
        }
        let targets: Vec<f64> = of_others.iter().map(|&at| targets[at]).collect();
        let examples = Examples {
            rows: &others,
            inputs,
            targets: &targets,
        };
        let found = path(examples, loss, options, 0..decays.len(), &mut step)?;
        for (decay, parameters) in found.into_iter().enumerate() {
            let mut units = Vec::new();
            for at in (0..folds.len()).filter(|&at| folds[at] == fold) {
                let row = &rows[at * inputs..(at + 1) * inputs];
                logits[decay][at] = options.shape.logit(&parameters, row, &mut units);
            }
        }
    }
    let losses: Vec<f64> = logits
        .iter()
        .map(|logits| {
            let each = logits.iter().zip(targets);
            each.map(|(&logit, &target)| loss.of(logit, target).0)
                .sum::<f64>()
                / targets.len() as f64
        })
        .collect();
    // The strongest of equals.
    let mut best = 0;
    for (at, loss) in losses.iter().enumerate() {
        if *loss < losses[best] {
            best = at;
        }
    }
    let examples = Examples {
        rows: &rows,
        inputs,
        targets,
    };
    // One layer is led there by the strengths before.
    let led_by = match options.shape {
        Shape::Logistic => 0..best + 1,
        Shape::Mlp { .. } => best..best + 1,
    };
    let found = path(examples, loss, options, led_by, &mut step)?;
    let parameters = found.into_iter().next_back().unwrap_or_default();
    Ok(Learned {
        standard,
        parameters,
        decay: decays[best],
        loss: losses[best],
        cross_fitted: logits.swap_remove(best),
    })
}

/// How strongly the weights of a head may be held back.
fn decays(shape: Shape) -> &'static [f64] {
    match shape {
        Shape::Logistic => &DECAYS_OF_ONE,
        Shape::Mlp { .. } => &DECAYS_OF_TWO,
    }
}

/// The parameters at some of [`decays`]. `step` is called after each, and may end it.
fn path(
    examples: Examples<'_>,
    loss: Loss,
    options: HeadOptions,
    of: Range<usize>,
    step: &mut dyn FnMut() -> Result<(), HeadError>,
) -> Result<Vec<Vec<f64>>, HeadError> {
    let mut at = options.shape.start(examples.inputs, options.seed);
    let each = decays(options.shape)[of].iter().map(|&decay| {
        let objective = Objective {
            shape: options.shape,
            loss,
            examples,
            decay,
        };
        // One layer goes on from the strength before. Two would be stuck where all units are alike.
        let start = match options.shape {
            Shape::Logistic => at.clone(),
            Shape::Mlp { .. } => options.shape.start(examples.inputs, options.seed),
        };
        at = minimize(&|at| objective.value_and_gradient(at), start, STEPS, FLAT);
        step()?;
        Ok(at.clone())
    });
    each.collect()
}

/// The part that each example belongs to. Every part has its share of low and of high targets.
fn folds(targets: &[f64], seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.shuffle(&mut StdRng::seed_from_u64(seed));
    order.sort_by(|&one, &other| targets[one].total_cmp(&targets[other]));
    let mut folds = vec![0; targets.len()];
    for (place, at) in order.into_iter().enumerate() {
        folds[at] = place % FOLDS;
    }
    folds
}

/// The length of the vectors, if all of them have it and all numbers are what they must be.
fn check(vectors: &[&[f32]], targets: &[f64]) -> Result<usize, HeadError> {
    let inputs = vectors.first().map_or(0, |vector| vector.len());
    let fits = vectors.len() == targets.len() && inputs > 0;
    if !fits || vectors.iter().any(|vector| vector.len() != inputs) {
        return Err(HeadError::Shapes);
    }
    let sound = |(vector, target): (&&[f32], &f64)| {
        (0.0..=1.0).contains(target) && vector.iter().all(|number| number.is_finite())
    };
    match vectors
        .iter()
        .zip(targets)
        .position(|example| !sound(example))
    {
        Some(example) => Err(HeadError::Number { example }),
        None => Ok(inputs),
    }
}

/// Mean and spread of each number of a vector.
struct Standard {
    center: Vec<f32>,
    scale: Vec<f32>,
}

impl Standard {
    fn of(vectors: &[&[f32]], inputs: usize) -> Self {
        let count = vectors.len() as f64;
        let mut center = vec![0.0; inputs];
        for vector in vectors {
            for (sum, &number) in center.iter_mut().zip(*vector) {
                *sum += f64::from(number) / count;
            }
        }
        let mut variance = vec![0.0; inputs];
        for vector in vectors {
            for ((sum, &number), center) in variance.iter_mut().zip(*vector).zip(&center) {
                *sum += (f64::from(number) - center).powi(2) / count;
            }
        }
        // What hardly varies tells nothing, and must not be blown up.
        let scale = variance.iter().zip(&center).map(|(variance, center)| {
            let spread = variance.sqrt();
            if spread > 1e-6 * center.abs().max(1e-6) {
                (1.0 / spread) as f32
            } else {
                0.0
            }
        });
        Self {
            scale: scale.collect(),
            center: center.iter().map(|&number| number as f32).collect(),
        }
    }

    /// `[examples, inputs]`, row by row.
    fn rows(&self, vectors: &[&[f32]]) -> Vec<f64> {
        let each = vectors.iter().flat_map(|vector| {
            let numbers = vector.iter().zip(&self.center).zip(&self.scale);
            numbers.map(|((x, center), scale)| f64::from((x - center) * scale))
        });
        each.collect()
    }
}

impl Learned {
    /// The network whose logits lie on a line.
    fn fitted(self, shape: Shape, Line { slope, shift }: Line) -> Result<Fitted, HeadError> {
        let inputs = self.standard.center.len();
        let outer = match shape {
            Shape::Logistic => 0,
            Shape::Mlp { hidden } => hidden * (inputs + 1),
        };
        let (inner, last) = self.parameters.split_at(outer);
        let numbers = |list: &[f64]| {
            list.iter()
                .map(|&number| number as f32)
                .collect::<Vec<f32>>()
        };
        let mut layers = Vec::new();
        if let Shape::Mlp { hidden } = shape {
            let (weights, bias) = inner.split_at(hidden * inputs);
            layers.push(Layer {
                weights: numbers(weights),
                bias: numbers(bias),
            });
        }
        let (weights, bias) = last.split_at(last.len() - 1);
        let weights: Vec<f64> = weights.iter().map(|weight| slope * weight).collect();
        layers.push(Layer {
            weights: numbers(&weights),
            bias: numbers(&[slope * bias[0] + shift]),
        });
        Ok(Fitted {
            network: Network::new(self.standard.center, self.standard.scale, layers)?,
            decay: self.decay,
            loss: self.loss,
        })
    }
}

#[cfg(test)]
mod tests;
