//! Training a language model in a folder: stages with checkpoints, the result, and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ken_model::decoder::{Checkpoint, Device, Origin, SourceTokens, StoredAs};
use ken_train::{
    Examples, History, LoraSettings, Outcome, Progress, Schedule, TrainSettings, Trainable, Tuning,
};
use serde::Serialize;

use super::curriculum::{Curriculum, Stage};
use super::error::TuneError;
use super::folder::{STATES, clear, forget, prepare, stopped, write_history};
use crate::examples::ExampleKind;

/// How to train a language model, and where to write the result.
pub struct FineTuning<'a> {
    /// The folder of the result; a stopped training resumes from it.
    pub out: &'a Path,
    /// Whether to start over, whatever the folder holds.
    pub overwrite: bool,
    /// The adapter to train; `None` trains all weights. The curriculum sets its tokens.
    pub lora: Option<LoraSettings>,
    /// The settings of each stage, except for those that the curriculum sets.
    pub train: TrainSettings,
    /// The device to train on.
    pub device: Device,
    /// The name of the model, for the adapter's settings.
    pub base: String,
}

/// The result of a training.
#[derive(Debug, Serialize)]
pub struct TuneReport {
    /// The folder of the result.
    pub out: PathBuf,
    /// The purpose of the training.
    pub purpose: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Training examples by kind.
    pub by_kind: BTreeMap<ExampleKind, usize>,
    /// As in the curriculum.
    pub without_evidence: usize,
    /// Training examples of the last stage.
    pub examples: usize,
    /// Validation examples of the last stage.
    pub validation_examples: usize,
    /// Steps of all stages.
    pub steps: usize,
    /// The number of trainable parameters.
    pub learning: usize,
    /// The loss of the last stage's first step, in nats; losses of different stages are not comparable.
    pub first_loss: Option<f64>,
    /// The loss of its last step.
    pub last_loss: Option<f64>,
    /// The loss of its first validation.
    pub first_validation_loss: Option<f64>,
    /// The loss of its best validation.
    pub best_validation_loss: Option<f64>,
    /// Tokens per second, over all stages.
    pub tokens_per_s: f64,
    /// The threshold of its policy, if the validation questions chose one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

impl FineTuning<'_> {
    /// Refuses a training whose result could not be opened, or would overwrite its base: the model, whose file or
    /// folder `model` returns, with `adapter`.
    ///
    /// # Errors
    /// [`TuneError::AdapterOnAdapter`], [`TuneError::OutIsSource`], and those of `model`.
    pub fn check<E: From<TuneError>>(
        &self,
        adapter: Option<&Path>,
        model: impl FnOnce() -> Result<PathBuf, E>,
    ) -> Result<(), E> {
        if let (Some(adapter), true) = (adapter, self.lora.is_some()) {
            let adapter = adapter.to_owned();
            return Err(TuneError::AdapterOnAdapter { adapter }.into());
        }
        let Ok(out) = self.out.canonicalize() else {
            // A missing folder holds nothing.
            return Ok(());
        };
        let holds = |path: &Path| {
            path.canonicalize()
                .is_ok_and(|path| path == out || path.is_file() && path.parent() == Some(&out))
        };
        match holds(&model()?) || adapter.is_some_and(holds) {
            true => Err(TuneError::OutIsSource {
                out: self.out.to_owned(),
            }
            .into()),
            false => Ok(()),
        }
    }

    /// A stage with the training's learning rate and epochs.
    pub fn stage(
        &self,
        training: Vec<ken_train::Objective>,
        validation: Vec<ken_train::Objective>,
    ) -> Stage {
        Stage {
            training,
            validation,
            learning_rate: self.train.schedule.peak,
            epochs: self.train.epochs,
        }
    }

    fn settings_of(&self, stage: &Stage, curriculum: &Curriculum) -> TrainSettings {
        TrainSettings {
            epochs: stage.epochs,
            mean_over: curriculum.mean_over,
            schedule: Schedule {
                peak: stage.learning_rate,
                ..self.train.schedule
            },
            ..self.train.clone()
        }
    }
}

/// Trains a model and writes the result. `on` receives each step, and may stop the training. Checkpoints stay until
/// [`finish`].
///
/// # Errors
/// Settings out of range, a folder that holds something else, failures of the training, and [`TuneError::Stopped`].
pub fn fine_tune(
    checkpoint: &Checkpoint,
    curriculum: &Curriculum,
    tuning: &FineTuning<'_>,
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<TuneReport, TuneError> {
    Trainable::check(checkpoint.config())?;
    // Checks all stages, so that a bad second stage fails before the first one has run.
    for stage in &curriculum.stages {
        tuning.settings_of(stage, curriculum).check()?;
    }
    let out = tuning.out;
    prepare(out, tuning.overwrite)?;
    let trained = match &tuning.lora {
        None => Tuning::Full,
        Some(lora) => Tuning::Lora(LoraSettings {
            tokens: curriculum.tokens.clone(),
            ..lora.clone()
        }),
    };
    let model = Trainable::new(checkpoint, trained, tuning.device, tuning.train.seed)?;
    for (token, others) in &curriculum.begin {
        model.begin_like(*token, others)?;
    }
    let (outcome, whole, last) = train_stages(&model, curriculum, tuning, on)?;
    let origin = origin(&model, checkpoint, curriculum);
    clear(out)?;
    match tuning.lora {
        Some(_) => ken_train::write_adapter(&model, &tuning.base, &origin, out)?,
        None => checkpoint.write_trained(out, StoredAs::F32, &model.tensors(), Some(&origin))?,
    }
    let stage = curriculum.stages.last();
    Ok(TuneReport {
        out: out.to_owned(),
        purpose: curriculum.purpose.clone(),
        outcome,
        by_kind: curriculum.kinds.clone(),
        without_evidence: curriculum.without_evidence,
        examples: stage.map_or(0, |stage| stage.training.len()),
        validation_examples: stage.map_or(0, |stage| stage.validation.len()),
        steps: whole.steps.len(),
        learning: model.trainable_parameters(),
        first_loss: last.steps.first().map(|step| step.loss),
        last_loss: last.steps.last().map(|step| step.loss),
        first_validation_loss: last.validations.first().map(|validation| validation.loss),
        best_validation_loss: last.best().map(|best| best.loss),
        tokens_per_s: whole.tokens_per_second(),
        threshold: None,
    })
}

/// Trains a model in stages. Returns how the last one ended, and the history of all stages and of the last.
fn train_stages(
    model: &Trainable,
    curriculum: &Curriculum,
    tuning: &FineTuning<'_>,
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(Outcome, History, History), TuneError> {
    let out = tuning.out;
    let mut outcome = Outcome::Finished;
    let (mut whole, mut last) = (History::default(), History::default());
    for (stage, state) in curriculum.stages.iter().zip(STATES) {
        (outcome, last) = ken_train::train(
            model,
            &Examples::Set(&stage.training),
            &stage.validation,
            &tuning.settings_of(stage, curriculum),
            Some(&out.join(state)),
            on,
        )?;
        whole.then(last.clone());
        write_history(out, &whole)?;
        if outcome == Outcome::Stopped {
            return Err(stopped(&whole, out, tuning.overwrite));
        }
    }
    Ok((outcome, whole, last))
}

/// Removes the checkpoints; all files of the result are durable.
///
/// # Errors
/// Files that cannot be removed.
pub fn finish(out: &Path) -> Result<(), TuneError> {
    Ok(forget(out)?)
}

fn origin(model: &Trainable, checkpoint: &Checkpoint, curriculum: &Curriculum) -> Origin {
    let before = checkpoint.origin();
    let taught_before = before.iter().flat_map(|origin| &origin.learned_from);
    let taught: BTreeSet<u64> = taught_before
        .chain(&curriculum.learned_from)
        .copied()
        .collect();
    Origin {
        base: model.base.clone(),
        purpose: curriculum.purpose.clone(),
        prompt: curriculum.prompt,
        boundary: curriculum.boundary.clone(),
        // What the model can do already was taught in the same form, and it can still do it.
        sources: curriculum
            .sources
            .clone()
            .or_else(|| checkpoint.sources().cloned())
            .map(|sources| SourceTokens {
                // The old threshold is that of other weights.
                threshold: None,
                ..sources
            }),
        // The model still knows what earlier tunings taught.
        held_out: curriculum
            .held_out
            .into_iter()
            .chain(before.and_then(|origin| origin.held_out))
            .reduce(f64::min),
        learned_from: taught.into_iter().collect(),
    }
}
