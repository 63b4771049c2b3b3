//! The history of a training: one record per step and per validation.

use serde::{Deserialize, Serialize};

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Counted from 1.
    pub step: usize,
    /// The mean loss in nats, see [`crate::MeanOver`].
    pub loss: f64,
    /// The learning rate.
    pub learning_rate: f64,
    /// The Euclidean norm of all gradients, before they were clipped.
    pub gradient_norm: f64,
    /// Tokens processed, including those without loss.
    pub tokens: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// One validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidationRecord {
    /// The step after which it ran.
    pub step: usize,
    /// The mean loss, as in [`StepRecord`].
    pub loss: f64,
}

/// The history of a whole training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Its steps, in order.
    pub steps: Vec<StepRecord>,
    /// Its validations, in order.
    pub validations: Vec<ValidationRecord>,
}

impl History {
    /// Appends the history of a later training, renumbering its steps.
    pub fn then(&mut self, later: Self) {
        let done = self.steps.len();
        self.steps.extend(later.steps);
        self.steps[done..].iter_mut().for_each(|s| s.step += done);
        let validated = self.validations.len();
        self.validations.extend(later.validations);
        let later = self.validations[validated..].iter_mut();
        later.for_each(|validation| validation.step += done);
    }

    /// Tokens per second over all steps.
    pub fn tokens_per_second(&self) -> f64 {
        let tokens: usize = self.steps.iter().map(|step| step.tokens).sum();
        let seconds: f64 = self.steps.iter().map(|step| step.seconds).sum();
        match seconds > 0.0 {
            true => tokens as f64 / seconds,
            false => 0.0,
        }
    }

    /// The validation with the lowest loss; the earliest among equals.
    pub fn best(&self) -> Option<&ValidationRecord> {
        let less = |a: &&ValidationRecord, b: &&ValidationRecord| a.loss.total_cmp(&b.loss);
        self.validations.iter().min_by(less)
    }

    /// The number of validations since the best one.
    pub(crate) fn since_best(&self) -> usize {
        let best = self.best().map(|best| best.step);
        let later = |validation: &&ValidationRecord| Some(validation.step) > best;
        self.validations.iter().filter(later).count()
    }
}
