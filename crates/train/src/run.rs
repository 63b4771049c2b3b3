//! The training loop: steps over examples, validation, early stopping, checkpoints.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::allocator::keep_freed_memory;
use crate::batches::{passes, places, steps_in_epoch, tokens};
use crate::checkpoint::{self, State};
use crate::decoder::{Trainable, seed_of};
use crate::error::{TrainError, require};
use crate::history::{History, StepRecord, ValidationRecord};
use crate::objective::{Loss, MeanOver, Reference, accumulate, measure, reference, sequences_of};
use crate::optimizer::{self, Gradients, Moments, norm};
use crate::schedule::Schedule;
use crate::sequence::Objective;

/// The settings of a training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainSettings {
    /// Passes over all examples.
    pub epochs: f64,
    /// Examples per step.
    pub batch: usize,
    /// The most tokens per pass; larger steps accumulate gradients.
    pub tokens_per_pass: usize,
    /// How a step's losses are averaged.
    pub mean_over: MeanOver,
    /// The learning rate schedule.
    pub schedule: Schedule,
    /// Decoupled weight decay of matrices.
    pub weight_decay: f64,
    /// The maximum gradient norm; 0 disables clipping.
    pub clip: f64,
    /// Steps between validations; 0 for one per epoch.
    pub validate_every: usize,
    /// Stop after this many validations without a lower loss; 0 never stops early.
    pub patience: usize,
    /// Steps between checkpoints.
    pub checkpoint_every: usize,
    /// The seed of shuffling and dropout.
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
    /// Checks the settings before anything is computed.
    ///
    /// # Errors
    /// A setting out of range.
    pub fn check(&self) -> Result<(), TrainError> {
        let positive =
            |setting, x: f64| require(setting, x, "a positive number", x.is_finite() && x > 0.0);
        let share =
            |setting, x: f64| require(setting, x, "a share from 0 to 1", (0.0..=1.0).contains(&x));
        positive("epochs", self.epochs)?;
        positive("learning rate", self.schedule.peak)?;
        require("batch", self.batch as f64, "at least 1", self.batch > 0)?;
        share("warm-up", self.schedule.warm_up)?;
        share("floor", self.schedule.floor)?;
        let sound = self.clip >= 0.0 && self.weight_decay >= 0.0;
        require("clip or weight decay", self.clip, "0 or more", sound)
    }
}

/// The training examples.
pub enum Examples<'a> {
    /// A fixed set, seen once per epoch.
    Set(&'a [Objective]),
    /// Examples generated for each step, by a function of the step alone.
    Stream {
        /// The total number of steps.
        steps: usize,
        /// Identifies the examples.
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

    /// The examples of a step with their indices in the set.
    fn at(&self, step: usize, settings: &TrainSettings) -> Vec<(usize, Objective)> {
        match self {
            Self::Set(examples) => places(step, examples.len(), settings.batch, settings.seed)
                .into_iter()
                .map(|place| (place, examples[place].clone()))
                .collect(),
            Self::Stream { at, .. } => at(step).into_iter().enumerate().collect(),
        }
    }

    /// The mean weight of a token or example; 1 for a stream.
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

/// A fingerprint of examples.
fn identity_of(examples: &[Objective]) -> String {
    let texts = examples.iter().map(|objective| {
        let kind = match objective {
            Objective::Imitate(_) => "imitate".to_owned(),
            Objective::Prefer { beta, .. } => format!("prefer by {beta}"),
        };
        let parts = sequences_of(objective);
        let parts = parts
            .iter()
            .map(|s| format!("{:?}{:?}", s.tokens, s.weights));
        format!("{kind} {}", parts.collect::<Vec<_>>().join("/"))
    });
    let texts: Vec<String> = texts.collect();
    ken_language::fingerprint_of_texts(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The progress of a training.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The training resumes from a checkpoint.
    Resumed {
        /// The steps completed before.
        step: usize,
    },
    /// The initial model scores the preferences.
    References {
        /// Preferences scored so far.
        done: usize,
        /// The preferences to score.
        all: usize,
    },
    /// A step was completed.
    Step {
        /// Its record.
        record: &'a StepRecord,
        /// The total number of steps.
        steps: usize,
    },
    /// A validation was completed.
    Validated(&'a ValidationRecord),
}

type OnProgress<'a> = &'a mut dyn FnMut(Progress<'_>) -> ControlFlow<()>;

/// How a training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// After its last step.
    Finished,
    /// The validation loss stopped falling.
    Converged,
    /// The caller stopped it; it can be resumed.
    Stopped,
}

/// Trains a model. With `checkpoint`, an interrupted training resumes bit-identically. With
/// validation, the model ends with the parameters of its best validation.
///
/// # Errors
/// No token with a loss, a sequence that is too long, settings out of range, the checkpoint of another
/// training, a loss that is not a number, files that cannot be written.
pub fn train(
    model: &Trainable,
    examples: &Examples<'_>,
    validation: &[Objective],
    settings: &TrainSettings,
    checkpoint: Option<&PathBuf>,
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(Outcome, History), TrainError> {
    settings.check()?;
    keep_freed_memory();
    if let Examples::Set(examples) = examples {
        check(model, examples)?;
    }
    check_lengths(model, validation)?;
    let mut training = Training {
        model,
        examples,
        validation,
        settings,
        checkpoint: checkpoint.map(PathBuf::as_path),
        steps: examples.steps(settings),
        mean_weight: examples.mean_weight(settings),
        state: State::default(),
        best: BTreeMap::new(),
        moments: BTreeMap::new(),
    };
    training.resume()?;
    let outcome = training.run(on)?;
    if outcome != Outcome::Stopped && !training.best.is_empty() {
        model.set(&training.best)?;
    }
    Ok((outcome, training.state.history))
}

/// Checks the examples before anything is computed.
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
    let context = model.config.context;
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

/// A running training.
struct Training<'a> {
    model: &'a Trainable,
    examples: &'a Examples<'a>,
    validation: &'a [Objective],
    settings: &'a TrainSettings,
    checkpoint: Option<&'a Path>,
    /// The total number of steps.
    steps: usize,
    /// See [`Examples::mean_weight`].
    mean_weight: f64,
    state: State,
    best: BTreeMap<String, Tensor>,
    moments: BTreeMap<String, Moments>,
}

impl Training<'_> {
    /// Restores the checkpoint, if there is one.
    fn resume(&mut self) -> Result<(), TrainError> {
        self.state.identity = ken_language::fingerprint_of_texts(&[
            &self.model.base,
            &format!("{:?}", self.model.tuning),
            &format!("{:?}", self.settings),
            &self.examples.identity(),
            &identity_of(self.validation),
        ]);
        let Some(path) = self.checkpoint else {
            return Ok(());
        };
        let saved = checkpoint::load(path, &self.state.identity, &self.model.device)?;
        if let Some(saved) = saved {
            self.model.set(&saved.variables)?;
            self.state = saved.state;
            self.best = saved.best;
            self.moments = saved.moments;
        }
        Ok(())
    }

    fn run(&mut self, on: OnProgress<'_>) -> Result<Outcome, TrainError> {
        let steps = self.steps;
        let validate_every = match (self.settings.validate_every, self.examples) {
            (0, Examples::Set(examples)) => steps_in_epoch(examples.len(), self.settings.batch),
            (0, Examples::Stream { .. }) => steps,
            (every, _) => every,
        };
        let step = self.state.step;
        if step > 0 && on(Progress::Resumed { step }).is_break() {
            return Ok(Outcome::Stopped);
        }
        let save_every = self.settings.checkpoint_every.max(1);
        if self.score_references(save_every, on)?.is_break() {
            return Ok(Outcome::Stopped);
        }
        while self.state.step < steps {
            let patience = self.settings.patience;
            if patience > 0 && self.state.history.since_best() >= patience {
                return Ok(Outcome::Converged);
            }
            let record = self.step()?;
            let answer = on(Progress::Step {
                record: &record,
                steps,
            });
            self.state.history.steps.push(record);
            let step = self.state.step;
            let is_last = step == steps;
            if !self.validation.is_empty() && (step.is_multiple_of(validate_every) || is_last) {
                let _ = on(Progress::Validated(&self.validate()?));
            }
            let stopped = answer.is_break() && !is_last;
            if stopped || step.is_multiple_of(save_every) || is_last {
                self.save()?;
            }
            if stopped {
                return Ok(Outcome::Stopped);
            }
        }
        Ok(Outcome::Finished)
    }

    /// Computes the log-probabilities of preferences under the initial model, by the index of their
    /// example; those of the validation follow those of the training set. They are saved after
    /// every `every` preferences and when stopped.
    fn score_references(
        &mut self,
        every: usize,
        on: OnProgress<'_>,
    ) -> Result<ControlFlow<()>, TrainError> {
        let Examples::Set(examples) = self.examples else {
            return Ok(ControlFlow::Continue(()));
        };
        let prefers = |o: &Objective| matches!(o, Objective::Prefer { .. });
        let open: Vec<(usize, &Objective)> = examples
            .iter()
            .chain(self.validation)
            .enumerate()
            .filter(|(place, o)| prefers(o) && !self.state.references.contains_key(place))
            .collect();
        let all = open.len();
        for (done, (place, objective)) in (1..).zip(open) {
            let scored = reference(self.model, objective)?;
            self.state.references.insert(place, scored);
            let answer = on(Progress::References { done, all });
            if answer.is_break() || done.is_multiple_of(every) {
                self.save()?;
            }
            if answer.is_break() {
                return Ok(answer);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn references(&self, places: impl Iterator<Item = usize>) -> Vec<Option<Reference>> {
        let known = &self.state.references;
        places.map(|place| known.get(&place).copied()).collect()
    }

    fn step(&mut self) -> Result<StepRecord, TrainError> {
        let started = Instant::now();
        let settings = self.settings;
        let step = self.state.step;
        let (places, objectives): (Vec<usize>, Vec<Objective>) =
            self.examples.at(step, settings).into_iter().unzip();
        let references = self.references(places.into_iter());
        let divisors = settings.mean_over.divisors(&objectives, self.mean_weight);
        let mut loss = Loss::default();
        let mut gradients = Gradients::new();
        let groups = passes(&objectives, settings.tokens_per_pass);
        for (pass, group) in groups.into_iter().enumerate() {
            let noise = Some(seed_of(seed_of(settings.seed, step as u64), pass as u64));
            let together: Vec<&Objective> = objectives[group.clone()].iter().collect();
            let known = &references[group];
            let (part, more) = measure(self.model, &together, known, Some(divisors), noise)?;
            loss.add(&part);
            accumulate(&mut gradients, more)?;
        }
        let gradient_norm = norm(&gradients)?;
        let mean = loss.mean(divisors);
        if !mean.is_finite() || !gradient_norm.is_finite() {
            return Err(TrainError::NotFinite { step: step + 1 });
        }
        let factor = match settings.clip > 0.0 && gradient_norm > settings.clip {
            true => settings.clip / gradient_norm,
            false => 1.0,
        };
        let learning_rate = settings.schedule.at(step, self.steps);
        let rule = optimizer::Step {
            number: step + 1,
            learning_rate,
            weight_decay: settings.weight_decay,
            factor,
        };
        rule.take(&self.model.variables, &mut self.moments, &gradients)?;
        self.state.step = step + 1;
        Ok(StepRecord {
            step: step + 1,
            loss: mean,
            learning_rate,
            gradient_norm,
            tokens: objectives.iter().map(tokens).sum(),
            seconds: started.elapsed().as_secs_f64(),
        })
    }

    fn validate(&mut self) -> Result<ValidationRecord, TrainError> {
        let before = match self.examples {
            Examples::Set(examples) => examples.len(),
            Examples::Stream { .. } => 0,
        };
        let mut loss = Loss::default();
        for group in passes(self.validation, self.settings.tokens_per_pass) {
            let together: Vec<&Objective> = self.validation[group.clone()].iter().collect();
            let references = self.references(group.map(|place| before + place));
            loss.add(&measure(self.model, &together, &references, None, None)?.0);
        }
        let mean_over = self.settings.mean_over;
        let mean_weight = mean_over.mean_weight(self.validation);
        let record = ValidationRecord {
            step: self.state.step,
            loss: loss.mean(mean_over.divisors(self.validation, mean_weight)),
        };
        let best = self.state.history.best().map(|best| best.loss);
        if best.is_none_or(|best| record.loss < best) {
            self.best = self.model.snapshot()?;
        }
        self.state.history.validations.push(record.clone());
        Ok(record)
    }

    fn save(&self) -> Result<(), TrainError> {
        let variables = &self.model.variables;
        self.checkpoint.map_or(Ok(()), |path| {
            checkpoint::save(path, &self.state, variables, &self.best, &self.moments)
        })
    }
}
