//! What a model computes, and what the doctor says of existing models.

use ken_testing::{has, holds};
use serde_json::Value;

use crate::harness::{Ken, argument, embedder, generator, keys, number, refused};

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_continuation_is_scored_token_by_token() {
    let ken = Ken::new();
    let model = generator();
    let arguments = ["model", "score", argument(&model)];
    let words = [
        "--prompt",
        "The capital of France is",
        "--continuation",
        " Paris",
    ];
    let score = ken.json(&[&arguments[..], &words].concat());
    assert_eq!(
        keys(&score),
        ["prompt_tokens", "continuation_tokens", "logprobs"]
    );
    let tokens = score["continuation_tokens"].as_array().unwrap();
    let logprobs = score["logprobs"].as_array().unwrap();
    assert!(!score["prompt_tokens"].as_array().unwrap().is_empty());
    assert!(tokens.iter().all(Value::is_u64));
    assert_eq!(tokens.len(), logprobs.len());
    assert!(logprobs.iter().all(|value| number(value) <= 0.0));
    let sum: f64 = logprobs.iter().map(number).sum();
    assert!(sum > -5.0, "the model finds Paris unlikely: {sum}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_embedding_is_a_unit_vector() {
    let ken = Ken::new();
    let model = embedder();
    let embed = ["model", "embed", argument(&model), "--text", "a lighthouse"];
    let result = ken.json(&embed);
    assert_eq!(keys(&result), ["embedding"]);
    let vector = result["embedding"].as_array().unwrap();
    assert_eq!(vector.len(), 384);
    let norm: f64 = vector.iter().map(|value| number(value).powi(2)).sum();
    assert!((norm - 1.0).abs() < 1e-4, "{norm}");
    let text = ken.text(&embed);
    assert_eq!(text.split_whitespace().count(), 384);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_doctor_tries_the_models_that_are_there() {
    let ken = Ken::new();
    let findings = ken.json(&["doctor"]);
    assert_eq!(findings["ok"], true);
    for model in ["model", "embedder"] {
        has!(findings[model], ["ready"]: true, ["problem"]: Value::Null);
    }
    for field in ["version", "machine", "python", "hub", "cache", "settings"] {
        holds!("{field} is not in {findings}" => findings.get(field).is_some());
    }
}

#[test]
fn only_models_that_are_there_can_be_measured() {
    let ken = Ken::new();
    let mut bench = ken.command(&["doctor", "--bench", "--json"]);
    let output = bench.env("KEN_EMBEDDER", "./nowhere").output().unwrap();
    refused(output).is(
        "not_ready",
        "--bench measures a model and an embedder on this machine",
        "`ken doctor` without --bench says which",
    );
}
