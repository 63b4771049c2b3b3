//! Text continued unchanged: its log probabilities are the recorded ones, and a JSON Schema constrains it.

use std::iter::zip;
use std::ops::ControlFlow;

use ken_language::{
    Finish, GenerateOptions, LogprobOptions, OutputSchema, Sampling, TextModel, TextRequest,
};
use ken_model::Precision;
use ken_model::decoder::GenerateRequest;
use ken_testing::{holds, with};
use serde_json::{Value, json};

use super::{MODEL, RECORDED, load};

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_log_probabilities_of_a_text_are_as_recorded() {
    let options = GenerateOptions::new(Sampling::Greedy, 0);
    let logprobs = LogprobOptions {
        top: 2,
        prompt: true,
    };
    let texts = RECORDED.cases.iter().map(|case| {
        let tokens = [&case.prompt_tokens, &case.continuation_tokens];
        tokens.into_iter().flatten().copied().collect::<Vec<u32>>()
    });
    let texts: Vec<Vec<u32>> = texts.collect();
    let requests = texts.iter().map(|tokens| TextRequest {
        tokens,
        samples: 1,
        options: &options,
        logprobs: Some(logprobs),
    });
    let requests: Vec<_> = requests.collect();
    let scored = MODEL.complete(&requests, &mut |_| ControlFlow::Continue(()));
    for ((case, tokens), scored) in zip(&RECORDED.cases, &texts).zip(scored.unwrap()) {
        let continuation = &scored.prompt[case.prompt_tokens.len()..];
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
            MODEL.decode(tokens).unwrap(),
            format!("{}{}", case.prompt, case.continuation)
        );
    }
}

/// Greedy and sampled, in a batch with another, unconstrained prompt.
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_schema_constrains_a_text() {
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
    let schema = Some(OutputSchema::new(schema));
    let decoder = load(Precision::Auto);
    let prompt = decoder
        .prompt("", "Tell me of a place in France, as JSON:")
        .unwrap();
    let plain = GenerateOptions::new(Sampling::Greedy, 8);
    for sampling in [Sampling::Greedy, Sampling::at(1.5, 3)] {
        let options = with!(GenerateOptions::new(sampling, 120), schema: schema.clone());
        let request = |options, samples| GenerateRequest::new(&prompt, samples, options);
        let requests = [request(&options, 3), request(&plain, 1)];
        let texts = decoder.generate_many(&requests, &mut |_| ControlFlow::Continue(()));
        let texts = texts.unwrap();
        for text in &texts[0] {
            assert_eq!(text.finish, Finish::End, "{}", text.text);
            let value: Value = serde_json::from_str(&text.text).unwrap();
            let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
            assert_eq!(keys.len(), 3, "{value}");
            assert!(value["city"].as_str().unwrap().chars().count() <= 20);
            holds!("{value}" => value["inhabitants"].is_i64() || value["inhabitants"].is_u64());
            assert!(value["kind"] == "town" || value["kind"] == "village");
        }
        let alone = decoder.generate_many(&requests[..1], &mut |_| ControlFlow::Continue(()));
        let same = zip(&texts[0], &alone.unwrap()[0]).all(|(a, b)| a.text == b.text);
        assert!(same, "it does not depend on the batch");
        assert!(serde_json::from_str::<Value>(&texts[1][0].text).is_err());
    }
    for wrong in [
        json!({"type": "nothing"}),
        json!({"$ref": "http://127.0.0.1/x"}),
    ] {
        let options = with!(plain.clone(), schema: Some(OutputSchema::new(wrong)));
        let refused = decoder.generate(&prompt, &options, &mut |_| ControlFlow::Continue(()));
        let error = refused.unwrap_err();
        assert!(error.to_string().contains("cannot be enforced"), "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}
