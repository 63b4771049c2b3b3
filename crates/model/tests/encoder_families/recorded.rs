//! Tiny embedders of every family against the results of transformers for the same weights
//! (`fixtures/record_encoders.py`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use ken_language::{Embedder, Role};
use ken_model::Precision;
use ken_model::encoder::Encoder;
use ken_testing::{cases, holds};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::checkpoint::{Tensors, write_json, write_tensors};

/// Numbers may differ by this much; they were computed in 32 bits.
const TOLERANCE: f32 = 1e-4;

static RECORDED: LazyLock<Recorded> =
    LazyLock::new(|| serde_json::from_str(include_str!("../fixtures/encoders.json")).unwrap());

#[derive(Deserialize)]
struct Recorded {
    sequences: Vec<Vec<usize>>,
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
struct Model {
    config: Value,
    /// The shapes of the tensors, by name.
    tensors: BTreeMap<String, Vec<usize>>,
    /// One per sequence.
    outcomes: Vec<Outcome>,
}

/// The final hidden states of a sequence.
#[derive(Deserialize)]
struct Outcome {
    mean: Vec<f32>,
    first: Vec<f32>,
    last: Vec<f32>,
}

/// Numbers derived from a name, as in the script.
pub(crate) fn drawn(name: &str, count: usize) -> impl Iterator<Item = f64> {
    let mut state = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (0..count).map(move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    })
}

fn weights(model: &Model) -> Tensors {
    let tensors = model.tensors.iter().map(|(name, shape)| {
        let (mean, spread) = match name {
            name if name.ends_with("bias") => (0.0, 1.0),
            _ if shape.len() == 1 => (1.0, 0.5),
            _ => (0.0, 2.0 / (shape[shape.len() - 1] as f64).sqrt()),
        };
        let numbers = drawn(name, shape.iter().product());
        let numbers = numbers.map(|number| (mean + spread * number) as f32);
        (name.clone(), (shape.clone(), numbers.collect()))
    });
    tensors.collect()
}

/// A tokenizer of words that are the ids of tokens, which adds no token.
fn tokenizer() -> Value {
    let vocabulary: BTreeMap<String, usize> = (0..40).map(|id| (format!("t{id}"), id)).collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": { "type": "Whitespace" },
        "post_processor": null,
        "decoder": null,
        "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "t1" },
    })
}

fn write(model: &Model, pooling: &str, prefix: &str, dir: &Path) {
    write_json(&dir.join("config.json"), &model.config);
    write_json(&dir.join("tokenizer.json"), &tokenizer());
    let modules = json!([
        { "path": "", "type": "sentence_transformers.models.Transformer" },
        { "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" },
    ]);
    write_json(&dir.join("modules.json"), &modules);
    std::fs::create_dir_all(dir.join("1_Pooling")).unwrap();
    write_json(
        &dir.join("1_Pooling/config.json"),
        &json!({ pooling: true }),
    );
    write_tensors(dir, prefix, &weights(model), false);
}

fn assert_as_recorded(name: &str, prefix: &str) {
    let model = &RECORDED.models[name];
    for pooling in [
        "pooling_mode_mean_tokens",
        "pooling_mode_cls_token",
        "pooling_mode_lasttoken",
    ] {
        let dir = TempDir::new().unwrap();
        write(model, pooling, prefix, dir.path());
        let encoder = Encoder::load(dir.path(), Precision::F32).unwrap();
        let text = |ids: &Vec<usize>| ids.iter().map(|id| format!("t{id} ")).collect::<String>();
        let texts: Vec<String> = RECORDED.sequences.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = encoder.embed(&texts, Role::Passage).unwrap();
        for ((vector, outcome), text) in vectors.iter().zip(&model.outcomes).zip(&texts) {
            let expected = match pooling {
                "pooling_mode_cls_token" => &outcome.first,
                "pooling_mode_lasttoken" => &outcome.last,
                _ => &outcome.mean,
            };
            assert_eq!(vector.len(), expected.len());
            for (place, (number, expected)) in vector.iter().zip(expected).enumerate() {
                holds!("{name}, {pooling}, number {place} of {text}: {number} is not {expected}" =>
                    (number - expected).abs() < TOLERANCE);
            }
        }
    }
}

#[test]
fn every_family_computes_what_transformers_computes() {
    for (name, prefix) in [
        ("mpnet", ""),
        ("mpnet", "mpnet."),
        ("distilbert", "distilbert."),
        ("nomic_bert", ""),
        ("nomic_bert_scaled", ""),
        ("nomic_bert_native", ""),
        ("modernbert", ""),
        ("modernbert", "model."),
        ("modernbert_biased", ""),
        ("qwen3", ""),
        ("qwen3", "model."),
    ] {
        assert_as_recorded(name, prefix);
    }
}

#[test]
fn an_embedding_is_cut_where_the_model_says_so() {
    let dir = TempDir::new().unwrap();
    write(
        &RECORDED.models["qwen3"],
        "pooling_mode_lasttoken",
        "",
        dir.path(),
    );
    let whole = Encoder::load(dir.path(), Precision::F32).unwrap();
    let config = dir.path().join("config_sentence_transformers.json");
    write_json(&config, &json!({ "truncate_dim": 12 }));
    let cut = Encoder::load(dir.path(), Precision::F32).unwrap();
    assert_eq!((cut.dimensions(), whole.dimensions()), (12, 32));
    assert_ne!(cut.fingerprint(), whole.fingerprint());
    let embed = |encoder: &Encoder| encoder.embed(&["t5 t9"], Role::Query).unwrap().remove(0);
    assert_eq!(embed(&cut), embed(&whole)[..12]);
    write_json(&config, &json!({ "truncate_dim": 33 }));
    let error = Encoder::load(dir.path(), Precision::F32).err().unwrap();
    super::says(
        &error,
        "encoder_setting_unsupported",
        &["truncate_dim", "33"],
    );
}

#[test]
fn what_no_published_model_has_is_refused() {
    for (name, setting, value, told) in cases![
        "nomic_bert" => "prenorm", json!(true), "prenorm";
        "nomic_bert" => "rotary_emb_fraction", json!(0.5), "0.5";
        "modernbert_biased" => "layer_types", json!(["full_attention"]), "layer_types";
        "qwen3" => "use_sliding_window", json!(true), "use_sliding_window";
        "qwen3" => "rope_scaling", json!({ "rope_type": "yarn" }), "yarn";
        "qwen3" => "num_key_value_heads", json!(3), "num_key_value_heads";
        "qwen3" => "head_dim", json!(1_u64 << 40), "head_dim";
    ] {
        let dir = TempDir::new().unwrap();
        let model = &RECORDED.models[name];
        write(model, "pooling_mode_cls_token", "", dir.path());
        let mut config = model.config.clone();
        config[setting] = value;
        write_json(&dir.path().join("config.json"), &config);
        let error = Encoder::load(dir.path(), Precision::F32).err().unwrap();
        super::says(&error, "encoder_setting_unsupported", &[told]);
    }
}
