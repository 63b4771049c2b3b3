//! Structured output: answers that fulfil a JSON Schema, over both of OpenAI's APIs.

use ken_testing::{cases, holds};
use serde_json::{Value, json};

use crate::completions::chunks;
use crate::documents::with_notes;
use crate::harness::Ken;
use crate::serve::Serving;

const QUESTION: &str = "Who is the keeper of the Orrin lighthouse?";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 30},
            "sure": {"type": "boolean"},
        },
        "required": ["name", "sure"],
        "additionalProperties": false,
    })
}

fn holds(text: &Value) {
    let answer: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!(answer.as_object().unwrap().len(), 2, "{answer}");
    holds!("{answer}" => answer["name"].is_string() && answer["sure"].is_boolean());
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn answers_fulfil_the_schema() {
    let ken = with_notes();
    let serving = Serving::start(&ken, &["--corpus", "notes=island"]);
    let messages = json!([{"role": "user", "content": QUESTION}]);
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "keeper", "schema": schema()}});
    for model in ["ken/always", "ken/never", "ken/documents"] {
        let body = json!({"model": model, "messages": messages, "response_format": format,
            "max_tokens": 200, "ken": {"style": "full"}});
        let answer = serving.post("/v1/chat/completions", &body);
        holds(&answer["choices"][0]["message"]["content"]);
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        assert_eq!(answer["ken"]["not_used"], json!(["ken.style"]));
    }
    let body = json!({"model": "ken/always", "messages": messages, "stream": true, "response_format": format});
    let (_, streamed) = serving.exchange("POST", "/v1/chat/completions", &body.to_string());
    let chunks = chunks(&streamed);
    let pieces = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
    holds(&json!(pieces.collect::<String>()));

    let format = json!({"format": {"type": "json_schema", "name": "keeper", "schema": schema()}});
    let body = json!({"model": "ken/always", "input": QUESTION, "text": format});
    let answer = serving.post("/v1/responses", &body);
    let message = answer["output"].as_array().unwrap().last().unwrap();
    holds(&message["content"][0]["text"]);

    let any = json!({"type": "json_object"});
    let body = json!({"model": "ken/always", "messages": messages, "response_format": any, "max_tokens": 150});
    let answer = serving.post("/v1/chat/completions", &body);
    let choice = &answer["choices"][0];
    let text = choice["message"]["content"].as_str().unwrap();
    assert!(text.starts_with('{'), "{text}");
    if choice["finish_reason"] == "stop" {
        assert!(serde_json::from_str::<Value>(text).unwrap().is_object());
    }
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn a_schema_that_cannot_be_enforced_is_refused() {
    let ken = Ken::new();
    let serving = Serving::start(&ken, &["--policy", "never"]);
    let messages = json!([{"role": "user", "content": "Hello?"}]);
    for (format, code) in cases![
        json!({"type": "grammar"}) => "unsupported_parameter";
        json!({"type": "json_schema"}) => "unsupported_parameter";
        json!({"type": "json_schema", "json_schema": {"schema": {"type": "nothing"}}}) =>
            "unusable_input";
        json!({"type": "json_schema", "json_schema": {"schema": {"enum": vec!["a long text"; 20_000]}}}) =>
            "context_length_exceeded";
    ] {
        let body = json!({"model": "ken", "messages": messages, "response_format": format});
        serving.refuses("/v1/chat/completions", &body, 400, ["code", code]);
    }
}
