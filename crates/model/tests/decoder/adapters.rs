//! Adapters in PEFT's files on tiny decoders, against the reference with their weights merged in.

use std::iter::zip;
use std::path::Path;

use candle_core::quantized::GgmlDType;
use ken_model::Precision;
use ken_model::decoder::{
    Checkpoint, Decoder, Device, LoadOptions, SETTINGS_FILE, ScoreRequest, TENSORS_FILE,
};
use ken_testing::{holds, with};
use serde_json::json;
use tempfile::TempDir;

use super::checkpoint::{Tensors, Tiny};
use super::folder::{self, Layout};
use super::{gguf, reference};

const RANK: usize = 2;
const ALPHA: f32 = 6.0;

/// The two matrices of some modules.
fn pairs(weights: &Tensors) -> Tensors {
    let mut tensors = Tensors::new();
    let modules = [
        "model.layers.0.self_attn.q_proj",
        "model.layers.1.self_attn.qkv_proj",
        "model.layers.1.self_attn.v_proj",
        "model.layers.1.mlp.up_proj",
        "model.layers.1.mlp.down_proj",
        "model.layers.0.mlp.experts.1.down_proj",
        "model.layers.1.mlp.experts.2.up_proj",
    ];
    let has = |module: &&str| weights.contains_key(&format!("{module}.weight"));
    for module in modules.into_iter().filter(has) {
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

/// Writes an adapter with these tensors, with `prefix` replacing the first part of their names.
fn write(pairs: &Tensors, prefix: &str, tokens: Option<&[u32]>) -> TempDir {
    let adapter = TempDir::new().unwrap();
    let named = pairs.iter().map(|(name, tensor)| {
        let name = name.replacen("model.", prefix, 1);
        (name, tensor.clone())
    });
    let mut settings = json!({"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA});
    if let Some(tokens) = tokens {
        settings["trainable_token_indices"] = json!(tokens);
    }
    folder::write_json(&adapter.path().join(SETTINGS_FILE), &settings);
    let path = adapter.path().join(TENSORS_FILE);
    folder::write_tensors(&path, &named.collect(), Layout::F32);
    adapter
}

fn load(model: &Path, adapter: &TempDir, device: Device, precision: Precision) -> Decoder {
    let options = with!(LoadOptions::default(), adapter: Some(adapter.path().to_path_buf()),
        device: device, precision: precision);
    Decoder::load(model, &options).unwrap()
}

/// The greatest difference of log probabilities from those of the reference.
fn worst(decoder: &Decoder, tiny: &Tiny, weights: &Tensors) -> f64 {
    let prompt = decoder.prompt("", " the thin engineer").unwrap();
    let score = decoder
        .score(&prompt, &[" is in the tree"])
        .unwrap()
        .remove(0);
    let tokens = [prompt.tokens(), &score.tokens].concat();
    let expected = reference::log_probabilities(tiny, weights, &tokens);
    let first = prompt.tokens().len();
    let differences =
        zip(&score.tokens, &score.logprobs)
            .enumerate()
            .map(|(place, (&token, &found))| {
                (f64::from(found) - expected[first - 1 + place][token as usize]).abs()
            });
    differences.fold(0.0, f64::max)
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
        let adapter = write(&pairs, prefix, None);
        let decoder = load(dir.path(), &adapter, Device::Cpu, Precision::Auto);
        let worst = worst(&decoder, &tiny, &merged);
        assert!(worst < 1e-4, "{worst}");
    }
}

/// Llama's query rows are in another order in the file, and three projections are multiplied as one.
#[test]
fn beside_quantized_weights_an_adapter_gives_what_it_gives_merged() {
    for (model_type, dtype) in [
        ("llama", GgmlDType::Q4_0),
        ("qwen2", GgmlDType::Q8_0),
        ("phi3", GgmlDType::Q5_1),
        ("qwen3_moe", GgmlDType::Q8_0),
    ] {
        let tiny = Tiny::new(model_type);
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("tiny.gguf");
        let weights = gguf::write(&tiny, dtype, &path);
        let mut changed = pairs(&weights);
        let mut merged = merged(weights, &changed);
        // Rows of the embedding, which is the output projection too.
        let tokens = [3, 9];
        let table = &mut merged.get_mut("model.embed_tokens.weight").unwrap().1;
        let rows: Vec<f32> = (0..tokens.len() * tiny.hidden)
            .map(|i| (i as f32 * 0.71).cos() / 3.0)
            .collect();
        for (&token, row) in zip(&tokens, rows.chunks(tiny.hidden)) {
            table[token as usize * tiny.hidden..][..tiny.hidden].copy_from_slice(row);
        }
        changed.insert(
            "model.embed_tokens.token_adapter.trainable_tokens_delta".to_owned(),
            (vec![tokens.len(), tiny.hidden], rows),
        );
        let adapter = write(&changed, "base_model.model.model.", Some(&tokens));
        for (device, precision, bound) in [
            (Device::Cpu, Precision::F32, 1e-4),
            (Device::Cpu, Precision::Auto, 1e-4),
            (Device::Reference, Precision::Auto, 1e-4),
            (Device::Cpu, Precision::Int8, 0.3),
        ] {
            let decoder = load(&path, &adapter, device, precision);
            let worst = worst(&decoder, &tiny, &merged);
            holds!("{model_type}, {device}, {precision}: {worst}" => worst < bound);
        }
        let footprint = |adapter: Option<&Path>| {
            let checkpoint = Checkpoint::open(&path, adapter).unwrap();
            checkpoint.footprint(Precision::Auto).unwrap().weight_bytes
        };
        let (without, with) = (footprint(None), footprint(Some(adapter.path())));
        let numbers: usize = changed.values().map(|(_, numbers)| numbers.len()).sum();
        let added = with - without;
        assert!(added >= 4 * numbers as u64, "{added} for {numbers} numbers");
        // Merged, the table alone would take more.
        holds!("{added}" => added < 4 * (tiny.vocabulary * tiny.hidden) as u64);
    }
}

#[test]
fn with_an_adapter_an_answer_is_the_same_in_any_batch() {
    let tiny = Tiny::new("llama");
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("tiny.gguf");
    let weights = gguf::write(&tiny, GgmlDType::Q4_0, &path);
    let adapter = write(&pairs(&weights), "base_model.model.model.", None);
    for precision in [Precision::F32, Precision::Int8] {
        let decoder = load(&path, &adapter, Device::Cpu, precision);
        let prompt = |text| decoder.prompt("", text).unwrap();
        let prompts = [
            prompt(" the thin engineer"),
            prompt(" is"),
            prompt(" in the tree"),
        ];
        let continuations = [" is in", " the tree", " thin"];
        let requests: Vec<ScoreRequest> = prompts
            .iter()
            .map(|prompt| ScoreRequest::new(prompt, &continuations))
            .collect();
        let together = decoder.score_many(&requests).unwrap();
        for (prompt, together) in zip(&prompts, &together) {
            for (continuation, together) in zip(continuations, together) {
                let alone = decoder.score(prompt, &[continuation]).unwrap();
                assert_eq!(&alone[0], together);
            }
        }
    }
}

#[test]
fn tokens_that_are_trained_twice_are_refused() {
    let tiny = Tiny::new("llama");
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("tiny.gguf");
    gguf::write(&tiny, GgmlDType::Q4_0, &path);
    let rows = (vec![2, tiny.hidden], vec![0.0; 2 * tiny.hidden]);
    let name = "model.embed_tokens.token_adapter.trainable_tokens_delta";
    let rows = [(name.to_owned(), rows)].into();
    let adapter = write(&rows, "base_model.model.model.", Some(&[4, 4]));
    let error = Checkpoint::open(&path, Some(adapter.path())).err().unwrap();
    assert!(error.to_string().contains("trained tokens"), "{error}");
}
