//! Values out of range, and bodies that are cut off.

use std::io::Write;

use ken_server::Keys;
use ken_testing::{TableModel, cases, says};
use serde_json::{Value, json};

use crate::client::{connect, read, request};
use crate::fixture::{LIMITS, OIL, Running, chat, facts};

#[test]
fn values_out_of_range_are_refused_with_their_names() {
    let server = Running::start();
    let chat_with = |more: Value| ("/v1/chat/completions", chat("always", OIL, &more));
    let search = |body: Value| ("/v1/ken/search", body);
    for ((path, body), status, code, param) in cases![
        chat_with(json!({"model": "gpt-5"})) => 404, "model_not_found", Some("model");
        chat_with(json!({"model": 5})) => 400, "invalid_value", Some("model");
        chat_with(json!({"messages": []})) => 400, "no_question", Some("messages");
        chat_with(json!({"messages": "x"})) => 400, "invalid_value", Some("messages");
        chat_with(json!({"temperature": 9})) => 400, "invalid_value", Some("temperature");
        chat_with(json!({"top_p": -0.1})) => 400, "invalid_value", Some("top_p");
        chat_with(json!({"max_tokens": 0})) => 400, "invalid_value", Some("max_tokens");
        chat_with(json!({"max_tokens": -1})) => 400, "invalid_value", Some("max_tokens");
        chat_with(json!({"n": 3})) => 400, "unsupported_parameter", Some("n");
        chat_with(json!({"ken": {"polcy": "x"}})) => 400, "invalid_value", Some("ken.polcy");
        chat_with(json!({"ken": {"policy": "sometimes"}})) =>
            400, "invalid_value", Some("ken.policy");
        chat_with(json!({"ken": {"policy": "router@0.5"}})) => 400, "policy_unavailable", None;
        chat_with(json!({"ken": {"policy": "oracle"}})) => 400, "policy_unavailable", None;
        chat_with(json!({"ken": {"k": 0}})) => 400, "invalid_value", Some("ken.k");
        chat_with(json!({"ken": {"k": 1000000}})) => 400, "invalid_value", Some("ken.k");
        chat_with(json!({"ken": {"mode": "psychic"}})) => 400, "invalid_value", Some("ken.mode");
        chat_with(json!({"ken": {"filter": ["year"]}})) => 400, "invalid_value", Some("ken.filter");
        chat_with(json!({"ken": {"filter": vec!["a=b AND c=d"; 129]}})) =>
            400, "too_many_filters", Some("ken.filter");
        chat_with(json!({"ken": {"corpus": "../notes"}})) => 404, "unknown_corpus", Some("corpus");
        chat_with(json!({"ken": {"generation": 7}})) => 409, "other_generation", Some("generation");
        chat_with(json!({"ken": {"rerank": "cross-encoder:/etc/passwd"}})) =>
            400, "reranker_unavailable", Some("rerank");
        chat_with(json!({"ken": {"style": "rude"}})) => 400, "invalid_value", Some("ken.style");
        ("/v1/responses", json!({"model": "ken/always", "input": OIL, "max_output_tokens": 0})) =>
            400, "invalid_value", Some("max_output_tokens");
        ("/v1/completions", json!({"model": "ken", "prompt": "x", "max_completion_tokens": 5})) =>
            400, "unsupported_parameter", Some("max_completion_tokens");
        ("/v1/completions", json!({"model": "ken", "prompt": "x", "response_format": {"type": "json_object"}})) =>
            400, "unsupported_parameter", Some("response_format");
        search(json!({"query": ""})) => 400, "empty_question", None;
        search(json!({"query": "x", "k": 101})) => 400, "invalid_value", Some("k");
        search(json!({"query": "x", "hits": 3})) => 400, "invalid_value", Some("hits");
        ("/v1/embeddings", json!({"model": "minilm", "input": "x"})) =>
            404, "model_not_found", Some("model");
        ("/v1/embeddings", json!({"model": "ken/embedder", "input": []})) =>
            400, "invalid_value", Some("input");
        ("/v1/embeddings", json!({"model": "ken/embedder", "input": [""]})) =>
            400, "invalid_value", Some("input");
        ("/v1/embeddings", json!({"model": "ken/embedder", "input": "x", "dimensions": 7})) =>
            400, "invalid_value", Some("dimensions");
    ] {
        let response = server.post(path, &body);
        let given = response.json()["error"]["param"]
            .as_str()
            .map(str::to_owned);
        response.refuses_for(&body, status, code);
        assert_eq!(given.as_deref(), param, "{body}");
    }
}

#[test]
fn null_is_a_value_that_was_left_out() {
    let server = Running::start();
    let found = json!([{"text": "Bo changes the oil.", "title": null}]);
    for (path, body) in cases![
        "/v1/chat/completions" => chat("always", OIL, &json!({"ken": {"filter": null, "passages": null}}));
        "/v1/ken/ask" => json!({"question": OIL, "before": null, "ken": null});
        "/v1/ken/ask" => json!({"question": OIL, "ken": {"policy": "always", "passages": found}});
        "/v1/ken/decide" => json!({"question": OIL, "before": null, "ken": null});
        "/v1/ken/search" => json!({"query": OIL, "filter": null});
        "/v1/embeddings" => json!({"model": "ken/embedder", "input": "x", "ken": {"role": null}});
    ] {
        let answered = server.post(path, &body);
        assert_eq!(answered.status, 200, "{body}: {}", answered.text());
    }
}

#[test]
fn an_unknown_model_is_refused_with_one_that_would_do() {
    let server = Running::start();
    for ((path, body), known) in cases![
        ("/v1/embeddings", json!({"model": "text-embedding-3-small", "input": "x"})) => "`ken/embedder`";
        ("/v1/rerank", json!({"model": "rerank-v3", "query": "x", "documents": ["x"]})) => "`ken/reranker`";
        ("/v1/chat/completions", chat("always", OIL, &json!({"model": "gpt-5"}))) => "`ken/always`";
    ] {
        let refused = server.post(path, &body);
        refused.refuses_param(404, "model_not_found", "model");
        says!(refused.text() => known);
    }
}

#[test]
fn an_error_does_not_repeat_all_that_was_sent() {
    let server = Running::start();
    let long = "ü".repeat(1 << 20);
    for (path, body) in [
        ("/v1/embeddings", json!({"model": long, "input": "x"})),
        ("/v1/ken/search", json!({"query": "x", "corpus": long})),
        ("/v1/ken/search", json!({"query": "x", (long.clone()): 1})),
    ] {
        let refused = server.post(path, &body);
        assert!(refused.status >= 400 && !refused.code().is_empty());
        assert!(
            refused.body.len() < 16 << 10,
            "{path}: {}",
            refused.body.len()
        );
    }
}

#[test]
fn a_question_that_is_longer_than_the_context_is_told_so() {
    let model = TableModel::new(facts()).unwrap().context(300);
    let server = Running::over(model, LIMITS, &Keys::default());
    let long = "oil ".repeat(400);
    for (path, body) in cases![
        "/v1/chat/completions" => chat("always", &long, &json!({}));
        "/v1/chat/completions" => chat("never", &long, &json!({"stream": true}));
        "/v1/responses" => json!({"model": "ken/always", "input": long});
        "/v1/ken/ask" => json!({"question": long});
    ] {
        let response = server.post(path, &body);
        response.refuses_for(&path, 400, "context_length_exceeded");
    }
    let brief = server.post("/v1/ken/ask", &json!({"question": OIL}));
    assert_eq!(brief.status, 200);
}

#[test]
fn a_body_that_is_cut_off_harms_nobody() {
    let server = Running::start();
    // Half of a body, and then the end of the connection.
    let whole = request(
        "POST",
        "/v1/ken/ask",
        &[],
        &json!({"question": OIL}).to_string(),
    );
    let mut client = connect(server.address);
    client.write_all(&whole[..whole.len() - 5]).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let cut = read(client);
    cut.refuses(400, "body_cut");
    assert_eq!(server.chat("always", OIL, &json!({})).status, 200);
}
