//! The training loop: steps over examples, validation, early stopping, checkpoints.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batches::{passes, places, steps_in_epoch, tokens};
use crate::checkpoint::{self, State};
use crate::decoder::{Trainable, seed_of};
use crate::error::TrainError;
use crate::freed;
use crate::history::{History, StepRecord, ValidationRecord};
use crate::objective::{Loss, MeanOver, Reference, accumulate, measure, reference, sequences_of};
use crate::optimizer::{AdamW, Gradients, Moments, norm};
use crate::schedule::Schedule;
use crate::sequence::Objective;

/// How a training goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainSettings {
    /// How often all examples are seen.
    pub epochs: f64,
    /// Examples a step.
    pub batch: usize,
    /// Tokens that are computed together at most; a step of more adds up gradients.
    pub tokens_per_pass: usize,
    /// What a step's loss is a mean over.
    pub mean_over: MeanOver,
    /// The learning rate by step.
    pub schedule: Schedule,
    /// What matrices shrink by in each step, times the learning rate.
    pub weight_decay: f64,
    /// Gradients of a greater norm are shortened to this one; none where 0.
    pub clip: f64,
    /// Steps between validations; 0 for one an epoch.
    pub validate_every: usize,
    /// Training ends after so many validations in a row without a lower loss; never where 0.
    pub patience: usize,
    /// Steps between checkpoints.
    pub checkpoint_every: usize,
    /// The seed of the order and of all that is dropped.
    pub seed: u64,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            epochs: 1.0,
            batch: 16,
            tokens_per_pass: 4096,
            mean_over: MeanOver::Tokens,
            schedule: Schedule {
                peak: 3e-4,
                warm_up: 0.03,
                floor: 0.1,
            },
            weight_decay: 0.0,
            clip: 1.0,
            validate_every: 0,
            patience: 0,
            checkpoint_every: 50,
            seed: 0,
        }
    }
}

impl TrainSettings {
    /// Refuses what no training could go by, before anything is computed.
    ///
    /// # Errors
    /// A setting out of its range.
    pub fn check(&self) -> Result<(), TrainError> {
        let refuse = |setting, received: f64, expected| {
            Err(TrainError::Setting {
                setting,
                received: received.to_string(),
                expected,
            })
        };
        let positive = |x: f64| x.is_finite() && x > 0.0;
        if !positive(self.epochs) {
            return refuse("epochs", self.epochs, "a positive number");
        }
        if !positive(self.schedule.peak) {
            return refuse("learning rate", self.schedule.peak, "a positive number");
        }
        if self.batch == 0 {
            return refuse("batch", 0.0, "at least 1");
        }
        for (setting, share) in [
            ("warm-up", self.schedule.warm_up),
            ("floor", self.schedule.floor),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(setting, share, "a share from 0 to 1");
            }
        }
        if !(self.clip >= 0.0 && self.weight_decay >= 0.0) {
            return refuse("clip or weight decay", self.clip, "0 or more");
        }
        Ok(())
    }
}

/// What is learned from.
pub enum Examples<'a> {
    /// Examples that are seen again and again.
    Set(&'a [Objective]),
    /// Examples that are made for each step, by a function of the step alone.
    Stream {
        /// Steps in all.
        steps: usize,
        /// What tells these examples from others.
        identity: String,
        /// The examples of a step, counted from 0.
        at: &'a dyn Fn(usize) -> Vec<Objective>,
    },
}

impl Examples<'_> {
    fn steps(&self, settings: &TrainSettings) -> usize {
        match self {
            Self::Set(examples) => {
                let steps = settings.epochs * steps_in_epoch(examples.len(), settings.batch) as f64;
                (steps.round() as usize).max(1)
            }
            Self::Stream { steps, .. } => *steps,
        }
    }

    /// The examples of a step, with their places in the set.
    fn at(&self, step: usize, settings: &TrainSettings) -> Vec<(usize, Objective)> {
        match self {
            Self::Set(examples) => places(step, examples.len(), settings.batch, settings.seed)
                .into_iter()
                .map(|place| (place, examples[place].clone()))
                .collect(),
            Self::Stream { at, .. } => at(step).into_iter().enumerate().collect(),
        }
    }

    /// The mean weight of what a step's loss is a mean over; that of a stream's examples is 1.
    fn mean_weight(&self, settings: &TrainSettings) -> f64 {
        match self {
            Self::Set(examples) => settings.mean_over.mean_weight(examples),
            Self::Stream { .. } => 1.0,
        }
    }

    fn identity(&self) -> String {
        match self {
            Self::Set(examples) => identity_of(examples),
            Self::Stream { identity, .. } => identity.clone(),
        }
    }
}

/// Tells examples from others.
fn identity_of(examples: &[Objective]) -> String {
    let texts: Vec<String> = examples
        .iter()
        .map(|objective| {
            let parts: Vec<String> = sequences_of(objective)
                .iter()
                .map(|s| format!("{:?}{:?}", s.tokens, s.weights))
                .collect();
            let kind = match objective {
                Objective::Imitate(_) => "imitate".to_owned(),
                Objective::Prefer { beta, .. } => format!("prefer by {beta}"),
            };
            format!("{kind} {}", parts.join("/"))
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    ken_language::fingerprint_of_texts(&texts)
}

/// What is told while training goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A training is gone on with after so many steps.
    Resumed {
        /// Steps done before.
        step: usize,
    },
    /// What the model thinks of preferences before it is trained.
    References {
        /// Those that are done.
        done: usize,
        /// All.
        all: usize,
    },
    /// A step is done.
    Step {
        /// What it was like.
        record: &'a StepRecord,
        /// Steps in all.
        steps: usize,
    },
    /// A validation is done.
    Validated(&'a ValidationRecord),
}

/// How a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// After its last step.
    Finished,
    /// The loss of validation fell no more.
    Converged,
    /// Whoever asked for it had it stop; it can be gone on with.
    Stopped,
}

/// Trains a model. With `checkpoint`, a training that was broken off goes on there as if it had not
/// been: every step is the same to the last bit. Where there is validation, the model ends with what
/// it had learned at the best one.
///
/// # Errors
/// Nothing with loss, a sequence that is too long, settings out of range, a checkpoint of another
/// training, a loss that is no number, files that cannot be written.
pub fn train(
    model: &Trainable,
    examples: &Examples<'_>,
    validation: &[Objective],
    settings: &TrainSettings,
    checkpoint: Option<&PathBuf>,
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(Outcome, History), TrainError> {
    settings.check()?;
    freed::keep();
    if let Examples::Set(examples) = examples {
        check(model, examples)?;
    }
    check_lengths(model, validation)?;
    let identity = ken_language::fingerprint_of_texts(&[
        model.base(),
        &format!("{:?}", model.tuning()),
        &format!("{settings:?}"),
        &examples.identity(),
        &identity_of(validation),
    ]);
    let mean_weight = examples.mean_weight(settings);
    let mut training = Training::begin(model, identity, mean_weight, checkpoint)?;
    let steps = examples.steps(settings);
    let validate_every = match (settings.validate_every, examples) {
        (0, Examples::Set(examples)) => steps_in_epoch(examples.len(), settings.batch),
        (0, Examples::Stream { .. }) => steps,
        (every, _) => every,
    };
    if training.state.step > 0 {
        let step = training.state.step;
        if on(Progress::Resumed { step }).is_break() {
            return Ok((Outcome::Stopped, training.state.history));
        }
    }
    let every = settings.checkpoint_every.max(1);
    if training
        .refer(examples, validation, every, checkpoint, on)?
        .is_break()
    {
        return Ok((Outcome::Stopped, training.state.history));
    }
    while training.state.step < steps {
        if settings.patience > 0 && training.state.history.since_best() >= settings.patience {
            training.keep_best()?;
            return Ok((Outcome::Converged, training.state.history));
        }
        let record = training.step(examples, settings, steps)?;
        let told = on(Progress::Step {
            record: &record,
            steps,
        });
        training.state.history.steps.push(record);
        let step = training.state.step;
        if !validation.is_empty() && (step.is_multiple_of(validate_every) || step == steps) {
            let record = training.validate(examples, validation, settings)?;
            let _ = on(Progress::Validated(&record));
        }
        let stopped = told.is_break() && step < steps;
        if stopped || step.is_multiple_of(every) || step == steps {
            training.save(checkpoint)?;
        }
        if stopped {
            return Ok((Outcome::Stopped, training.state.history));
        }
    }
    training.keep_best()?;
    Ok((Outcome::Finished, training.state.history))
}

/// Refuses what cannot be learned before anything is done.
fn check(model: &Trainable, examples: &[Objective]) -> Result<(), TrainError> {
    check_lengths(model, examples)?;
    let learned = |objective| sequences_of(objective).iter().any(|s| s.learned() > 0);
    if examples.iter().any(learned) {
        Ok(())
    } else {
        Err(TrainError::NothingToLearn { what: "sequence" })
    }
}

fn check_lengths(model: &Trainable, examples: &[Objective]) -> Result<(), TrainError> {
    let context = model.config().context;
    for (place, objective) in examples.iter().enumerate() {
        for sequence in sequences_of(objective) {
            if sequence.tokens.len() > context {
                return Err(TrainError::TooLong {
                    place,
                    received: sequence.tokens.len(),
                    context,
                });
            }
        }
    }
    Ok(())
}

/// A training in memory.
struct Training<'a> {
    model: &'a Trainable,
    state: State,
    /// See [`Examples::mean_weight`].
    mean_weight: f64,
    best: BTreeMap<String, Tensor>,
    moments: BTreeMap<String, Moments>,
}

impl<'a> Training<'a> {
    fn begin(
        model: &'a Trainable,
        identity: String,
        mean_weight: f64,
        checkpoint: Option<&PathBuf>,
    ) -> Result<Self, TrainError> {
        let mut training = Self {
            model,
            state: State {
                identity,
                ..State::default()
            },
            mean_weight,
            best: BTreeMap::new(),
            moments: BTreeMap::new(),
        };
        let Some(path) = checkpoint else {
            return Ok(training);
        };
        let Some(saved) = checkpoint::load(path, &training.state.identity, model.device())? else {
            return Ok(training);
        };
        model.set(&saved.variables)?;
        training.state = saved.state;
        training.best = saved.best;
        training.moments = saved.moments;
        Ok(training)
    }

    /// Asks the model, before it learns, how likely it finds what is to be preferred: examples by
    /// their places, those of the validation behind them. What it said is kept after `every` so many,
    /// and where it is stopped.
    fn refer(
        &mut self,
        examples: &Examples<'_>,
        validation: &[Objective],
        every: usize,
        checkpoint: Option<&PathBuf>,
        on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, TrainError> {
        let Examples::Set(examples) = examples else {
            return Ok(ControlFlow::Continue(()));
        };
        let prefers = |o: &Objective| matches!(o, Objective::Prefer { .. });
        let open: Vec<(usize, &Objective)> = examples
            .iter()
            .chain(validation)
            .enumerate()
            .filter(|(place, o)| prefers(o) && !self.state.references.contains_key(place))
            .collect();
        for (done, &(place, objective)) in open.iter().enumerate() {
            let known = reference(self.model, objective)?;
            self.state.references.insert(place, known);
            let told = on(Progress::References {
                done: done + 1,
                all: open.len(),
            });
            if told.is_break() || (done + 1).is_multiple_of(every) {
                self.save(checkpoint)?;
            }
            if told.is_break() {
                return Ok(told);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn step(
        &mut self,
        examples: &Examples<'_>,
        settings: &TrainSettings,
        steps: usize,
    ) -> Result<StepRecord, TrainError> {
        let began = Instant::now();
        let at = self.state.step;
        let (places, objectives): (Vec<usize>, Vec<Objective>) =
            examples.at(at, settings).into_iter().unzip();
        let references: Vec<Option<Reference>> = places
            .iter()
            .map(|place| self.state.references.get(place).copied())
            .collect();
        let divisors = settings.mean_over.divisors(&objectives, self.mean_weight);
        let mut loss = Loss::default();
        let mut gradients = Gradients::new();
        for (pass, group) in passes(&objectives, settings.tokens_per_pass)
            .into_iter()
            .enumerate()
        {
            let noise = seed_of(seed_of(settings.seed, at as u64), pass as u64);
            let together: Vec<&Objective> = objectives[group.clone()].iter().collect();
            let (cost, more) = measure(
                self.model,
                &together,
                &references[group],
                Some(divisors),
                Some(noise),
            )?;
            loss.add(&cost);
            accumulate(&mut gradients, more)?;
        }
        let gradient_norm = norm(&gradients)?;
        let mean = loss.mean(divisors);
        if !mean.is_finite() || !gradient_norm.is_finite() {
            return Err(TrainError::NotFinite { step: at + 1 });
        }
        let factor = if settings.clip > 0.0 && gradient_norm > settings.clip {
            settings.clip / gradient_norm
        } else {
            1.0
        };
        let learning_rate = settings.schedule.at(at, steps);
        let rule = AdamW {
            first_decay: 0.9,
            second_decay: 0.999,
            epsilon: 1e-8,
            weight_decay: settings.weight_decay,
        };
        rule.step(
            self.model.variables(),
            &mut self.moments,
            &gradients,
            learning_rate,
            at + 1,
            factor,
        )?;
        self.state.step = at + 1;
        Ok(StepRecord {
            step: at + 1,
            loss: mean,
            learning_rate,
            gradient_norm,
            tokens: objectives.iter().map(tokens).sum(),
            seconds: began.elapsed().as_secs_f64(),
        })
    }

    fn validate(
        &mut self,
        examples: &Examples<'_>,
        validation: &[Objective],
        settings: &TrainSettings,
    ) -> Result<ValidationRecord, TrainError> {
        let before = match examples {
            Examples::Set(examples) => examples.len(),
            Examples::Stream { .. } => 0,
        };
        let mut loss = Loss::default();
        for group in passes(validation, settings.tokens_per_pass) {
            let together: Vec<&Objective> = validation[group.clone()].iter().collect();
            let references: Vec<Option<Reference>> = group
                .map(|place| self.state.references.get(&(before + place)).copied())
                .collect();
            loss.add(&measure(self.model, &together, &references, None, None)?.0);
        }
        let mean_over = settings.mean_over;
        let divisors = mean_over.divisors(validation, mean_over.mean_weight(validation));
        let record = ValidationRecord {
            step: self.state.step,
            loss: loss.mean(divisors),
        };
        let best = self.state.history.best().map(|best| best.loss);
        if best.is_none_or(|best| record.loss < best) {
            self.best = self.model.snapshot()?;
        }
        self.state.history.validations.push(record.clone());
        Ok(record)
    }

    /// Goes back to what was learned at the best validation.
    fn keep_best(&self) -> Result<(), TrainError> {
        if self.best.is_empty() {
            return Ok(());
        }
        self.model.set(&self.best)
    }

    fn save(&self, checkpoint: Option<&PathBuf>) -> Result<(), TrainError> {
        match checkpoint {
            None => Ok(()),
            Some(path) => checkpoint::save(
                path,
                &self.state,
                self.model.variables(),
                &self.best,
                &self.moments,
            ),
        }
    }
}
