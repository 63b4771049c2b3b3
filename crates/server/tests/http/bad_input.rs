//! Bad input to every route: the right status, OpenAI's form of errors, and a server that goes on.

use std::io::Write;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::client::{connect, exchange, read, request};
use crate::fixture::{OIL, Running, chat};

/// Routes that take a body of JSON.
const POSTED: [&str; 7] = [
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/vector_stores/notes/search",
    "/v1/embeddings",
    "/v1/ken/ask",
    "/v1/ken/search",
    "/v1/ken/knows",
];

#[test]
fn bodies_that_are_none_are_refused() {
    let server = Running::start();
    let deep = "[".repeat(10_000);
    for path in POSTED {
        for (body, code) in [
            ("", "missing_body"),
            ("{", "invalid_json"),
            ("nonsense", "invalid_json"),
            ("\u{0}", "invalid_json"),
            ("7", "invalid_value"),
            ("[]", "invalid_value"),
            ("null", "invalid_value"),
            ("{}", "invalid_value"),
        ] {
            let response = exchange(server.address, &request("POST", path, &[], body));
            let given = (response.status, response.code());
            assert_eq!(given, (400, code.to_owned()), "{path} {body}");
        }
        let nested = exchange(server.address, &request("POST", path, &[], &deep));
        assert_eq!(nested.status, 400);
        assert!(nested.code().starts_with("invalid_"));
        let wrong_method = server.get(path);
        assert_eq!(
            (wrong_method.status, wrong_method.code().as_str()),
            (405, "method_not_allowed")
        );
    }
}

#[test]
fn values_out_of_range_are_refused_with_their_names() {
    let server = Running::start();
    let chat_with = |more: Value| ("/v1/chat/completions", chat("always", OIL, &more));
    let search = |body: Value| ("/v1/ken/search", body);
    for ((path, body), status, code, param) in [
        (
            chat_with(json!({"model": "gpt-5"})),
            404,
            "model_not_found",
            Some("model"),
        ),
        (chat_with(json!({"model": 5})), 400, "invalid_value", None),
        (
            chat_with(json!({"messages": []})),
            400,
            "no_question",
            Some("messages"),
        ),
        (
            chat_with(json!({"messages": "x"})),
            400,
            "invalid_value",
            None,
        ),
        (
            chat_with(json!({"temperature": 9})),
            400,
            "invalid_value",
            Some("temperature"),
        ),
        (
            chat_with(json!({"top_p": -0.1})),
            400,
            "invalid_value",
            Some("top_p"),
        ),
        (
            chat_with(json!({"max_tokens": 0})),
            400,
            "invalid_value",
            Some("max_tokens"),
        ),
        (
            chat_with(json!({"max_tokens": -1})),
            400,
            "invalid_value",
            None,
        ),
        (
            chat_with(json!({"n": 3})),
            400,
            "unsupported_parameter",
            Some("n"),
        ),
        (
            chat_with(json!({"ken": {"polcy": "x"}})),
            400,
            "invalid_value",
            None,
        ),
        (
            chat_with(json!({"ken": {"policy": "sometimes"}})),
            400,
            "invalid_value",
            Some("ken.policy"),
        ),
        (
            chat_with(json!({"ken": {"policy": "router@0.5"}})),
            400,
            "policy_unavailable",
            None,
        ),
        (
            chat_with(json!({"ken": {"policy": "oracle"}})),
            400,
            "policy_unavailable",
            None,
        ),
        (
            chat_with(json!({"ken": {"k": 0}})),
            400,
            "invalid_value",
            Some("ken.k"),
        ),
        (
            chat_with(json!({"ken": {"k": 1000000}})),
            400,
            "invalid_value",
            Some("ken.k"),
        ),
        (
            chat_with(json!({"ken": {"mode": "psychic"}})),
            400,
            "invalid_value",
            Some("ken.mode"),
        ),
        (
            chat_with(json!({"ken": {"filter": ["year"]}})),
            400,
            "invalid_value",
            Some("ken.filter"),
        ),
        (
            chat_with(json!({"ken": {"filter": vec!["a=b"; 17]}})),
            400,
            "too_many_filters",
            Some("ken.filter"),
        ),
        (
            chat_with(json!({"ken": {"corpus": "../notes"}})),
            404,
            "unknown_corpus",
            Some("corpus"),
        ),
        (
            chat_with(json!({"ken": {"generation": 7}})),
            409,
            "other_generation",
            Some("generation"),
        ),
        (
            chat_with(json!({"ken": {"rerank": "cross-encoder:/etc/passwd"}})),
            400,
            "reranker_unavailable",
            Some("rerank"),
        ),
        (
            chat_with(json!({"ken": {"style": "rude"}})),
            400,
            "invalid_value",
            Some("ken.style"),
        ),
        (search(json!({"query": ""})), 400, "empty_question", None),
        (
            search(json!({"query": "x", "k": 101})),
            400,
            "invalid_value",
            Some("k"),
        ),
        (
            search(json!({"query": "x", "hits": 3})),
            400,
            "invalid_value",
            None,
        ),
        (
            ("/v1/embeddings", json!({"model": "minilm", "input": "x"})),
            404,
            "model_not_found",
            Some("model"),
        ),
        (
            (
                "/v1/embeddings",
                json!({"model": "ken/embedder", "input": []}),
            ),
            400,
            "invalid_value",
            Some("input"),
        ),
        (
            (
                "/v1/embeddings",
                json!({"model": "ken/embedder", "input": [""]}),
            ),
            400,
            "invalid_value",
            Some("input"),
        ),
        (
            (
                "/v1/embeddings",
                json!({"model": "ken/embedder", "input": "x", "dimensions": 7}),
            ),
            400,
            "invalid_value",
            Some("dimensions"),
        ),
    ] {
        let response = server.post(path, &body);
        let given = response.json()["error"]["param"]
            .as_str()
            .map(str::to_owned);
        assert_eq!(
            (response.status, response.code().as_str()),
            (status, code),
            "{body}"
        );
        assert_eq!(given.as_deref(), param, "{body}");
    }
}

#[test]
fn a_body_that_is_too_large_or_cut_off_harms_nobody() {
    let server = Running::start();
    let large = "x".repeat(100 << 20);
    let response = exchange(server.address, &request("POST", "/v1/ken/ask", &[], &large));
    assert_eq!(
        (response.status, response.code().as_str()),
        (413, "body_too_large")
    );
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
    drop(client);
    assert_eq!(server.chat("always", OIL, &json!({})).status, 200);
}

#[test]
fn bytes_at_random_harm_nobody() {
    let server = Running::start();
    let mut random = StdRng::seed_from_u64(5);
    let good = request(
        "POST",
        "/v1/chat/completions",
        &[],
        &chat("never", OIL, &json!({})).to_string(),
    );
    for round in 0..300 {
        let mut bytes = good.clone();
        match round % 3 {
            0 => {
                bytes = (0..random.random_range(0..400))
                    .map(|_| random.random())
                    .collect();
            }
            1 => bytes.truncate(random.random_range(0..good.len())),
            _ => {}
        }
        for _ in 0..random.random_range(0..8) {
            if !bytes.is_empty() {
                let place = random.random_range(0..bytes.len());
                bytes[place] = random.random();
            }
        }
        let mut client = connect(server.address);
        let _ = client.write_all(&bytes);
        let _ = client.shutdown(std::net::Shutdown::Write);
    }
    let mut client = connect(server.address);
    client.write_all(&good).unwrap();
    assert_eq!(read(client).status, 200);
}
