//! Two tiny cross-encoders against the results of transformers, and each kind of broken model against its error.

use std::path::{Path, PathBuf};

use ken_language::PairScorer;
use ken_model::Precision;
use ken_model::encoder::{CrossEncoder, EncoderError};
use ken_testing::holds;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::says;

/// Pairs of a query and a passage, and the output of each model for them.
#[derive(Deserialize)]
struct Recorded {
    pairs: Vec<(String, String)>,
    bert: Vec<f64>,
    roberta: Vec<f64>,
}

fn fixtures() -> PathBuf {
    PathBuf::from("tests/fixtures/cross_encoders")
}

fn recorded() -> Recorded {
    let text = std::fs::read_to_string(fixtures().join("recorded.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn load(name: &str) -> CrossEncoder {
    CrossEncoder::load(&fixtures().join(name), Precision::F32).unwrap()
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs
        .iter()
        .map(|(query, passage)| (query.as_str(), passage.as_str()))
        .collect()
}

#[track_caller]
fn close(found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (at, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        holds!("pair {at}: {found} is not {expected}" =>
            (f64::from(found) - expected).abs() < tolerance);
    }
}

/// Texts longer than the input are among the pairs, and empty ones.
#[test]
fn scores_are_those_of_transformers() {
    let recorded = recorded();
    for (name, expected) in [("bert", &recorded.bert), ("roberta", &recorded.roberta)] {
        let scores = load(name).score(&borrowed(&recorded.pairs)).unwrap();
        close(&scores, expected, 2e-5);
    }
}

#[test]
fn weights_in_8_bits_are_close() {
    let recorded = recorded();
    let coarse = CrossEncoder::load(&fixtures().join("bert"), Precision::Int8).unwrap();
    let scores = coarse.score(&borrowed(&recorded.pairs)).unwrap();
    close(&scores, &recorded.bert, 0.3);
}

#[test]
fn a_query_longer_than_the_input_is_truncated_with_the_passage() {
    let model = load("bert");
    assert_eq!(model.max_tokens(), 40);
    // 37 tokens beside the three special ones: 18 of the query, 19 of the passage.
    let words = |word: &str, count: usize| vec![word; count].join(" ");
    let cut = model.score(&[(&words("seals", 3000), &words("island", 5000))]);
    let kept = model.score(&[(&words("seals", 18), &words("island", 19))]);
    assert_eq!(cut.unwrap(), kept.unwrap());
    // A short text stays whole.
    let cut = model.score(&[(&words("seals", 5), &words("island", 5000))]);
    let kept = model.score(&[(&words("seals", 5), &words("island", 32))]);
    assert_eq!(cut.unwrap(), kept.unwrap());
}

#[test]
fn no_pairs_have_no_scores() {
    assert!(load("bert").score(&[]).unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_batch_equals_its_pairs_one_by_one(
        pairs in prop::collection::vec(("[a-z ]{0,40}", "\\PC{0,200}"), 1..30),
    ) {
        for name in ["bert", "roberta"] {
            let model = load(name);
            let pairs = borrowed(&pairs);
            let together = model.score(&pairs).unwrap();
            for (pair, together) in pairs.iter().zip(together) {
                let alone = model.score(&[*pair]).unwrap()[0];
                prop_assert!((alone - together).abs() < 1e-5, "{} is not {}", alone, together);
            }
        }
    }
}

/// A copy of the BERT fixture that can be broken.
fn copied() -> TempDir {
    let dir = TempDir::new().unwrap();
    for name in [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "model.safetensors",
    ] {
        std::fs::copy(fixtures().join("bert").join(name), dir.path().join(name)).unwrap();
    }
    dir
}

fn change(dir: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    let path = dir.join(name);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

/// The error of loading a broken model, or of scoring with it.
fn broken(damage: impl FnOnce(&Path)) -> EncoderError {
    let dir = copied();
    damage(dir.path());
    match CrossEncoder::load(dir.path(), Precision::F32) {
        Ok(model) => model.score(&[("a", "b")]).unwrap_err(),
        Err(error) => error,
    }
}

#[test]
fn another_architecture_is_named() {
    for class in ["BertModel", "DebertaV2ForSequenceClassification"] {
        let error = broken(|dir| {
            change(dir, "config.json", |config| {
                config["architectures"] = json!([class]);
            });
        });
        says(&error, "not_a_cross_encoder", &[class, "config.json"]);
    }
    let error = broken(|dir| {
        change(dir, "config.json", |config| {
            *config = json!({"model_type": "t5"});
        });
    });
    says(&error, "not_a_cross_encoder", &["t5"]);
}

#[test]
fn several_labels_are_refused() {
    let error = broken(|dir| {
        change(dir, "config.json", |config| {
            config["id2label"] = json!({"0": "no", "1": "yes"});
        });
    });
    says(&error, "encoder_setting_unsupported", &["labels", "\"2\""]);
}

#[test]
fn a_network_without_its_head_is_refused() {
    let error = broken(|dir| {
        change(dir, "config.json", |config| {
            config["architectures"] = json!(["RobertaForSequenceClassification"]);
        });
    });
    says(
        &error,
        "encoder_tensor_missing",
        &["classifier.dense.weight"],
    );
}

#[test]
fn missing_and_cut_files_are_named() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let error = broken(|dir| std::fs::remove_file(dir.join(name)).unwrap());
        says(&error, "encoder_file_missing", &[name]);
    }
    let error = broken(|dir| {
        let path = dir.join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    });
    says(&error, "encoder_weights_corrupt", &["model.safetensors"]);
}

#[test]
fn an_input_without_room_is_refused() {
    let error = broken(|dir| {
        change(dir, "tokenizer_config.json", |config| {
            config["model_max_length"] = json!(4);
        });
    });
    says(&error, "encoder_tokenizer_invalid", &["3 tokens", "4"]);
}

#[test]
fn a_token_type_that_the_model_does_not_have_is_named() {
    let error = broken(|dir| {
        change(dir, "tokenizer.json", |tokenizer| {
            tokenizer["post_processor"] = json!({
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [
                    {"Sequence": {"id": "A", "type_id": 0}},
                    {"Sequence": {"id": "B", "type_id": 5}},
                ],
                "special_tokens": {},
            });
        });
    });
    says(&error, "encoder_token_type_unknown", &["5", "2"]);
}

#[test]
fn fingerprints_distinguish_models_and_limits() {
    let first = load("bert").fingerprint().to_owned();
    assert_eq!(first, load("bert").fingerprint());
    assert_ne!(first, load("roberta").fingerprint());
    let dir = copied();
    change(dir.path(), "tokenizer_config.json", |config| {
        config["model_max_length"] = json!(20);
    });
    let shorter = CrossEncoder::load(dir.path(), Precision::F32).unwrap();
    assert_ne!(first, shorter.fingerprint());
}
