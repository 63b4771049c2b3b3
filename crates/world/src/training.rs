//! Trains a member of the family on its world from scratch.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ken_lab::tuning::{CHECKPOINT, TuneError, stopped, write_history};
use ken_model::decoder::{Checkpoint, DecoderError, Device, StoredAs};
use ken_storage::{StorageError, remove};
use ken_train::{
    Examples, History, Objective, Outcome, Progress, Schedule, Sequence, TrainError, TrainSettings,
    Trainable, Tuning, train,
};

use crate::error::WorldError;
use crate::family::{Size, write_untrained};
use crate::files::summarize_world;
use crate::training_text::training_text_of;
use crate::world::World;

/// The folder of the untrained model.
const UNTRAINED_FOLDER: &str = "untrained";

/// The weights of a model.
const WEIGHTS: &str = "model.safetensors";

/// Most tokens in a batch of texts.
const TOKENS_PER_PASS: usize = 8_192;
const WARM_UP: f64 = 0.03;
const FLOOR: f64 = 0.05;
const WEIGHT_DECAY: f64 = 0.01;
const CHECKPOINT_EVERY: usize = 200;

/// Which member to train, how and where.
#[derive(Debug, Clone, Copy)]
pub struct WorldTraining<'a> {
    /// The member.
    pub size: Size,
    /// Texts a step.
    pub batch: usize,
    /// The peak learning rate; by default that of the size.
    pub learning_rate: Option<f64>,
    /// The device to train on.
    pub device: Device,
    /// The folder of the result; a stopped training resumes from it.
    pub out: &'a Path,
}

/// Why training a member failed.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum WorldTrainingError {
    #[error("{out} holds a model already")]
    #[diagnostic(kind = "folder_not_empty", remedy = "name a new folder by <out>")]
    HoldsModel { out: PathBuf },
    #[error(transparent)]
    World(#[from] WorldError),
    #[error(transparent)]
    Stopped(Box<TuneError>),
    #[error(transparent)]
    Model(#[from] DecoderError),
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Trains a member and writes it. Returns its number of parameters and how the training went. `on` receives each
/// step, and may stop the training.
///
/// # Errors
/// A folder that holds a model, a failure of the training, or that `on` stopped it.
pub fn train_member(
    world: &World,
    training: WorldTraining<'_>,
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(usize, History), WorldTrainingError> {
    let out = training.out;
    let checkpoint = out.join(CHECKPOINT);
    // With a checkpoint, the weights may be incomplete, from a training killed at its end.
    if out.join(WEIGHTS).exists() && !checkpoint.exists() {
        let out = out.to_owned();
        return Err(WorldTrainingError::HoldsModel { out });
    }
    let untrained = out.join(UNTRAINED_FOLDER);
    write_untrained(world, training.size, &untrained)?;
    let base = Checkpoint::open(&untrained, None)?;
    let settings = settings(world, training);
    let model = Trainable::new(&base, Tuning::Full, training.device, settings.seed)?;
    let (batch, sequences) = (settings.batch, world.settings().sequences);
    // The tokenizer knows every word of every text.
    let at = |step: usize| -> Vec<Objective> {
        let numbers = step * batch..((step + 1) * batch).min(sequences);
        let read = numbers.filter_map(|number| sequence(world, &base, number).ok());
        read.map(Objective::Imitate).collect()
    };
    // A text that cannot be encoded is reported before anything is trained.
    sequence(world, &base, 0)?;
    let examples = Examples::Stream {
        steps: sequences.div_ceil(batch),
        identity: summarize_world(world).fingerprint,
        at: &at,
    };
    let (outcome, history) = train(&model, &examples, &[], &settings, Some(&checkpoint), on)?;
    if outcome == Outcome::Stopped {
        let stopped = Box::new(stopped(&history, out, false));
        return Err(WorldTrainingError::Stopped(stopped));
    }
    write_history(out, &history)?;
    base.write(out, StoredAs::F32, &model.tensors())?;
    // Training is complete, so its intermediate files are not needed any more.
    remove(&untrained)?;
    remove(&checkpoint)?;
    Ok((model.trainable_parameters(), history))
}

fn settings(world: &World, training: WorldTraining<'_>) -> TrainSettings {
    let of_size = training.size.learning_rate();
    TrainSettings {
        batch: training.batch.max(1),
        tokens_per_pass: TOKENS_PER_PASS,
        schedule: Schedule {
            peak: training.learning_rate.unwrap_or(of_size),
            warm_up: WARM_UP,
            floor: FLOOR,
        },
        weight_decay: WEIGHT_DECAY,
        checkpoint_every: CHECKPOINT_EVERY,
        seed: world.settings().seed,
        ..TrainSettings::default()
    }
}

/// A training text as tokens, with an end token learned after it.
fn sequence(world: &World, base: &Checkpoint, number: usize) -> Result<Sequence, DecoderError> {
    let text = training_text_of(world, number as u64);
    let part = |learned: bool| -> String {
        let pieces = text.pieces.iter().filter(|piece| piece.learned == learned);
        pieces.map(|piece| piece.text.as_str()).collect()
    };
    // Learned parts come after all parts that are only read.
    let (read, mut learned) = base.continued(&part(false), &part(true))?;
    learned.extend(base.end_tokens().first());
    Ok(Sequence::completion(&read, &learned))
}
