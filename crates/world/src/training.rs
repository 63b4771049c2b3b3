//! Training a member of the family on its world, from nothing.

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

/// What the model was before it learned anything, in its folder.
const UNTRAINED_FOLDER: &str = "untrained";

/// The weights of a model.
const WEIGHTS: &str = "model.safetensors";

/// Texts that are computed together, by their tokens.
const TOKENS_PER_PASS: usize = 8_192;
const WARM_UP: f64 = 0.03;
const FLOOR: f64 = 0.05;
const WEIGHT_DECAY: f64 = 0.01;
const CHECKPOINT_EVERY: usize = 200;

/// Which member is trained, how and where.
#[derive(Debug, Clone, Copy)]
pub struct WorldTraining<'a> {
    /// The member.
    pub size: Size,
    /// Texts a step.
    pub batch: usize,
    /// The highest learning rate; by default that of the size.
    pub learning_rate: Option<f64>,
    /// Where it is computed.
    pub device: Device,
    /// The folder of the result, from which a training that was stopped is resumed.
    pub out: &'a Path,
}

/// Why a member is not trained.
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

/// Trains a member and writes it: its number of parameters, and how the training went. `on` is told of
/// each step, and may stop it.
///
/// # Errors
/// A folder that holds a model, what the training fails for, or that it was stopped.
pub fn train_member(
    world: &World,
    training: WorldTraining<'_>,
    on: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<(usize, History), WorldTrainingError> {
    let out = training.out;
    let checkpoint = out.join(CHECKPOINT);
    // With a checkpoint it may be half a model, of a training that was killed at its end.
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
    // Every text is in the words of the world, which its tokenizer knows.
    let at = |step: usize| -> Vec<Objective> {
        let numbers = step * batch..((step + 1) * batch).min(sequences);
        let read = numbers.filter_map(|number| sequence(world, &base, number).ok());
        read.map(Objective::Imitate).collect()
    };
    // A text that cannot be read is reported before anything is done.
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
    // What is left to do is done; what it took is not needed any more.
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

/// A training text as tokens, with the token that ends texts learned after it.
fn sequence(world: &World, base: &Checkpoint, number: usize) -> Result<Sequence, DecoderError> {
    let text = training_text_of(world, number as u64);
    let part = |learned: bool| -> String {
        let pieces = text.pieces.iter().filter(|piece| piece.learned == learned);
        pieces.map(|piece| piece.text.as_str()).collect()
    };
    // What is learned comes after what is only read.
    let (read, mut learned) = base.continued(&part(false), &part(true))?;
    learned.extend(base.end_tokens().first());
    Ok(Sequence::completion(&read, &learned))
}
