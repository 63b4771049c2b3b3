//! How a training went: one record a step, one a validation.

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
    /// Tokens read, those without loss included.
    pub tokens: usize,
    /// Seconds that it took.
    pub seconds: f64,
}

/// One validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidationRecord {
    /// The step that it followed.
    pub step: usize,
    /// The mean loss, as of a step.
    pub loss: f64,
}

/// A whole training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Its steps, in order.
    pub steps: Vec<StepRecord>,
    /// Its validations, in order.
    pub validations: Vec<ValidationRecord>,
}

impl History {
    /// Puts another training behind this one, whose steps are counted on.
    pub fn then(&mut self, later: Self) {
        let done = self.steps.len();
        self.steps
            .extend(later.steps.into_iter().map(|step| StepRecord {
                step: step.step + done,
                ..step
            }));
        let validations = later.validations.into_iter();
        self.validations
            .extend(validations.map(|one| ValidationRecord {
                step: one.step + done,
                ..one
            }));
    }

    /// Tokens a second over all steps.
    #[must_use]
    pub fn tokens_per_second(&self) -> f64 {
        let tokens: usize = self.steps.iter().map(|step| step.tokens).sum();
        let seconds: f64 = self.steps.iter().map(|step| step.seconds).sum();
        if seconds > 0.0 {
            tokens as f64 / seconds
        } else {
            0.0
        }
    }

    /// The validation with the least loss; the first of several.
    #[must_use]
    pub fn best(&self) -> Option<&ValidationRecord> {
        let less = |a: &&ValidationRecord, b: &&ValidationRecord| a.loss.total_cmp(&b.loss);
        self.validations.iter().min_by(less)
    }

    /// How many validations have passed since the best.
    pub(crate) fn since_best(&self) -> usize {
        let best = self.best().map(|best| best.step);
        let later = |validation: &&ValidationRecord| Some(validation.step) > best;
        self.validations.iter().filter(later).count()
    }
}
