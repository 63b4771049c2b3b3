//! Adapters in PEFT's files on tiny decoders, against the reference with their weights merged in.

use ken_model::decoder::{Decoder, LoadOptions, SETTINGS_FILE, TENSORS_FILE};
use serde_json::json;
use tempfile::TempDir;

use super::checkpoint::{Tensors, Tiny};
use super::folder::{self, Layout};
use super::reference;

const RANK: usize = 2;
const ALPHA: f32 = 6.0;

/// The two matrices of some modules.
fn pairs(weights: &Tensors) -> Tensors {
    let mut tensors = Tensors::new();
    for module in [
        "model.layers.0.self_attn.q_proj",
        "model.layers.1.mlp.down_proj",
    ] {
        let shape = &weights[&format!("{module}.weight")].0;
        let numbers = |count: usize| (0..count).map(|i| (i as f32 * 0.37).sin() / 4.0).collect();
        let (outputs, inputs) = (shape[0], shape[1]);
        tensors.insert(
            format!("{module}.lora_A.weight"),
            (vec![RANK, inputs], numbers(RANK * inputs)),
        );
        tensors.insert(
            format!("{module}.lora_B.weight"),
            (vec![outputs, RANK], numbers(outputs * RANK)),
        );
    }
    tensors
}

/// `W + scale * B A`.
fn merged(mut weights: Tensors, pairs: &Tensors) -> Tensors {
    for (name, ([rank, inputs], down)) in pairs.iter().filter_map(|(name, (shape, numbers))| {
        Some((
            name.strip_suffix(".lora_A.weight")?,
            (<[usize; 2]>::try_from(shape.as_slice()).ok()?, numbers),
        ))
    }) {
        let up = &pairs[&format!("{name}.lora_B.weight")].1;
        let weight = &mut weights.get_mut(&format!("{name}.weight")).unwrap().1;
        for (place, number) in weight.iter_mut().enumerate() {
            let (row, column) = (place / inputs, place % inputs);
            let product: f32 = (0..rank)
                .map(|k| up[row * rank + k] * down[k * inputs + column])
                .sum();
            *number += ALPHA / rank as f32 * product;
        }
    }
    weights
}

#[test]
fn an_adapter_is_merged_into_a_gemma() {
    let tiny = Tiny::new("gemma3_text");
    let dir = TempDir::new().unwrap();
    let weights = folder::write(&tiny, Layout::F32, dir.path());
    let pairs = pairs(&weights);
    let merged = merged(weights, &pairs);
    // The prefixes of PEFT for a model of text, and for multimodal models of two ages.
    for prefix in [
        "base_model.model.model.",
        "base_model.model.language_model.model.",
        "base_model.model.model.language_model.",
    ] {
        let adapter = TempDir::new().unwrap();
        let named = pairs.iter().map(|(name, tensor)| {
            let name = name.replacen("model.", prefix, 1);
            (name, tensor.clone())
        });
        let settings = json!({"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA});
        folder::write_json(&adapter.path().join(SETTINGS_FILE), &settings);
        let path = adapter.path().join(TENSORS_FILE);
        folder::write_tensors(&path, &named.collect(), Layout::F32);
        let options = LoadOptions {
            adapter: Some(adapter.path().to_path_buf()),
            ..LoadOptions::default()
        };
        let decoder = Decoder::load(dir.path(), &options).unwrap();
        let prompt = decoder.prompt("", " the thin engineer").unwrap();
        let score = decoder
            .score(&prompt, &[" is in the tree"])
            .unwrap()
            .remove(0);
        let tokens = [prompt.tokens(), &score.tokens].concat();
        let expected = reference::log_probabilities(&tiny, &merged, &tokens);
        let first = prompt.tokens().len();
        for (place, (&token, &found)) in score.tokens.iter().zip(&score.logprobs).enumerate() {
            let expected = expected[first - 1 + place][token as usize];
            assert!(
                (f64::from(found) - expected).abs() < 1e-4,
                "{found} is not {expected}"
            );
        }
    }
}
