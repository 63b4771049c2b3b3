//! Encoders on tiny random models: each family, pooling and setting against a plain f64 forward pass,
//! and each kind of broken model against its error. No real model is used.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod checkpoint;
mod cross_encoder;
mod recorded;
mod reference;
mod static_tables;

use std::path::Path;

use checkpoint::{Tensors, Tiny, config, ids, write_json, write_tensors};
use ken_language::{Embedder, Role};
use ken_model::Precision;
use ken_model::encoder::{Encoder, EncoderError};
use ken_testing::{holds, with};
use serde_json::json;
use tempfile::TempDir;

const TEXTS: [&str; 6] = [
    "w3",
    "w0 w1 w2 w3 w4",
    "",
    "w7 w7 w7",
    "w15 w2 w9 w4 w11 w0 w6 w13 w8 w1 w5 w10 w14",
    "w12 w3",
];

fn written(tiny: &Tiny) -> (TempDir, Tensors) {
    let dir = TempDir::new().unwrap();
    let tensors = tiny.write(dir.path());
    (dir, tensors)
}

fn close(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (&found, &expected) in found.iter().zip(expected) {
        holds!("{found} is not {expected}" => (f64::from(found) - expected).abs() < 2e-5);
    }
}

/// Embeds all texts and compares them with the reference.
fn check(tiny: &Tiny, first_position: usize, pool: impl Fn(Vec<Vec<f64>>) -> Vec<f64>) {
    let (dir, tensors) = written(tiny);
    let encoder = Encoder::load(dir.path(), Precision::F32).unwrap();
    assert_eq!(encoder.dimensions(), checkpoint::HIDDEN);
    let vectors = encoder.embed(&TEXTS, Role::Passage).unwrap();
    for (text, vector) in TEXTS.iter().zip(&vectors) {
        close(
            vector,
            &pool(reference::hidden_states(
                &tensors,
                &ids(text),
                first_position,
            )),
        );
    }
}

#[test]
fn mean_pooling_normalized() {
    check(&Tiny::default(), 0, |rows| {
        reference::normalized(&reference::mean(&rows))
    });
}

#[test]
fn cls_pooling_unnormalized() {
    let tiny = with!(Tiny::default(), pooling: "pooling_mode_cls_token", normalize: false);
    check(&tiny, 0, |rows| rows[0].clone());
}

#[test]
fn positions_of_roberta_start_after_the_padding_id() {
    for model_type in ["roberta", "xlm-roberta"] {
        let tiny = with!(Tiny::default(), model_type: model_type, tensor_prefix: "roberta.");
        check(&tiny, 1, |rows| {
            reference::normalized(&reference::mean(&rows))
        });
    }
}

#[test]
fn half_precision_weights_under_the_name_of_the_family() {
    let tiny = with!(Tiny::default(), tensor_prefix: "bert.", halves: true, normalize: false);
    check(&tiny, 0, |rows| reference::mean(&rows));
}

#[test]
fn a_text_is_truncated_to_the_longest_input() {
    let (dir, tensors) = written(&Tiny::default());
    let encoder = Encoder::load(dir.path(), Precision::F32).unwrap();
    assert_eq!(encoder.max_tokens(), Some(18));
    let vectors = encoder
        .embed(&["w1 w2 w3 w4 w5 ".repeat(2000).as_str()], Role::Passage)
        .unwrap();
    let kept = "w1 w2 w3 w4 w5 ".repeat(3) + "w1";
    let rows = reference::hidden_states(&tensors, &ids(&kept), 0);
    close(&vectors[0], &reference::normalized(&reference::mean(&rows)));
}

#[test]
fn the_models_prompts_precede_the_text() {
    let (dir, _) = written(&Tiny::default());
    let plain = Encoder::load(dir.path(), Precision::F32).unwrap();
    let prompts = json!({"prompts": {"query": "w1 w2 ", "document": "w3 "}});
    write_json(
        &dir.path().join("config_sentence_transformers.json"),
        &prompts,
    );
    let prompted = Encoder::load(dir.path(), Precision::F32).unwrap();
    let expected = plain.embed(&["w1 w2 w9", "w3 w9"], Role::Query).unwrap();
    assert_eq!(
        prompted.embed(&["w9"], Role::Query).unwrap()[0],
        expected[0]
    );
    assert_eq!(
        prompted.embed(&["w9"], Role::Passage).unwrap()[0],
        expected[1]
    );
    assert_ne!(prompted.fingerprint(), plain.fingerprint());

    std::fs::remove_file(dir.path().join("config_sentence_transformers.json")).unwrap();
    let none = Encoder::load(dir.path(), Precision::F32).unwrap();
    assert_eq!(none.fingerprint(), plain.fingerprint());
    assert_eq!(
        none.embed(&["w9"], Role::Query).unwrap(),
        plain.embed(&["w9"], Role::Query).unwrap()
    );
}

#[test]
fn the_family_has_prefixes_where_the_model_states_none() {
    let (dir, _) = written(&Tiny::default());
    let mut named = config("bert");
    named["_name_or_path"] = json!("intfloat/e5-small-v2");
    write_json(&dir.path().join("config.json"), &named);
    let stated = json!({"prompts": {"query": "", "document": ""}});
    write_json(
        &dir.path().join("config_sentence_transformers.json"),
        &stated,
    );
    let encoder = Encoder::load(dir.path(), Precision::F32).unwrap();
    assert_eq!(encoder.prefixes().query, "query: ");
    assert_eq!(encoder.prefixes().passage, "passage: ");
}

#[test]
fn fingerprints_distinguish_weights_and_pooling() {
    let (dir, mut tensors) = written(&Tiny::default());
    let (other, _) = written(&with!(Tiny::default(), pooling: "pooling_mode_cls_token"));
    let of = |path: &Path| {
        Encoder::load(path, Precision::F32)
            .unwrap()
            .fingerprint()
            .to_owned()
    };
    let first = of(dir.path());
    assert_eq!(first, of(dir.path()));
    assert_ne!(first, of(other.path()));
    tensors.get_mut("embeddings.LayerNorm.bias").unwrap().1[5] += 0.01;
    write_tensors(dir.path(), "", &tensors, false);
    assert_ne!(first, of(dir.path()));
}

/// Breaks a good embedder and returns the error of loading it, or of embedding "w1" with it.
fn broken(damage: impl FnOnce(&Path, &mut Tensors)) -> EncoderError {
    let (dir, mut tensors) = written(&Tiny::default());
    damage(dir.path(), &mut tensors);
    match Encoder::load(dir.path(), Precision::F32) {
        Ok(encoder) => encoder.embed(&["w1"], Role::Query).unwrap_err(),
        Err(error) => error,
    }
}

#[track_caller]
fn says(error: &EncoderError, kind: &str, words: &[&str]) {
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    for word in words {
        assert!(message.contains(word), "\"{word}\" is not in \"{message}\"");
    }
    assert!(error.remedy().is_some());
}

#[test]
fn a_missing_file_is_named() {
    for name in [
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "1_Pooling/config.json",
    ] {
        let error = broken(|dir, _| std::fs::remove_file(dir.join(name)).unwrap());
        says(&error, "encoder_file_missing", &[name]);
    }
}

#[test]
fn another_architecture_is_named() {
    let error = broken(|dir, _| write_json(&dir.join("config.json"), &config("t5")));
    says(
        &error,
        "encoder_architecture_unsupported",
        &["t5", "config.json"],
    );
    let class = json!({"architectures": ["MPNetModel"]});
    let error = broken(|dir, _| write_json(&dir.join("config.json"), &class));
    says(&error, "encoder_architecture_unsupported", &["MPNetModel"]);
}

/// Claims in the settings take no memory unless the file supports them.
#[test]
fn sizes_beyond_the_file_are_refused() {
    for setting in ["hidden_size", "intermediate_size", "num_hidden_layers"] {
        let mut changed = config("bert");
        changed[setting] = json!(3u64 << 60);
        broken(|dir, _| write_json(&dir.join("config.json"), &changed));
    }
}

#[test]
fn settings_that_are_not_computed_are_refused() {
    for (setting, value) in [
        ("hidden_act", json!("relu")),
        ("position_embedding_type", json!("relative_key")),
        ("num_attention_heads", json!(5)),
        ("num_attention_heads", json!(0)),
        ("max_position_embeddings", json!(0)),
    ] {
        let mut changed = config("bert");
        changed[setting] = value.clone();
        let error = broken(|dir, _| write_json(&dir.join("config.json"), &changed));
        let value = value.as_str().map_or(value.to_string(), str::to_owned);
        says(&error, "encoder_setting_unsupported", &[setting, &value]);
    }
    let pooling = json!({"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true});
    let error = broken(|dir, _| write_json(&dir.join("1_Pooling/config.json"), &pooling));
    says(&error, "encoder_setting_unsupported", &["mean + max"]);
    let modules = json!([{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]);
    let error = broken(|dir, _| write_json(&dir.join("modules.json"), &modules));
    says(
        &error,
        "encoder_setting_unsupported",
        &["sentence_transformers.models.Dense"],
    );
}

#[test]
fn broken_json_is_named_with_its_line() {
    let error =
        broken(|dir, _| std::fs::write(dir.join("config.json"), "{\n\"a\": 1,\n}").unwrap());
    says(&error, "encoder_config_invalid", &["config.json", "line 3"]);
    let error = broken(|dir, _| std::fs::write(dir.join("tokenizer.json"), "{}").unwrap());
    says(&error, "encoder_tokenizer_invalid", &["tokenizer.json"]);
}

#[test]
fn missing_and_misshapen_tensors_are_named() {
    let name = "encoder.layer.1.output.dense.weight";
    let error = broken(|dir, tensors| {
        tensors.remove(name);
        write_tensors(dir, "", tensors, false);
    });
    says(&error, "encoder_tensor_missing", &[name]);
    let error = broken(|dir, tensors| {
        tensors.get_mut(name).unwrap().0.reverse();
        write_tensors(dir, "", tensors, false);
    });
    says(
        &error,
        "encoder_tensor_shape",
        &[name, "[40, 24]", "[24, 40]"],
    );
}

#[test]
fn a_truncated_weights_file_is_an_error_wherever_it_ends() {
    let (dir, _) = written(&Tiny::default());
    let path = dir.path().join("model.safetensors");
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 5, 8, 300, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = Encoder::load(dir.path(), Precision::F32).err().unwrap();
        says(&error, "encoder_weights_corrupt", &["model.safetensors"]);
    }
}

#[test]
fn numbers_that_are_not_finite_are_an_error() {
    let error = broken(|dir, tensors| {
        tensors
            .get_mut("encoder.layer.0.output.dense.bias")
            .unwrap()
            .1[0] = f32::NAN;
        write_tensors(dir, "", tensors, false);
    });
    says(
        &error,
        "encoder_embedding_not_finite",
        &["model.safetensors"],
    );
}

#[test]
fn a_token_without_an_embedding_is_an_error() {
    let error = broken(|dir, _| {
        let path = dir.join("tokenizer.json");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"w1\": 5", "\"w1\": 77")).unwrap();
    });
    says(&error, "encoder_token_unknown", &["77", "20"]);
}
