//! Steps and adapters compared with those of torch, transformers and PEFT for the same decoder
//! (`fixtures/record_peft.py`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use ken_model::decoder::{
    Checkpoint, Decoder, LoadOptions, PromptForm, SETTINGS_FILE, TENSORS_FILE,
};
use ken_testing::with;
use serde::Deserialize;
use tempfile::TempDir;

use super::checkpoint::{Tensors, Tiny};
use super::{files, folder, go_on, opened, origin, trained_on};
use crate::decoder::{Batch, Trainable, Tuning};
use crate::run::TrainSettings;
use crate::schedule::Schedule;
use crate::sequence::{Objective, Sequence};
use crate::{LoraSettings, write_adapter};

#[derive(Deserialize)]
struct Recorded {
    losses: Vec<f64>,
    gradient_norms: Vec<f64>,
    logprobs_after: Vec<f64>,
}

fn fixtures() -> PathBuf {
    PathBuf::from("fixtures")
}

fn recorded() -> Recorded {
    let text = std::fs::read_to_string(fixtures().join("peft.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The script's numbers.
fn numbers(count: usize, seed: f64, spread: f64) -> Vec<f32> {
    let number = |place| ((place as f64 * 0.7 + seed).sin() * spread) as f32;
    (0..count).map(number).collect()
}

/// The script's decoder.
fn base() -> TempDir {
    let dir = files(&Tiny::new("llama"));
    let mut tensors: Tensors = Tiny::new("llama").weights();
    for (index, (name, (_, values))) in tensors.iter_mut().enumerate() {
        let norm = name.contains("norm");
        let (spread, mean) = if norm { (0.3, 1.0) } else { (0.25, 0.0) };
        *values = numbers(values.len(), index as f64, spread)
            .iter()
            .map(|x| x + mean)
            .collect();
    }
    let path = dir.path().join("model.safetensors");
    folder::write_tensors(&path, &tensors, folder::Layout::F32);
    dir
}

/// The script's sequences; their prompts have no loss.
fn sequences() -> Vec<Sequence> {
    [
        (&[3, 5, 9, 4, 7, 9, 2][..], 4),
        (&[6, 5, 4, 3, 8, 9], 2),
        (&[8, 2, 9], 1),
    ]
    .map(|(tokens, prompt)| Sequence::completion(&tokens[..prompt], &tokens[prompt..]))
    .into()
}

fn model(dir: &TempDir) -> Trainable {
    let lora = LoraSettings {
        rank: 2,
        alpha: 6.0,
        dropout: 0.0,
        targets: ["q_proj", "v_proj", "down_proj"].map(str::to_owned).into(),
        tokens: vec![5, 9],
    };
    let device = ken_model::decoder::Device::Cpu;
    let model = Trainable::new(&opened(dir), Tuning::Lora(lora), device, 1).unwrap();
    let pairs = model.variables.keys().filter(|name| name.contains("lora_"));
    let places: BTreeMap<&String, usize> = pairs.zip(0..).collect();
    let filled: BTreeMap<String, Tensor> = model
        .variables
        .iter()
        .map(|(name, variable)| {
            let tensor = match places.get(name) {
                None => variable.as_tensor().copy().unwrap(),
                Some(&place) => {
                    let values = numbers(variable.elem_count(), place as f64, 0.2);
                    Tensor::from_vec(values, variable.shape(), &Device::Cpu).unwrap()
                }
            };
            (name.clone(), tensor)
        })
        .collect();
    model.set(&filled).unwrap();
    model
}

fn log_probabilities(model: &Trainable, tokens: &[u32]) -> Vec<f32> {
    let batch = Batch {
        tokens: tokens.to_vec(),
        lengths: vec![tokens.len()],
        targets: (1..tokens.len()).map(|at| (at - 1, tokens[at])).collect(),
    };
    model.forward(&batch, None).unwrap().to_vec1().unwrap()
}

fn agree(ours: &[f32], theirs: &[f64], tolerance: f64) {
    for (a, b) in ours.iter().zip(theirs) {
        assert!((f64::from(*a) - b).abs() < tolerance, "{a} {b}");
    }
}

#[test]
fn steps_and_their_adapter_are_those_of_torch_and_peft() {
    let recorded = recorded();
    let dir = base();
    let model = model(&dir);
    let examples: Vec<Objective> = sequences().into_iter().map(Objective::Imitate).collect();
    let settings = TrainSettings {
        epochs: 3.0,
        batch: 3,
        tokens_per_pass: 9,
        schedule: Schedule {
            peak: 0.01,
            warm_up: 0.0,
            floor: 1.0,
        },
        weight_decay: 0.1,
        ..TrainSettings::default()
    };
    let (_, history) = trained_on(&model, &examples, &settings, None, &mut go_on).unwrap();
    for (at, step) in history.steps.iter().enumerate() {
        let (loss, norm) = (recorded.losses[at], recorded.gradient_norms[at]);
        assert!((step.loss - loss).abs() < 1e-4, "{at}: {loss}");
        let ratio = step.gradient_norm / norm;
        assert!((ratio - 1.0).abs() < 1e-3, "{at}: {norm}");
    }
    let tokens = &sequences()[0].tokens;
    agree(
        &log_probabilities(&model, tokens),
        &recorded.logprobs_after,
        1e-3,
    );

    let written = dir.path().join("adapter");
    let origin = origin(&model, PromptForm::Examples);
    write_adapter(&model, "tiny", &origin, &written).unwrap();
    let read = |folder: &Path| {
        candle_core::safetensors::load(folder.join(TENSORS_FILE), &Device::Cpu).unwrap()
    };
    let (ours, theirs) = (read(&written), read(&fixtures().join("adapter")));
    assert_eq!(ours.len(), theirs.len());
    for (name, theirs) in &theirs {
        let difference = (&ours[name] - theirs).unwrap().abs().unwrap();
        let most: f32 = difference.max_all().unwrap().to_scalar().unwrap();
        assert!(most < 1e-3, "{name}: {most}");
    }
    let settings = |folder: &Path| -> serde_json::Value {
        let text = std::fs::read_to_string(folder.join(SETTINGS_FILE)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (ours, theirs) = (settings(&written), settings(&fixtures().join("adapter")));
    let keys = [
        "r",
        "target_modules",
        "trainable_token_indices",
        "peft_type",
        "bias",
    ];
    for key in keys {
        assert_eq!(ours[key], theirs[key], "{key}");
    }
}

#[test]
fn an_adapter_of_peft_answers_as_there() {
    let dir = base();
    let tokens = &sequences()[0].tokens;
    let adapter = fixtures().join("adapter");
    let merged = Checkpoint::open(dir.path(), Some(&adapter)).unwrap();
    let device = ken_model::decoder::Device::Cpu;
    let model = Trainable::new(&merged, Tuning::Full, device, 1).unwrap();
    agree(
        &log_probabilities(&model, tokens),
        &recorded().logprobs_after,
        1e-4,
    );
    let options = with!(LoadOptions::default(), adapter: Some(adapter));
    Decoder::load(dir.path(), &options).unwrap();
}
