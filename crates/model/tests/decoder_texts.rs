//! Texts of the real SmolLM2-135M-Instruct: what is told of their tokens is what an independent f64 forward pass gave
//! (`fixtures/record_smollm2.py`), and they are held to forms.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::iter::zip;
use std::ops::ControlFlow;
use std::path::PathBuf;

use ken_language::{Finish, Form, GenerateOptions, Sampling, TextModel, TextRequest, Told};
use ken_model::Precision;
use ken_model::decoder::{Decoder, GenerateRequest, LoadOptions};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    prompt: String,
    prompt_tokens: Vec<u32>,
    continuation: String,
    continuation_tokens: Vec<u32>,
    logprobs: Vec<f32>,
}

fn load(precision: Precision) -> Decoder {
    let models = std::env::var_os("KEN_TEST_MODELS").expect(
        "KEN_TEST_MODELS is not set: run this test by `cargo xtask test`, which prepares the models",
    );
    let path = PathBuf::from(models).join("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
    let options = LoadOptions {
        precision,
        ..LoadOptions::default()
    };
    Decoder::load(&path, &options).unwrap()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_told_of_a_text_is_as_recorded() {
    let recorded: Recorded = serde_json::from_str(include_str!("fixtures/smollm2.json")).unwrap();
    let model = load(Precision::F32);
    let options = GenerateOptions::new(Sampling::Greedy, 0);
    let told = Told {
        alternatives: 2,
        of_text: true,
    };
    let texts = recorded.cases.iter().map(|case| {
        let tokens = [&case.prompt_tokens, &case.continuation_tokens];
        tokens.into_iter().flatten().copied().collect::<Vec<u32>>()
    });
    let texts: Vec<Vec<u32>> = texts.collect();
    let requests = texts.iter().map(|tokens| TextRequest {
        tokens,
        samples: 1,
        options: &options,
        told: Some(told),
    });
    let requests: Vec<_> = requests.collect();
    let told = model.continue_texts(&requests, &mut |_| ControlFlow::Continue(()));
    for ((case, tokens), told) in zip(&recorded.cases, &texts).zip(told.unwrap()) {
        let continuation = &told.text[case.prompt_tokens.len()..];
        for (found, expected) in zip(continuation, &case.logprobs) {
            let found = found.logprob.unwrap();
            assert!((found - expected).abs() < 5e-4, "{found} is not {expected}");
        }
        let text: String = continuation
            .iter()
            .map(|token| token.text.as_str())
            .collect();
        // A part of a character has its name in the vocabulary.
        if case.continuation.is_ascii() {
            assert_eq!(text, case.continuation);
        }
        assert_eq!(
            model.decode(tokens).unwrap(),
            format!("{}{}", case.prompt, case.continuation)
        );
    }
}

/// Greedy and drawn, of one prompt and beside others that are held to nothing.
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_text_is_held_to_its_form() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 20},
            "inhabitants": {"type": "integer"},
            "kind": {"enum": ["town", "village"]},
        },
        "required": ["city", "inhabitants", "kind"],
        "additionalProperties": false,
    });
    let form = Some(Form::of_schema(schema));
    let decoder = load(Precision::Auto);
    let prompt = decoder
        .prompt("", "Tell me of a place in France, as JSON:")
        .unwrap();
    let plain = GenerateOptions::new(Sampling::Greedy, 8);
    for sampling in [Sampling::Greedy, Sampling::at(1.5, 3)] {
        let options = GenerateOptions {
            form: form.clone(),
            ..GenerateOptions::new(sampling, 120)
        };
        let request = |options, samples| GenerateRequest {
            prompt: &prompt,
            samples,
            options,
        };
        let requests = [request(&options, 3), request(&plain, 1)];
        let texts = decoder.generate_many(&requests, &mut |_| ControlFlow::Continue(()));
        let texts = texts.unwrap();
        for text in &texts[0] {
            assert_eq!(text.finish, Finish::End, "{}", text.text);
            let told: Value = serde_json::from_str(&text.text).unwrap();
            let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
            assert_eq!(keys.len(), 3, "{told}");
            assert!(told["city"].as_str().unwrap().chars().count() <= 20);
            assert!(
                told["inhabitants"].is_i64() || told["inhabitants"].is_u64(),
                "{told}"
            );
            assert!(told["kind"] == "town" || told["kind"] == "village");
        }
        let alone = decoder.generate_many(&requests[..1], &mut |_| ControlFlow::Continue(()));
        let same = zip(&texts[0], &alone.unwrap()[0]).all(|(one, other)| one.text == other.text);
        assert!(same, "a form depends on no company");
        assert!(serde_json::from_str::<Value>(&texts[1][0].text).is_err());
    }
    for wrong in [
        json!({"type": "nothing"}),
        json!({"$ref": "http://127.0.0.1/x"}),
    ] {
        let options = GenerateOptions {
            form: Some(Form::of_schema(wrong)),
            ..plain.clone()
        };
        let refused = decoder.generate(&prompt, &options, &mut |_| ControlFlow::Continue(()));
        let error = refused.unwrap_err();
        assert!(
            error.to_string().contains("cannot be held to this form"),
            "{error}"
        );
        assert!(!error.to_string().contains('\n'));
    }
}
