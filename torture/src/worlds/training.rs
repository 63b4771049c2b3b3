//! A training: interrupted twice, resumed to its end, and then the adapter that it made, written by the
//! calls that `ken train` makes.

use std::ops::ControlFlow;
use std::path::Path;

use ken_model::decoder::{
    Checkpoint, Device, Origin, PromptForm, SETTINGS_FILE, TENSORS_FILE, Untrained, remove_model,
};
use ken_train::{
    Examples, LoraSettings, Objective, Progress, Schedule, Sequence, TrainError, TrainSettings,
    Trainable, Tuning, train, write_adapter,
};
use serde_json::json;

use crate::world::{Contents, KEPT, Refusal, World};

/// A folder in which a model is trained.
#[derive(Debug, Clone, Copy)]
pub struct TrainingWorld;

const WORDS: u32 = 16;
/// The steps, out of six, after which the training is interrupted.
const BREAKS: [usize; 2] = [2, 4];
const STEPS: usize = 6;
/// As `ken train` calls it.
const CHECKPOINT: &str = "training.safetensors";

/// The model that is trained, beside the files that count.
fn base(dir: &Path) -> Checkpoint {
    let folder = dir.join("base");
    if !folder.exists() {
        let words: serde_json::Map<_, _> = (0..WORDS)
            .map(|word| (format!("w{word}"), json!(word)))
            .collect();
        let tokenizer = json!({
            "version": "1.0", "added_tokens": [],
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "w1"},
        });
        let untrained = Untrained {
            vocabulary: WORDS as usize,
            hidden: 8,
            intermediate: 16,
            layers: 1,
            heads: 2,
            context: 32,
            end_token: 0,
            prompt: PromptForm::Bare,
        };
        let mut number = 0.0_f32;
        let mut normal = || {
            number += 1.0;
            3.0 * (number * 0.7).sin()
        };
        // Written atomically: the model is an input, and not tested.
        let new = dir.join("base.new");
        let written = untrained.write(&new, &tokenizer, &mut normal);
        written.expect("the model to train");
        std::fs::rename(&new, &folder).expect("the model to train");
    }
    Checkpoint::open(&folder, None).expect("the model to train")
}

fn model(base: &Checkpoint) -> Result<Trainable, TrainError> {
    let lora = LoraSettings {
        rank: 2,
        ..LoraSettings::default()
    };
    Trainable::new(base, Tuning::Lora(lora), Device::Cpu, 0)
}

fn settings() -> TrainSettings {
    TrainSettings {
        epochs: 3.0,
        batch: 2,
        schedule: Schedule {
            peak: 1e-3,
            warm_up: 0.0,
            floor: 0.1,
        },
        checkpoint_every: 1,
        ..TrainSettings::default()
    }
}

/// Two steps an epoch.
fn examples() -> Vec<Objective> {
    (0..4)
        .map(|n| Objective::Imitate(Sequence::completion(&[n, n + 1], &[n + 5, 0])))
        .collect()
}

/// Resumes the training until this many steps are done.
fn go_on(model: &Trainable, out: &Path, until: usize) -> Result<(), TrainError> {
    train(
        model,
        &Examples::Set(&examples()),
        &[],
        &settings(),
        Some(&out.join(CHECKPOINT)),
        &mut |progress| match progress {
            Progress::Step { record, .. } if record.step >= until => ControlFlow::Break(()),
            Progress::Resumed { step } if step >= until && until < STEPS => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        },
    )
    .map(|_| ())
}

/// Replaces the old adapter with the trained one, as the end of `ken train` does.
fn finish(model: &Trainable, out: &Path) -> Result<(), Refusal> {
    for name in ["config.json", SETTINGS_FILE] {
        ken_storage::remove(&out.join(name)).map_err(|error| of_storage(&error))?;
    }
    ken_storage::sync_dir(out).map_err(|error| of_storage(&error))?;
    remove_model(out).map_err(|error| Refusal::new(error.kind(), &error))?;
    ken_storage::sync_dir(out).map_err(|error| of_storage(&error))?;
    let origin = Origin {
        base: model.base.clone(),
        purpose: "torture".to_owned(),
        prompt: PromptForm::Bare,
        boundary: None,
        sources: None,
        held_out: None,
        learned_from: Vec::new(),
    };
    write_adapter(model, "base", &origin, out).map_err(|error| refusal(&error))?;
    ken_storage::remove(&out.join(CHECKPOINT)).map_err(|error| of_storage(&error))?;
    ken_storage::sync_dir(out).map_err(|error| of_storage(&error))
}

fn of_storage(error: &ken_storage::StorageError) -> Refusal {
    Refusal::new(ken_storage::io_kind(&error.source), error)
}

fn refusal(error: &TrainError) -> Refusal {
    Refusal::new(error.kind(), error)
}

/// Steps done, by the checkpoint.
fn resumed(base: &Checkpoint, out: &Path) -> Result<usize, TrainError> {
    let mut found = 0;
    train(
        &model(base)?,
        &Examples::Set(&examples()),
        &[],
        &settings(),
        Some(&out.join(CHECKPOINT)),
        &mut |progress| {
            if let Progress::Resumed { step } = progress {
                found = step;
            }
            ControlFlow::Break(())
        },
    )?;
    Ok(found)
}

impl World for TrainingWorld {
    fn name(&self) -> &'static str {
        "training"
    }

    fn steps(&self) -> usize {
        BREAKS.len() + 1
    }

    fn take(&self, dir: &Path, step: usize) -> Result<(), Refusal> {
        let out = dir.join(KEPT).join("out");
        if out.join(SETTINGS_FILE).exists() && !out.join(CHECKPOINT).exists() {
            return Ok(());
        }
        let made = ken_storage::create_dir_all(&out);
        made.map_err(|error| of_storage(&error))?;
        let base = base(dir);
        let model = model(&base).map_err(|error| refusal(&error))?;
        match BREAKS.get(step) {
            Some(&until) => go_on(&model, &out, until).map_err(|error| refusal(&error)),
            None => {
                go_on(&model, &out, STEPS + 1).map_err(|error| refusal(&error))?;
                finish(&model, &out)
            }
        }
    }

    /// The steps that are done, as one number that grows; the adapter is more than all steps.
    fn contents(&self, dir: &Path) -> Result<Contents, String> {
        let out = dir.join(KEPT).join("out");
        let base = base(dir);
        let mut progress = String::new();
        if out.join(CHECKPOINT).exists() {
            // Opening a checkpoint may train a step, which is not to be kept.
            let copied = crate::shim::folder();
            std::fs::copy(out.join(CHECKPOINT), copied.path().join(CHECKPOINT))
                .map_err(|error| error.to_string())?;
            let step = resumed(&base, copied.path()).map_err(|error| error.to_string())?;
            progress = format!("step {step}");
        }
        if out.join(SETTINGS_FILE).exists() {
            Checkpoint::open(&dir.join("base"), Some(&out)).map_err(|error| error.to_string())?;
            let tensors =
                std::fs::read(out.join(TENSORS_FILE)).map_err(|error| error.to_string())?;
            progress = format!("the adapter {}", blake3::hash(&tensors));
        }
        Ok(match progress.is_empty() {
            true => Contents::new(),
            false => Contents::from([("progress".to_owned(), progress)]),
        })
    }

    /// During a step, there is a checkpoint of every step of the training in it.
    fn allows(&self, before: &Contents, after: Option<&Contents>, found: &Contents) -> bool {
        let after = after.unwrap_or(before);
        // As texts, numbers of one digit and then "the adapter" grow.
        let is_adapter = |one: &Contents| one.values().any(|text| text.starts_with("the"));
        (before <= found && found <= after) && (!is_adapter(found) || found == after)
    }
}
