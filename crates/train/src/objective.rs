//! The loss of examples, and its gradients.

use std::collections::BTreeMap;

use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

use crate::decoder::{Batch, Trainable};
use crate::error::TrainError;
use crate::optimizer::Gradients;
use crate::sequence::{Objective, Sequence};

/// What the losses of examples are a mean over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MeanOver {
    /// Over the tokens with loss; the mean over preferences stands on top.
    #[default]
    Tokens,
    /// Over examples of either kind, however many tokens they have.
    Examples,
}

/// What examples are, all together.
#[derive(Default)]
struct Counted {
    examples: f64,
    pairs: f64,
    /// Tokens with loss, and their weights, of what is imitated.
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
    /// The mean weight of what is counted, over a whole set.
    pub(crate) fn mean_weight(self, set: &[Objective]) -> f64 {
        let counted = Counted::of(set);
        let (weight, count) = match self {
            Self::Tokens => (counted.weight, counted.tokens),
            Self::Examples => (counted.weight + counted.pairs, counted.examples),
        };
        if weight > 0.0 { weight / count } else { 1.0 }
    }

    /// By what the losses of a step's examples are divided, where what is counted weighs
    /// `mean_weight` over the whole set. By the step's own weights it would not do: where there are
    /// few examples in a step they cancel out, and all are learned alike.
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

/// By what sums of losses are divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Divisors {
    /// That of tokens.
    imitated: f64,
    /// That of preferences.
    preferred: f64,
}

/// What examples cost under the model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Loss {
    /// The weighted negative log-likelihood of tokens, summed.
    imitated: f64,
    /// The losses of preferences, summed.
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

/// The log probability of both sequences of a preference under the model that training began with.
pub(crate) type Reference = [f64; 2];

/// The loss of examples that are computed together; with the step's `divisors` the gradients of its
/// share of the step's mean too.
///
/// `references` holds one entry an example, `None` where it is no preference.
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
    let mut total: Option<Tensor> = None;
    let mut add = |term: Tensor| -> Result<(), TrainError> {
        total = Some(match &total {
            None => term,
            Some(sum) => (sum + term)?,
        });
        Ok(())
    };
    let weights_of = |wanted: &dyn Fn(usize) -> f64| -> Result<Tensor, TrainError> {
        let weights: Vec<f64> = of_sequence
            .iter()
            .map(|&(sequence, weight)| wanted(sequence) * f64::from(weight))
            .collect();
        Ok(
            Tensor::from_vec(weights, of_sequence.len(), model.device())?
                .to_dtype(model.dtype())?,
        )
    };
    let sum = |weights: &Tensor| -> Result<Tensor, TrainError> {
        Ok((&log_probabilities * weights)?.sum_all()?)
    };
    let scalar = |tensor: &Tensor| -> Result<f64, TrainError> {
        Ok(tensor.to_dtype(DType::F64)?.to_scalar::<f64>()?)
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
                let difference = sum(&weights_of(&|sequence| match sequence {
                    s if s == chosen => 1.0,
                    s if s == rejected => -1.0,
                    _ => 0.0,
                })?)?;
                let [chosen, rejected] = reference.unwrap_or_default();
                let margin = ((difference - (chosen - rejected))? * *beta)?;
                // -log sigmoid(x) = softplus(-x), which is computed without overflow.
                let term = softplus(&margin.neg()?)?;
                loss.preferred += scalar(&term)?;
                if let Some(divisors) = divisors {
                    add((term / divisors.preferred)?)?;
                }
                place += 2;
            }
        }
    }
    if imitated.iter().any(|&x| x > 0.0) {
        let negative = sum(&weights_of(&|sequence| -imitated[sequence])?)?;
        loss.imitated += scalar(&negative)?;
        if let Some(divisors) = divisors {
            add((negative / divisors.imitated)?)?;
        }
    }
    let mut gradients = Gradients::new();
    if let Some(total) = total {
        let store = total.backward()?;
        for (name, variable) in model.variables() {
            if let Some(gradient) = store.get(variable) {
                gradients.insert(name.clone(), gradient.clone());
            }
        }
    }
    Ok((loss, gradients))
}

/// The log probabilities of a preference's two sequences.
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

/// Sequences as one batch, and each target's sequence and weight.
fn batch_of(sequences: &[&Sequence]) -> (Batch, Vec<(usize, f32)>) {
    let mut batch = Batch {
        tokens: Vec::new(),
        lengths: Vec::new(),
        targets: Vec::new(),
    };
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
        // What stands behind the last token with loss teaches nothing.
        let read = batch.targets.last().map_or(0, |&(row, _)| row + 1);
        let read = read.saturating_sub(first).min(sequence.tokens.len());
        batch.tokens.extend_from_slice(&sequence.tokens[..read]);
        batch.lengths.push(read);
    }
    batch.lengths.retain(|&length| length > 0);
    (batch, of_sequence)
}

/// Adds gradients to others.
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

/// References by the place of an example.
pub(crate) type References = BTreeMap<usize, Reference>;
