//! The loss of training examples and its gradients.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

use crate::decoder::{Batch, Trainable};
use crate::error::TrainError;
use crate::optimizer::Gradients;
use crate::sequence::{Objective, Sequence};

/// How the losses of a step are averaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeanOver {
    /// Over the tokens with a loss; the mean over preferences is added.
    #[default]
    Tokens,
    /// Over examples of both kinds, regardless of their length.
    Examples,
}

/// Totals over examples.
#[derive(Default)]
struct Counted {
    examples: f64,
    pairs: f64,
    /// Tokens with a loss, and the sum of their weights.
    tokens: f64,
    weight: f64,
}

impl Counted {
    fn of(objectives: &[Objective]) -> Self {
        let mut counted = Self::default();
        for objective in objectives {
            counted.examples += 1.0;
            match objective {
                Objective::Imitate(sequence) => {
                    let learned = sequence.weights.iter().skip(1);
                    counted.weight += learned.map(|&w| f64::from(w)).sum::<f64>();
                    counted.tokens += sequence.learned() as f64;
                }
                Objective::Prefer { .. } => counted.pairs += 1.0,
            }
        }
        counted
    }
}

impl MeanOver {
    /// The mean weight of a token or example, over a whole set.
    pub(crate) fn mean_weight(self, set: &[Objective]) -> f64 {
        let counted = Counted::of(set);
        let (weight, count) = match self {
            Self::Tokens => (counted.weight, counted.tokens),
            Self::Examples => (counted.weight + counted.pairs, counted.examples),
        };
        if weight > 0.0 { weight / count } else { 1.0 }
    }

    /// The divisors of a step's losses, given the mean weight over the whole set. Dividing by the
    /// step's own weights would be wrong: in a step of few examples they cancel out.
    pub(crate) fn divisors(self, step: &[Objective], mean_weight: f64) -> Divisors {
        let counted = Counted::of(step);
        match self {
            Self::Tokens => Divisors {
                imitated: counted.tokens.max(1.0) * mean_weight,
                preferred: counted.pairs.max(1.0),
            },
            Self::Examples => {
                let both = counted.examples.max(1.0) * mean_weight;
                Divisors {
                    imitated: both,
                    preferred: both,
                }
            }
        }
    }
}

/// The divisors of summed losses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Divisors {
    /// For tokens.
    imitated: f64,
    /// For preferences.
    preferred: f64,
}

/// The loss of examples under the model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Loss {
    /// The sum of the weighted negative log-likelihoods of tokens.
    imitated: f64,
    /// The sum of the losses of preferences.
    preferred: f64,
}

impl Loss {
    pub(crate) fn mean(&self, by: Divisors) -> f64 {
        self.imitated / by.imitated + self.preferred / by.preferred
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.imitated += other.imitated;
        self.preferred += other.preferred;
    }
}

/// The log-probabilities of both sequences of a preference under the initial model.
pub(crate) type Reference = [f64; 2];

/// The loss of examples that are computed together, and, given the step's `divisors`, the gradients of
/// their part of the step's mean.
///
/// `references` holds one entry per example, `None` except for preferences.
pub(crate) fn measure(
    model: &Trainable,
    objectives: &[&Objective],
    references: &[Option<Reference>],
    divisors: Option<Divisors>,
    noise: Option<u64>,
) -> Result<(Loss, Gradients), TrainError> {
    let sequences: Vec<&Sequence> = objectives.iter().flat_map(|o| sequences_of(o)).collect();
    let (batch, of_sequence) = batch_of(&sequences);
    if batch.targets.is_empty() {
        return Ok((Loss::default(), Gradients::new()));
    }
    let log_probabilities = model.forward(&batch, noise)?;
    let mut loss = Loss::default();
    let mut terms = Vec::new();
    // The weighted log-probabilities of all targets, each times the factor of its sequence.
    let sum = |factor: &dyn Fn(usize) -> f64| -> Result<Tensor, TrainError> {
        let weights = of_sequence.iter().map(|&(s, w)| factor(s) * f64::from(w));
        let weights = Tensor::from_iter(weights, &model.device)?.to_dtype(model.dtype)?;
        Ok((&log_probabilities * weights)?.sum_all()?)
    };
    let mut imitated = vec![0.0; sequences.len()];
    let mut place = 0;
    for (objective, reference) in objectives.iter().zip(references) {
        match objective {
            Objective::Imitate(_) => {
                imitated[place] = 1.0;
                place += 1;
            }
            Objective::Prefer { beta, .. } => {
                let (chosen, rejected) = (place, place + 1);
                let difference = sum(&|sequence| match sequence {
                    s if s == chosen => 1.0,
                    s if s == rejected => -1.0,
                    _ => 0.0,
                })?;
                let [chosen, rejected] = reference.unwrap_or_default();
                let margin = ((difference - (chosen - rejected))? * *beta)?;
                // -log sigmoid(x) = softplus(-x), which is computed without overflow.
                let term = softplus(&margin.neg()?)?;
                loss.preferred += scalar(&term)?;
                if let Some(divisors) = divisors {
                    terms.push((term / divisors.preferred)?);
                }
                place += 2;
            }
        }
    }
    if imitated.iter().any(|&x| x > 0.0) {
        let negative = sum(&|sequence| -imitated[sequence])?;
        loss.imitated += scalar(&negative)?;
        if let Some(divisors) = divisors {
            terms.push((negative / divisors.imitated)?);
        }
    }
    Ok((loss, gradients_of(terms, model)?))
}

/// The gradients of a sum of scalars; none if there are no terms.
fn gradients_of(terms: Vec<Tensor>, model: &Trainable) -> Result<Gradients, TrainError> {
    let mut gradients = Gradients::new();
    let mut terms = terms.into_iter();
    if let Some(first) = terms.next() {
        let total = terms.try_fold(first, |sum, term| sum + term)?;
        let store = total.backward()?;
        for (name, variable) in &model.variables {
            if let Some(gradient) = store.get(variable) {
                gradients.insert(name.clone(), gradient.clone());
            }
        }
    }
    Ok(gradients)
}

fn scalar(tensor: &Tensor) -> Result<f64, TrainError> {
    Ok(tensor.to_dtype(DType::F64)?.to_scalar::<f64>()?)
}

/// The log-probabilities of a preference's two sequences.
pub(crate) fn reference(model: &Trainable, objective: &Objective) -> Result<Reference, TrainError> {
    let sequences = sequences_of(objective);
    let (batch, of_sequence) = batch_of(&sequences);
    let mut sums = [0.0; 2];
    if batch.targets.is_empty() {
        return Ok(sums);
    }
    let log_probabilities = model.forward(&batch, None)?.to_dtype(DType::F64)?;
    let numbers = log_probabilities.to_vec1::<f64>()?;
    for (&(sequence, weight), number) in of_sequence.iter().zip(numbers) {
        if let Some(sum) = sums.get_mut(sequence) {
            *sum += f64::from(weight) * number;
        }
    }
    Ok(sums)
}

/// `log(1 + exp(x))` of a scalar.
fn softplus(x: &Tensor) -> Result<Tensor, TrainError> {
    let tail = (x.abs()?.neg()?.exp()? + 1.0)?.log()?;
    Ok((x.relu()? + tail)?)
}

/// The sequences of an example.
pub(crate) fn sequences_of(objective: &Objective) -> Vec<&Sequence> {
    match objective {
        Objective::Imitate(sequence) => vec![sequence],
        Objective::Prefer { preference, .. } => vec![&preference.chosen, &preference.rejected],
    }
}

/// Sequences as one batch, with each target's sequence and weight.
fn batch_of(sequences: &[&Sequence]) -> (Batch, Vec<(usize, f32)>) {
    let mut batch = Batch::default();
    let mut of_sequence = Vec::new();
    for (index, sequence) in sequences.iter().enumerate() {
        let first = batch.tokens.len();
        let following = sequence.tokens.iter().zip(&sequence.weights).enumerate();
        for (place, (&token, &weight)) in following.skip(1) {
            if weight != 0.0 {
                batch.targets.push((first + place - 1, token));
                of_sequence.push((index, weight));
            }
        }
        // Tokens after the last one with a loss need not be computed.
        let read = batch.targets.last().map_or(0, |&(row, _)| row + 1);
        let read = read.saturating_sub(first).min(sequence.tokens.len());
        batch.tokens.extend_from_slice(&sequence.tokens[..read]);
        batch.lengths.push(read);
    }
    batch.lengths.retain(|&length| length > 0);
    (batch, of_sequence)
}

/// Adds gradients to a sum.
pub(crate) fn accumulate(sum: &mut Gradients, more: Gradients) -> Result<(), TrainError> {
    for (name, gradient) in more {
        let gradient = match sum.get(&name) {
            None => gradient,
            Some(so_far) => (so_far + gradient)?,
        };
        sum.insert(name, gradient);
    }
    Ok(())
}

/// References by the index of their example.
pub(crate) type References = BTreeMap<usize, Reference>;
