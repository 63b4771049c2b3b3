//! Chat completions as clients of OpenAI's API read them, whole and streamed.

use ken_server::Keys;
use ken_testing::{TableModel, has};
use serde_json::{Value, json};

use crate::fixture::{FRANCE, LIMITS, OIL, Running, facts};

#[test]
fn a_whole_answer_cites_the_passages_that_it_rests_on() {
    let server = Running::start();
    let response = server.chat("always", OIL, &json!({}));
    assert_eq!(response.status, 200);
    let value = response.json();
    has!(value, ["object"]: "chat.completion", ["model"]: "ken/always");
    let choice = &value["choices"][0];
    has!(choice, ["finish_reason"]: "stop", ["message"]["content"]: "Ida");
    let url = "http://localhost/v1/ken/corpora/notes/passages/cars/oil.md%230";
    assert_eq!(
        choice["message"]["annotations"],
        json!([{ "type": "url_citation", "url_citation": {
            "start_index": 0, "end_index": 3, "url": url, "title": "Notes",
        }}])
    );
    let usage = &value["usage"];
    let sum =
        usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap();
    assert_eq!(usage["total_tokens"], sum);
    let trace = &value["ken"];
    has!(trace, ["route"]: "corpus", ["corpus"]: json!({"name": "notes", "generation": 1}));
    assert_eq!(
        response.header("x-request-id"),
        trace["request_id"].as_str()
    );
    // The address of the passage leads to it.
    let passage = server
        .get(url.strip_prefix("http://localhost").unwrap())
        .json();
    has!(passage, ["doc_id"]: "cars/oil.md", ["metadata"]["year"]: 2021);
}

#[test]
fn the_model_is_the_policy() {
    let server = Running::start();
    let answer = |model: &str, options: &Value| {
        let messages = json!([{"role": "user", "content": OIL}]);
        let body = json!({"model": model, "messages": messages, "ken": options});
        let value = server.post("/v1/chat/completions", &body).json();
        let answer = &value["choices"][0]["message"]["content"];
        (
            answer.as_str().unwrap().to_owned(),
            value["model"].as_str().unwrap().to_owned(),
        )
    };
    let both = |answer: &str, model: &str| (answer.to_owned(), model.to_owned());
    assert_eq!(answer("ken", &json!({})), both("Ida", "ken/always"));
    assert_eq!(answer("ken/never", &json!({})), both("Bob", "ken/never"));
    assert_eq!(
        answer("ken/certainty@0.5", &json!({})),
        both("Bob", "ken/certainty@0.5")
    );
    // The parameter takes precedence over the name.
    assert_eq!(
        answer("ken/never", &json!({"policy": "always"})),
        both("Ida", "ken/always")
    );
    assert_eq!(answer("ken", &json!(null)), both("Ida", "ken/always"));
}

#[test]
fn models_are_listed_and_found_by_their_names() {
    let server = Running::start();
    let listed = server.get("/v1/models").json();
    let names: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap())
        .collect();
    assert!(
        names.starts_with(&["ken", "ken/always", "ken/never"])
            && names.ends_with(&["ken/embedder"]),
        "{names:?}"
    );
    for id in names.iter().chain(&["ken/certainty@0.25"]) {
        assert_eq!(server.get(&format!("/v1/models/{id}")).json()["id"], **id);
    }
    for id in ["ken/router@0.5", "ken/oracle", "gpt-5", "ken/certainty"] {
        let response = server.get(&format!("/v1/models/{id}"));
        response.refuses_for(&id, 404, "model_not_found");
    }
}

#[test]
fn a_stream_says_the_same_in_chunks() {
    let server = Running::start();
    let whole = server.chat("always", OIL, &json!({})).json();
    let options = json!({"stream": true, "stream_options": {"include_usage": true}});
    let response = server.chat("always", OIL, &options);
    let mut events = response.events();
    assert_eq!(events.pop().as_deref(), Some("[DONE]"));
    let chunks: Vec<Value> = events
        .iter()
        .map(|event| serde_json::from_str(event).unwrap())
        .collect();
    let (last, others) = chunks.split_last().unwrap();
    has!(last, ["choices"]: json!([]), ["usage"]: whole["usage"]);
    let mut text = String::new();
    let mut annotations = Vec::new();
    for chunk in others {
        has!(chunk, ["object"]: "chat.completion.chunk", ["id"]: chunks[0]["id"]);
        has!(chunk, ["model"]: whole["model"]);
        assert_eq!(chunk.get("usage"), Some(&Value::Null));
        let delta = chunk["choices"][0]["delta"].as_object().unwrap();
        assert!(
            delta
                .keys()
                .all(|key| ["role", "content", "annotations"].contains(&key.as_str()))
        );
        text += delta
            .get("content")
            .and_then(Value::as_str)
            .unwrap_or_default();
        annotations.extend(delta.get("annotations").cloned());
    }
    let message = &whole["choices"][0]["message"];
    assert_eq!(text, message["content"].as_str().unwrap());
    assert_eq!(annotations, [message["annotations"].clone()]);
    has!(others, [0]["choices"][0]["delta"]: json!({"role": "assistant", "content": ""}));
    has!(others, [0]["ken"]["route"]: "corpus");
    let end = others.last().unwrap();
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert_eq!(end["ken"]["citations"], whole["ken"]["citations"]);
    // Unless asked to, no chunk reports usage.
    let plain = server.chat("never", FRANCE, &json!({"stream": true}));
    assert!(!plain.text().contains("usage") && plain.text().contains("Paris"));
    assert!(!plain.text().contains("annotations"));
}

#[test]
fn an_error_before_the_first_piece_has_a_status_of_its_own() {
    let model = TableModel::new(facts()).unwrap().context(300);
    let server = Running::over(model, LIMITS, &Keys::default());
    let long = "oil ".repeat(301);
    let response = server.chat("always", &long, &json!({"stream": true}));
    response.refuses(400, "context_length_exceeded");
}

#[test]
fn parameters_of_a_request_are_obeyed() {
    let server = Running::start();
    let ask = |options: Value| {
        server
            .chat("always", OIL, &json!({ "ken": options }))
            .json()
    };
    let found = |value: &Value| {
        let found = value["ken"]["retrieved"].as_array().unwrap().iter();
        found
            .map(|passage| passage["doc_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let two = ask(json!({"trace": true}));
    assert_eq!(found(&two).len(), 2);
    assert_eq!(
        found(&ask(json!({"trace": true, "k": 1, "mode": "lexical"}))),
        ["cars/oil.md"]
    );
    let filtered = ask(json!({"trace": true, "filter": ["year<2021"], "k": 3}));
    assert_eq!(found(&filtered).len(), 2);
    assert!(!found(&filtered).contains(&"cars/oil.md".to_owned()));
    let boats = ask(json!({"trace": true, "corpus": "boats", "generation": 1}));
    assert_eq!(found(&boats), ["z"]);
    assert_eq!(boats["ken"]["corpus"]["name"], "boats");
    let chunks = ask(json!({"trace": true, "rerank": "embedder", "k": 1}));
    assert_eq!(found(&chunks).len(), 1);
    assert!(ask(json!({}))["ken"].get("retrieved").is_none());
    // As many tokens as allowed, and the finish reason says so.
    let cut = server.chat(
        "never",
        FRANCE,
        &json!({"max_tokens": 1, "temperature": 0.5, "seed": 7}),
    );
    assert_eq!(cut.json()["choices"][0]["message"]["content"], "Paris");
    // A seed has 64 bits, with a sign or without.
    for seed in [json!(-1), json!(u64::MAX), Value::Null] {
        let answered = server.chat("never", FRANCE, &json!({ "seed": seed }));
        assert_eq!(answered.status, 200, "{}", answered.text());
    }
    for seed in [json!(1.5), json!("7"), json!(1e20)] {
        let refused = server.chat("never", FRANCE, &json!({ "seed": seed }));
        refused.refuses_param(400, "invalid_value", "seed");
    }
}
