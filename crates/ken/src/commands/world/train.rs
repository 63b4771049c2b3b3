//! `ken world train`: trains a model of the family on its world, from scratch.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_model::decoder::{Checkpoint, StoredAs};
use ken_storage::remove;
use ken_train::{
    Examples, History, Objective, Outcome, Progress, Schedule, Sequence, TrainSettings, Trainable,
    Tuning, train,
};
use ken_world::{World, read_world, summarize_world, training_text_of, write_untrained};
use serde_json::json;

use crate::arguments::WorldTrainArguments;
use crate::commands::train::fit;
use crate::config::Settings;
use crate::failure::{Refusal, Result};
use crate::output;
use crate::progress::Display;

/// The untrained model, in the folder of the trained one.
const UNTRAINED_FOLDER: &str = "untrained";

/// Tokens of the texts that are computed together.
const TOKENS_PER_PASS: usize = 8_192;
const WARM_UP: f64 = 0.03;
const FLOOR: f64 = 0.05;
const WEIGHT_DECAY: f64 = 0.01;

/// Trains a model and writes it.
pub(super) fn run(
    arguments: &WorldTrainArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let world = read_world(&arguments.world)?;
    let out = &arguments.out;
    // With a checkpoint it may be incomplete, of a training that was killed at its end.
    if out.join("model.safetensors").exists() && !out.join(fit::CHECKPOINT).exists() {
        let message = format!("{} holds a model already", out.display());
        return Err(Refusal::new("folder_not_empty", message)
            .hinting("name a new folder by --out")
            .into());
    }
    let untrained = out.join(UNTRAINED_FOLDER);
    write_untrained(&world, arguments.size, &untrained)?;
    let base = Checkpoint::open(&untrained, None)?;
    let seed = world.settings().seed;
    let model = Trainable::new(&base, Tuning::Full, settings.device, seed)?;
    let (outcome, history) = learn(arguments, &world, &base, &model, stop)?;
    if outcome == Outcome::Stopped {
        return Err(fit::stopped(&history, out, false));
    }
    let learned = model.variables().iter();
    let learned = learned.map(|(name, learned)| (name.clone(), learned.as_tensor().clone()));
    fit::write_history(out, &history)?;
    base.write(out, StoredAs::F32, &learned.collect())?;
    // The model is complete, so what it took is no longer needed.
    remove(&untrained)?;
    remove(&out.join(fit::CHECKPOINT))?;
    show(&model, &history, out, json)
}

fn learn(
    arguments: &WorldTrainArguments,
    world: &World,
    base: &Checkpoint,
    model: &Trainable,
    stop: &AtomicBool,
) -> Result<(Outcome, History)> {
    let batch = arguments.batch.max(1);
    let steps = world.settings().sequences.div_ceil(batch);
    let settings = TrainSettings {
        batch,
        tokens_per_pass: TOKENS_PER_PASS,
        schedule: Schedule {
            peak: arguments
                .learning_rate
                .unwrap_or(arguments.size.learning_rate()),
            warm_up: WARM_UP,
            floor: FLOOR,
        },
        weight_decay: WEIGHT_DECAY,
        checkpoint_every: 200,
        seed: world.settings().seed,
        ..TrainSettings::default()
    };
    // Every text has the words of the world only, which its tokenizer knows.
    let at = |step: usize| -> Vec<Objective> {
        let numbers = step * batch..((step + 1) * batch).min(world.settings().sequences);
        let sequences = numbers.filter_map(|number| sequence(world, base, number).ok());
        sequences.map(Objective::Imitate).collect()
    };
    // A text that cannot be tokenized is an error before anything is done.
    sequence(world, base, 0)?;
    let examples = Examples::Stream {
        steps,
        identity: summarize_world(world).fingerprint,
        at: &at,
    };
    let mut display = Display::new();
    let mut last = None;
    let mut report = |progress: Progress<'_>| {
        fit::show(&mut display, &progress, &mut last);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let checkpoint = arguments.out.join(fit::CHECKPOINT);
    Ok(train(
        model,
        &examples,
        &[],
        &settings,
        Some(&checkpoint),
        &mut report,
    )?)
}

/// A training text as tokens, after an end-of-text token and with one to learn at its end.
fn sequence(world: &World, base: &Checkpoint, number: usize) -> Result<Sequence> {
    let text = training_text_of(world, number as u64);
    let part = |learned: bool| -> String {
        let pieces = text.pieces.iter().filter(|piece| piece.learned == learned);
        pieces.map(|piece| piece.text.as_str()).collect()
    };
    let (read, mut learned) = base.continued(&part(false), &part(true))?;
    learned.extend(base.end_tokens().first());
    Ok(Sequence::completion(&read, &learned))
}

fn show(model: &Trainable, history: &History, out: &Path, json: bool) -> Result<()> {
    let loss = history.steps.last().map(|step| step.loss);
    let seconds: f64 = history.steps.iter().map(|step| step.seconds).sum();
    let tokens: usize = history.steps.iter().map(|step| step.tokens).sum();
    if json {
        return output::json(&json!({
            "model": out.display().to_string(),
            "parameters": model.learning(),
            "steps": history.steps.len(),
            "tokens": tokens,
            "loss": loss,
            "seconds": seconds,
            "tokens_per_second": history.tokens_per_second(),
        }));
    }
    output::pairs([
        ("model", out.display().to_string()),
        ("parameters", model.learning().to_string()),
        ("steps", history.steps.len().to_string()),
        ("tokens", tokens.to_string()),
        (
            "last loss",
            loss.map_or_else(|| "-".to_owned(), |loss| format!("{loss:.3}")),
        ),
        ("seconds", format!("{seconds:.0}")),
        (
            "tokens a second",
            format!("{:.0}", history.tokens_per_second()),
        ),
    ])
}
