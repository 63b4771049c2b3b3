//! Fits a head: standardizes the vectors, chooses the L2 penalty by cross-fitting, and returns the
//! out-of-fold scores for calibration.

use std::ops::{ControlFlow, Range};

use ken_policy::{BadNetwork, Layer, Network};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::calibrate::{Line, line};
use super::mean_difference::mean_difference;
use super::objective::{Examples, Loss, Objective, Shape};

/// Folds of cross-fitting: each is scored by a head trained on the others.
const FOLDS: usize = 5;

/// The candidate L2 penalties, strongest first. Two layers collapse to zero together beyond some penalty, one layer
/// does not, so the range of two is narrower.
const DECAYS_OF_ONE: [f64; 8] = [10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001];
const DECAYS_OF_TWO: [f64; 8] = [0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.01];

/// For a head with a closed form.
const NO_DECAY: [f64; 1] = [0.0];

/// The fewest examples of each class; in a regression, half of the fewest in all.
const LEAST: usize = 10;

/// The most iterations of a minimization, and the gradient tolerance at which it ends.
const STEPS: usize = 200;
const TOLERANCE: f64 = 1e-5;

/// The options of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadOptions {
    /// The architecture.
    pub shape: Shape,
    /// The seed of the folds and of initial weights.
    pub seed: u64,
}

/// Called after each minimization with the number done and the total; may cancel.
pub type Watch<'a> = &'a mut dyn FnMut(usize, usize) -> ControlFlow<()>;

/// A fitted head.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Takes unstandardized vectors.
    pub network: Network,
    /// The chosen L2 penalty.
    pub decay: f64,
    /// The mean out-of-fold loss: cross entropy in nats before calibration, or the squared error. Lower is better.
    pub loss: f64,
}

/// Why fitting a head failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum HeadError {
    #[error("at least {needed} labels are needed, and there are too few: {received}")]
    TooFew { received: usize, needed: usize },
    #[error(
        "{received} of {examples} labels are of one class; at least {needed} of each are needed"
    )]
    OneClass {
        received: usize,
        examples: usize,
        needed: usize,
    },
    #[error("a difference of means is of two classes, and these labels are numbers")]
    NotClasses,
    #[error("all {examples} labels are the same number, so nothing can be learned")]
    OneValue { examples: usize },
    #[error("cancelled before it was fitted")]
    Interrupted,
    #[error("the vectors and labels differ in number, or the vectors in length")]
    Shapes,
    /// `example` counts from 0.
    #[error("example {example} has a number that is not finite or a label outside of [0, 1]")]
    Number { example: usize },
    #[error("the fitted head cannot be used: {0}")]
    Network(#[from] BadNetwork),
}

/// Fits the probability that a label is true.
///
/// # Shapes
/// `vectors`: `[examples][inputs]`; `labels`: `[examples]`.
///
/// # Errors
/// Fewer than ten labels of a class, vectors of the wrong shape or not finite, cancellation by `watch`.
pub fn classify(
    vectors: &[&[f32]],
    labels: &[bool],
    options: HeadOptions,
    watch: Watch<'_>,
) -> Result<Fitted, HeadError> {
    let examples = labels.len();
    let positive = labels.iter().filter(|&&label| label).count();
    let rarer = positive.min(examples - positive);
    enough(examples)?;
    if rarer < LEAST {
        return Err(HeadError::OneClass {
            received: rarer,
            examples,
            needed: LEAST,
        });
    }
    let targets = labels.iter().map(|&label| f64::from(u8::from(label)));
    let targets: Vec<f64> = targets.collect();
    let learned = learn(vectors, &targets, Loss::CrossEntropy, options, watch)?;
    let calibrated = line(&learned.out_of_fold, labels);
    learned.fitted(options.shape, calibrated)
}

/// Fits a number in `[0, 1]` by its squared error (Zero-RAG, Eq. 4).
///
/// # Shapes
/// `vectors`: `[examples][inputs]`; `targets`: `[examples]`.
///
/// # Errors
/// Fewer than twenty targets or all of them equal, targets outside of `[0, 1]`, vectors of the wrong shape or not
/// finite, cancellation by `watch`.
pub fn regress(
    vectors: &[&[f32]],
    targets: &[f64],
    options: HeadOptions,
    watch: Watch<'_>,
) -> Result<Fitted, HeadError> {
    let examples = targets.len();
    enough(examples)?;
    if targets.iter().all(|target| *target == targets[0]) {
        return Err(HeadError::OneValue { examples });
    }
    if options.shape == Shape::MeanDifference {
        return Err(HeadError::NotClasses);
    }
    let learned = learn(vectors, targets, Loss::Squared, options, watch)?;
    let identity = Line {
        slope: 1.0,
        shift: 0.0,
    };
    learned.fitted(options.shape, identity)
}

/// Refuses fewer examples than two classes need.
fn enough(received: usize) -> Result<(), HeadError> {
    let needed = 2 * LEAST;
    match received < needed {
        true => Err(HeadError::TooFew { received, needed }),
        false => Ok(()),
    }
}

/// A head trained on all examples.
struct Learned {
    standard: Standard,
    parameters: Vec<f64>,
    decay: f64,
    loss: f64,
    /// The logit of each example, by a head that was not trained on it.
    out_of_fold: Vec<f64>,
}

fn learn(
    vectors: &[&[f32]],
    targets: &[f64],
    loss: Loss,
    options: HeadOptions,
    watch: Watch<'_>,
) -> Result<Learned, HeadError> {
    let inputs = check(vectors, targets)?;
    let mut standard = Standard::of(vectors, inputs);
    if options.shape == Shape::MeanDifference {
        standard.keep_scale();
    }
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
    let examples = Examples {
        rows: &rows,
        inputs,
        targets,
    };
    let mut logits = out_of_fold(examples, &folds, loss, options, &mut step)?;
    let losses: Vec<f64> = logits
        .iter()
        .map(|logits| {
            let pairs = logits.iter().zip(targets);
            let losses = pairs.map(|(&logit, &target)| loss.of(logit, target).0);
            losses.sum::<f64>() / targets.len() as f64
        })
        .collect();
    // The strongest of equally good penalties.
    let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let best = best.unwrap_or(0);
    // One layer is warm-started along the stronger penalties.
    let penalties = match options.shape {
        Shape::Logistic => 0..best + 1,
        Shape::Mlp { .. } | Shape::MeanDifference => best..best + 1,
    };
    let heads = path(examples, loss, options, penalties, &mut step)?;
    let parameters = heads.into_iter().next_back().unwrap_or_default();
    Ok(Learned {
        standard,
        parameters,
        decay: decays[best],
        loss: losses[best],
        out_of_fold: logits.swap_remove(best),
    })
}

/// For each of [`decays`], the logit of each example by a head that was not trained on its fold.
fn out_of_fold(
    examples: Examples<'_>,
    folds: &[usize],
    loss: Loss,
    options: HeadOptions,
    step: &mut dyn FnMut() -> Result<(), HeadError>,
) -> Result<Vec<Vec<f64>>, HeadError> {
    let row = |index: usize| &examples.rows[index * examples.inputs..(index + 1) * examples.inputs];
    let decays = decays(options.shape).len();
    let mut logits = vec![vec![0.0; folds.len()]; decays];
    for fold in 0..FOLDS {
        let of_others: Vec<usize> = (0..folds.len()).filter(|&i| folds[i] != fold).collect();
        let rows: Vec<f64> = of_others.iter().flat_map(|&i| row(i)).copied().collect();
        let targets: Vec<f64> = of_others.iter().map(|&i| examples.targets[i]).collect();
        let others = Examples {
            rows: &rows,
            targets: &targets,
            ..examples
        };
        let heads = path(others, loss, options, 0..decays, step)?;
        for (logits, parameters) in logits.iter_mut().zip(heads) {
            let mut units = Vec::new();
            for index in (0..folds.len()).filter(|&index| folds[index] == fold) {
                logits[index] = options.shape.logit(&parameters, row(index), &mut units);
            }
        }
    }
    Ok(logits)
}

/// The candidate L2 penalties of a head.
fn decays(shape: Shape) -> &'static [f64] {
    match shape {
        Shape::Logistic => &DECAYS_OF_ONE,
        Shape::MeanDifference => &NO_DECAY,
        Shape::Mlp { .. } => &DECAYS_OF_TWO,
    }
}

/// The parameters at a range of [`decays`]. `step` is called after each, and may cancel.
fn path(
    examples: Examples<'_>,
    loss: Loss,
    options: HeadOptions,
    of: Range<usize>,
    step: &mut dyn FnMut() -> Result<(), HeadError>,
) -> Result<Vec<Vec<f64>>, HeadError> {
    let mut parameters = options.shape.start(examples.inputs, options.seed);
    let path = decays(options.shape)[of].iter().map(|&decay| {
        let objective = Objective {
            shape: options.shape,
            loss,
            examples,
            decay,
        };
        if let Shape::Mlp { .. } = options.shape {
            // One layer continues from the previous penalty. Two could not leave the collapsed state.
            parameters = options.shape.start(examples.inputs, options.seed);
        }
        parameters = match options.shape {
            Shape::MeanDifference => mean_difference(examples),
            _ => objective.minimize(parameters.clone(), STEPS, TOLERANCE),
        };
        step()?;
        Ok(parameters.clone())
    });
    path.collect()
}

/// The fold of each example, stratified by target.
fn folds(targets: &[f64], seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.shuffle(&mut StdRng::seed_from_u64(seed));
    order.sort_by(|&a, &b| targets[a].total_cmp(&targets[b]));
    let mut folds = vec![0; targets.len()];
    for (place, example) in order.into_iter().enumerate() {
        folds[example] = place % FOLDS;
    }
    folds
}

/// The common length of the vectors, after checking all numbers.
fn check(vectors: &[&[f32]], targets: &[f64]) -> Result<usize, HeadError> {
    let inputs = vectors.first().map_or(0, |vector| vector.len());
    let fits = vectors.len() == targets.len() && inputs > 0;
    if !fits || vectors.iter().any(|vector| vector.len() != inputs) {
        return Err(HeadError::Shapes);
    }
    let sound = |(vector, target): (&&[f32], &f64)| {
        (0.0..=1.0).contains(target) && vector.iter().all(|number| number.is_finite())
    };
    let mut examples = vectors.iter().zip(targets);
    match examples.position(|example| !sound(example)) {
        Some(example) => Err(HeadError::Number { example }),
        None => Ok(inputs),
    }
}

/// The mean and inverse standard deviation of each dimension.
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
        // A nearly constant dimension carries no information, and scaling it would amplify noise.
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

    /// Gives all dimensions that vary the same scale as before: the difference of means is a direction among the
    /// unscaled vectors.
    fn keep_scale(&mut self) {
        for scale in self.scale.iter_mut().filter(|scale| **scale > 0.0) {
            *scale = 1.0;
        }
    }

    /// `[examples, inputs]`, row by row.
    fn rows(&self, vectors: &[&[f32]]) -> Vec<f64> {
        let numbers = vectors.iter().flat_map(|vector| {
            let numbers = vector.iter().zip(&self.center).zip(&self.scale);
            numbers.map(|((x, center), scale)| f64::from((x - center) * scale))
        });
        numbers.collect()
    }
}

impl Learned {
    /// The network with the affine map folded into its last layer.
    fn fitted(self, shape: Shape, Line { slope, shift }: Line) -> Result<Fitted, HeadError> {
        let inputs = self.standard.center.len();
        let outer = match shape {
            Shape::Logistic | Shape::MeanDifference => 0,
            Shape::Mlp { hidden } => hidden * (inputs + 1),
        };
        let (inner, last) = self.parameters.split_at(outer);
        let numbers = |list: &[f64]| list.iter().map(|&x| x as f32).collect::<Vec<f32>>();
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
