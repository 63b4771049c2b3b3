//! ken's own routes, embeddings, metrics and the log.

use base64::Engine;
use ken_testing::{cases, has};
use serde_json::{Value, json};

use crate::client::{exchange, request};
use crate::fixture::{FRANCE, OIL, Running, wait_for};

#[test]
fn an_answer_comes_with_its_whole_trace() {
    let server = Running::start();
    let body = json!({"question": OIL, "ken": {"policy": "certainty@0.9"}});
    let value = server.post("/v1/ken/ask", &body).json();
    has!(value, ["answer"]: "Bob", ["route"]: "self");
    assert_eq!(value["threshold"], 0.9);
    assert_eq!(value["score"], 0.0);
    assert_eq!(value["retrieved"], json!([]));
    let always = server.post("/v1/ken/ask", &json!({"question": OIL})).json();
    has!(always, ["answer"]: "Ida", ["retrieved"][0]["in_prompt"]: true);
    assert!(always["timing_ms"]["search"].as_f64().unwrap() > 0.0);
    has!(always, ["model_calls"]: 1, ["searches"]: 1);
}

#[test]
fn a_policy_that_chooses_k_reads_as_many_results_as_its_signal_asks_for() {
    let server = Running::start();
    // No perplexity is below 1: below both thresholds, between them, above both.
    for (thresholds, read) in [("1e8:1e9", 0), ("0.5:1e9", 1), ("0.1:0.5", 2)] {
        let policy = format!("uncertainty:perplexity:0:1:2@{thresholds}");
        let body = json!({"question": OIL, "ken": {"policy": policy}});
        let asked = server.post("/v1/ken/ask", &body).json();
        let results = asked["retrieved"].as_array().map(Vec::len);
        assert_eq!(results, Some(read), "{policy}: {asked}");
        let route = if read == 0 { "self" } else { "corpus" };
        assert_eq!(asked["route"], route, "{policy}");
        let reason = asked["reason"].as_str().unwrap_or_default();
        assert!(
            reason.contains(&format!("k = {read}")),
            "{policy}: {reason}"
        );
        let chat = server.chat(&policy, OIL, &json!({})).json();
        let own = if read == 0 { "Bob" } else { "Ida" };
        let answer = chat["choices"][0]["message"]["content"].as_str();
        assert!(
            answer.is_some_and(|text| text.contains(own)),
            "{policy}: {chat}"
        );
    }
    let refused = |policy: &str| {
        let body = json!({"question": OIL, "ken": {"policy": policy}});
        server.post("/v1/ken/ask", &body).code()
    };
    assert_eq!(refused("certainty:0:2:1@0.1:0.2"), "invalid_value");
    assert_eq!(refused("always:99"), "policy_unavailable");
}

#[test]
fn a_search_finds_passages_and_a_judgment_finds_out_what_is_known() {
    let server = Running::start();
    let found = server
        .post("/v1/ken/search", &json!({"query": "chimney", "k": 1}))
        .json();
    has!(found, ["hits"][0]["doc_id"]: "house.md", ["hits"][0]["metadata"]["year"]: 2020);
    has!(found, ["corpus"]["generation"]: 1);
    let knows = |question: &str, policy: &str| {
        let body = json!({"question": question, "policy": policy});
        server.post("/v1/ken/knows", &body)
    };
    let value = knows(FRANCE, "certainty@0.5").json();
    has!(value, ["retrieves"]: false, ["threshold"]: 0.5, ["probability"]: Value::Null);
    assert_eq!(knows(FRANCE, "always").code(), "policy_without_signal");
    assert_eq!(knows(FRANCE, "router@0.5").code(), "policy_unavailable");
    assert_eq!(knows(" ", "certainty@0.5").code(), "empty_question");
}

#[test]
fn embeddings_are_the_same_in_both_encodings() {
    let server = Running::start();
    let embed = |encoding: &str| {
        let body = json!({"model": "ken/embedder", "input": ["the oil", "x"], "encoding_format": encoding});
        server.post("/v1/embeddings", &body).json()
    };
    let (floats, text) = (embed("float"), embed("base64"));
    for (place, one) in floats["data"].as_array().unwrap().iter().enumerate() {
        assert_eq!(one["index"], place);
        let numbers: Vec<f32> = serde_json::from_value(one["embedding"].clone()).unwrap();
        let written = text["data"][place]["embedding"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(written)
            .unwrap();
        let read = bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes(four.try_into().unwrap()));
        assert_eq!(read.collect::<Vec<_>>(), numbers);
    }
    assert_eq!(floats["usage"]["prompt_tokens"], 2);
}

#[test]
fn corpora_are_listed_and_passages_read() {
    let server = Running::start();
    let listed = server.get("/v1/ken/corpora").json();
    let names: Vec<&Value> = listed["corpora"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["notes", "boats"]);
    assert_eq!(listed["corpora"][0]["passages"], 3);
    for (path, code) in cases![
        "/v1/ken/corpora/notes/passages/nothing%230" => "unknown_passage";
        "/v1/ken/corpora/none/passages/z%230" => "unknown_corpus";
        "/v1/ken/corpora/..%2f..%2fetc/passages/passwd" => "unknown_corpus";
        "/v1/ken/corpora/notes/passages/../../../x" => "unknown_passage";
        "/v1/nothing" => "unknown_route";
    ] {
        let response = server.get(path);
        response.refuses_for(&path, 404, code);
    }
}

#[test]
fn what_happened_is_counted_and_logged_without_content() {
    let server = Running::start();
    assert_eq!(server.get("/health").json()["status"], "ok");
    assert_eq!(server.get("/ready").json()["status"], "ready");
    server.chat("always", OIL, &json!({}));
    server.chat("never", FRANCE, &json!({"stream": true}));
    server.chat("never", "", &json!({}));
    let metrics = server.get("/metrics").text();
    for line in [
        "ken_answers_total{policy=\"always\",source=\"corpus\"} 1",
        "ken_answers_total{policy=\"never\",source=\"self\"} 1",
        "ken_failures_total{code=\"empty_question\"} 1",
        "ken_requests_total{route=\"/v1/chat/completions\",status=\"200\"} 2",
        "ken_corpus_generation{corpus=\"notes\"} 1",
    ] {
        assert!(
            metrics.lines().any(|one| one == line),
            "{line} in\n{metrics}"
        );
    }
    assert!(metrics.ends_with("# EOF\n"));
    let log = server.log.lock().unwrap();
    let events: Vec<&str> = log
        .iter()
        .map(|entry| entry["event"].as_str().unwrap())
        .collect();
    for (event, count) in [("answer", 2), ("failure", 1), ("request", 6)] {
        assert_eq!(
            events.iter().filter(|one| **one == event).count(),
            count,
            "{event}: {log:?}"
        );
    }
    let text = serde_json::to_string(&*log).unwrap();
    for secret in ["oil", "Ida", "Paris", "France"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    drop(log);
    // A place is given back behind the answer.
    wait_for("no work is left", || {
        let metrics = server.get("/metrics").text();
        metrics.lines().any(|line| line == "ken_working 0")
    });
}

#[test]
fn an_id_of_the_client_comes_back_and_is_logged() {
    let server = Running::start();
    let get = |id: &str| {
        let request = request("GET", "/health", &[("x-request-id", id)], "");
        exchange(server.address, &request)
    };
    let given = get("trace-7/a");
    assert_eq!(given.header("x-request-id"), Some("trace-7/a"));
    let own = given.header("ken-request-id").unwrap();
    for odd in ["", "two words", &"x".repeat(129)] {
        let response = get(odd);
        let id = response.header("x-request-id").unwrap();
        assert!(id.starts_with("req_"), "{odd}: {id}");
        assert_eq!(response.header("ken-request-id"), None);
    }
    let log = server.log.lock().unwrap();
    let entry = log
        .iter()
        .find(|entry| entry["client_request_id"] == "trace-7/a");
    assert_eq!(entry.unwrap()["request_id"], own);
}

#[test]
fn the_routes_describe_themselves() {
    let server = Running::start();
    let described = server.get("/openapi.json").json();
    assert_eq!(described["openapi"], "3.1.0");
    assert!(described["paths"]["/v1/chat/completions"]["post"]["requestBody"].is_object());
}
