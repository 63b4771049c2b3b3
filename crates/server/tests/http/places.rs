//! Places at work: who has one, what gives it back, and which requests never get one because they are too long.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ken_server::{Keys, Limits, Scope};
use ken_testing::{FnEmbedder, TableModel, cases, has};
use serde_json::{Value, json};

use crate::client::{connect, exchange, read, request};
use crate::fixture::{LIMITS, OIL, Running, chat, facts, grant, wait_for};
use crate::slow_model::{Reading, SlowModel};

const EMBEDDINGS: &str = "/v1/embeddings";

/// What a test sees of a slow embedder, and how it releases it.
#[derive(Default)]
struct Embedding {
    /// Texts that the embedder has begun.
    begun: AtomicUsize,
    /// Raised to embed all texts at once; until then a text takes 5 ms, and one with `hold` never ends.
    released: AtomicBool,
}

/// It reads at most 12 tokens, which are words.
fn slow_embedder() -> (FnEmbedder, Arc<Embedding>) {
    let seen = Arc::new(Embedding::default());
    let own = Arc::clone(&seen);
    let fine = FnEmbedder::bag_of_words();
    let vectors = move |text: &str| {
        own.begun.fetch_add(1, Ordering::SeqCst);
        let end = Instant::now() + Duration::from_secs(60);
        while text.contains("hold") && !own.released.load(Ordering::SeqCst) && Instant::now() < end
        {
            thread::sleep(Duration::from_millis(1));
        }
        if !own.released.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        ken_language::Embedder::embed(&fine, &[text], ken_language::Role::Query)
            .map(|mut vectors| vectors.remove(0))
    };
    let words = FnEmbedder::hashing();
    let spans = move |text: &str| ken_language::Embedder::token_spans(&words, text);
    let embedder = FnEmbedder::bag_of_words().max_tokens(12);
    (embedder.vectors(vectors).spans(spans), seen)
}

fn texts(count: usize) -> Value {
    let texts: Vec<String> = (0..count).map(|number| format!("valve {number}")).collect();
    json!({"model": "ken/embedder", "input": texts})
}

/// The value of a gauge.
fn gauge(server: &Running, name: &str) -> usize {
    let metrics = server.get("/metrics").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("{name} in\n{metrics}"));
    line.trim().parse().unwrap()
}

fn working(server: &Running, gate: &str) -> usize {
    gauge(server, &format!("ken_gate_working{{gate=\"{gate}\"}}"))
}

#[test]
fn a_batch_ends_within_a_slice_when_its_client_leaves() {
    let (embedder, seen) = slow_embedder();
    let server = Running::embedding(embedder, LIMITS);
    let mut client = connect(server.address);
    let body = texts(1000).to_string();
    client
        .write_all(&request("POST", EMBEDDINGS, &[], &body))
        .unwrap();
    let begun = || seen.begun.load(Ordering::SeqCst);
    wait_for("it is begun", || begun() > 0);
    assert_eq!(working(&server, "embeddings"), 1);
    drop(client);
    wait_for("its place is free", || working(&server, "embeddings") == 0);
    let left_at = begun();
    assert!(left_at < 200, "{left_at}");
    thread::sleep(Duration::from_millis(50));
    assert_eq!(begun(), left_at);
}

#[test]
fn a_batch_ends_at_the_deadline() {
    let (embedder, seen) = slow_embedder();
    let limits = Limits {
        deadline: Duration::from_millis(300),
        ..LIMITS
    };
    let server = Running::embedding(embedder, limits);
    let late = server.post(EMBEDDINGS, &texts(1000));
    late.refuses(504, "deadline_exceeded");
    wait_for("its place is free", || working(&server, "embeddings") == 0);
    assert!(seen.begun.load(Ordering::SeqCst) < 300);
}

#[test]
fn searches_and_small_batches_do_not_wait_for_large_ones() {
    let (embedder, seen) = slow_embedder();
    let limits = Limits {
        parallel: 1,
        ..LIMITS
    };
    let server = Running::embedding(embedder, limits);
    thread::scope(|scope| {
        let large = scope.spawn(|| server.post(EMBEDDINGS, &texts(1000)));
        wait_for("it is begun", || seen.begun.load(Ordering::SeqCst) > 0);
        let response = server.post("/v1/ken/search", &json!({"query": "oil"}));
        assert_eq!(response.status, 200);
        // There is one place for embeddings, which is given back after each slice.
        assert_eq!(server.post(EMBEDDINGS, &texts(1)).status, 200);
        assert!(!large.is_finished());
        seen.released.store(true, Ordering::SeqCst);
        let embedded = large.join().unwrap().json();
        let data = embedded["data"].as_array().unwrap();
        assert_eq!((data.len(), &data[999]["index"]), (1000, &json!(999)));
        assert_eq!(embedded["usage"]["total_tokens"], 2000);
        let alone = json!({"model": "ken/embedder", "input": "valve 999"});
        assert_eq!(
            server.post(EMBEDDINGS, &alone).json()["data"][0]["embedding"],
            data[999]["embedding"]
        );
    });
}

#[test]
fn many_queries_are_searched_one_by_one_while_somebody_waits_for_them() {
    let (embedder, seen) = slow_embedder();
    let server = Running::embedding(embedder, LIMITS);
    let queries: Vec<String> = (0..90).map(|number| format!("hold {number}")).collect();
    let body = json!({"query": queries}).to_string();
    let mut client = connect(server.address);
    let path = "/v1/vector_stores/notes/search";
    client
        .write_all(&request("POST", path, &[], &body))
        .unwrap();
    wait_for("it is begun", || seen.begun.load(Ordering::SeqCst) == 1);
    assert_eq!(working(&server, "searches"), 1);
    drop(client);
    // The server has to notice that.
    thread::sleep(Duration::from_millis(200));
    seen.released.store(true, Ordering::SeqCst);
    wait_for("its place is free", || working(&server, "searches") == 0);
    assert_eq!(seen.begun.load(Ordering::SeqCst), 1);
}

#[test]
fn a_text_that_is_too_long_is_refused_before_anything_reads_it() {
    let (embedder, seen) = slow_embedder();
    let server = Running::embedding(embedder, LIMITS);
    let longest = "oil ".repeat(2 << 10);
    let long = format!("{longest}x");
    let question = "word ".repeat(14 << 10);
    let ask = |question: &str| json!({"question": question});
    let mcp = |tool: &str, arguments: &Value| {
        let params = json!({"name": tool, "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    };
    for (path, body) in cases![
        "/v1/ken/search" => json!({"query": long});
        "/v1/ken/search" => json!({"query": long, "mode": "lexical"});
        "/v1/vector_stores/notes/search" => json!({"query": ["oil", long]});
        EMBEDDINGS => json!({"model": "ken/embedder", "input": ["oil", long]});
        // Short enough in bytes, but with 13 words.
        EMBEDDINGS => json!({"model": "ken/embedder", "input": ["oil", "w ".repeat(13)]});
        "/v1/ken/knows" => json!({"question": question, "policy": "certainty@0.5"});
        "/v1/ken/ask" => ask(&question);
        "/v1/chat/completions" => chat("always", &question, &json!({}));
        "/v1/responses" => json!({"model": "ken/always", "input": question});
    ] {
        let refused = server.post(path, &body);
        refused.refuses_for(&path, 400, "context_length_exceeded");
        let message = refused.json()["error"]["message"].to_string();
        assert!(
            message.contains("maximum context length"),
            "{path}: {message}"
        );
    }
    for (tool, arguments) in [("search", json!({"query": long})), ("ask", ask(&question))] {
        let result = server.post("/mcp", &mcp(tool, &arguments)).json()["result"].clone();
        assert_eq!(result["isError"], true);
        let text = result["content"][0]["text"].to_string();
        assert!(text.contains("context_length_exceeded"), "{tool}: {text}");
    }
    assert_eq!(seen.begun.load(Ordering::SeqCst), 0);
    let place = server.post(
        EMBEDDINGS,
        &json!({"model": "ken/embedder", "input": ["oil", long]}),
    );
    assert_eq!(place.json()["error"]["param"], "input[1]");
    // As long as allowed.
    assert_eq!(
        server
            .post("/v1/ken/search", &json!({"query": longest}))
            .status,
        200
    );
    let longest = json!({"model": "ken/embedder", "input": "w ".repeat(12)});
    has!(server.post(EMBEDDINGS, &longest).json(), ["usage"]["total_tokens"]: 12);
    // Or by its beginning, if the client wants that.
    let cut = json!({"model": "ken/embedder", "input": ["oil", long], "truncate": true});
    let cut = server.post(EMBEDDINGS, &cut).json();
    assert_eq!(cut["data"][0].get("truncated"), None, "{cut}");
    assert_eq!(cut["data"][1]["truncated"], true);
    assert_eq!(cut["usage"]["total_tokens"], 1 + 12);
}

#[test]
fn all_gates_are_told_and_which_of_them_are_full() {
    let limits = Limits {
        parallel: 1,
        queue: 1,
        ..LIMITS
    };
    let (server, reading) = Running::slow(limits);
    let ready = server.get("/ready");
    let state = ready.json();
    assert_eq!((ready.status, &state["status"]), (200, &json!("ready")));
    let idle = json!({"working": 0, "places": 1, "waiting": 0, "queue": 1});
    for gate in ["answers", "searches", "embeddings"] {
        assert_eq!(state["gates"][gate], idle, "{gate}");
    }
    has!(state["gates"], ["large_bodies"]["places"]: 32, ["changes"]["places"]: 1);
    let body = chat("always", OIL, &json!({}));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| server.post("/v1/chat/completions", &body));
        }
        wait_for("both are taken", || {
            gauge(&server, "ken_working") + gauge(&server, "ken_waiting") == 2
        });
        assert_eq!(gauge(&server, "ken_gate_waiting{gate=\"answers\"}"), 1);
        let ready = server.get("/ready");
        assert_eq!(
            (ready.status, &ready.json()["full"]),
            (200, &json!(["answers"]))
        );
        reading.released.store(true, Ordering::SeqCst);
    });
    assert_eq!(server.get("/ready").json()["full"], json!([]));
    assert_eq!(
        (working(&server, "answers"), working(&server, "changes")),
        (0, 0)
    );
    let text = [("accept", "text/plain;version=0.0.4")];
    let plain = exchange(server.address, &request("GET", "/metrics", &text, ""));
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert!(plain.text().contains("# TYPE ken_requests_total counter\n"));
    assert_eq!(plain.header("keep-alive"), Some("timeout=75"));
}

#[test]
fn a_quota_of_tokens_holds_for_questions_that_come_at_once() {
    let mut few = grant(&[Scope::Ask, Scope::Search], None);
    few.tokens_per_day = Some(10);
    let mut keys = Keys::default();
    let key = format!("Bearer {}", keys.make(few, 0));
    let reading = Arc::new(Reading::default());
    let model = SlowModel {
        table: TableModel::new(facts()).unwrap(),
        reading: Arc::clone(&reading),
    };
    let limits = Limits {
        parallel: 16,
        ..LIMITS
    };
    let server = Running::over(model, limits, &keys);
    let send = |path: &str, body: &Value| server.post_as(&[("authorization", &key)], path, body);
    let ask = json!({"question": OIL});
    thread::scope(|scope| {
        let first = scope.spawn(|| send("/v1/ken/ask", &ask));
        wait_for("it is answered", || reading.now.load(Ordering::SeqCst) == 1);
        let embed = json!({"model": "ken/embedder", "input": "oil"});
        for (path, body) in [("/v1/ken/ask", &ask), (EMBEDDINGS, &embed)] {
            let refused = send(path, body);
            refused.refuses(429, "token_quota");
            assert_eq!(refused.header("retry-after-ms"), Some("1000"));
        }
        reading.released.store(true, Ordering::SeqCst);
        assert_eq!(first.join().unwrap().status, 200);
    });
    // It took everything that was left: the time to come back is the next day.
    let refused = send("/v1/ken/ask", &json!({"question": OIL}));
    assert_eq!(refused.code(), "token_quota");
    let wait: u64 = refused.header("retry-after-ms").unwrap().parse().unwrap();
    assert!(wait > 1000 * 60 * 60 * 23, "{wait}");
}

#[test]
fn what_stands_between_parts_of_an_upload_has_a_bound() {
    let server = Running::start();
    let head = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n";
    let long = "x".repeat(300 << 10);
    let small = "x".repeat(60 << 10);
    let content = format!("The vane is of copper. \r\n--c\r\n{long}");
    for (body, status) in [
        // A head without an end, a preamble, a second head.
        (format!("{head}x-pad: {long}"), 431),
        (format!("{long}\r\n{head}\r\nx\r\n--b--\r\n"), 431),
        (format!("{head}\r\n{content}\r\n--b\r\nx-pad: {long}"), 431),
        // As much as allowed, and a long content.
        (format!("{small}\r\n{head}\r\n{content}\r\n--b--\r\n"), 200),
    ] {
        let head = format!(
            "POST /v1/files HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut client = connect(server.address);
        // The server may answer and close before all of it is sent.
        let _ = client.write_all(head.as_bytes());
        for piece in body.as_bytes().chunks(8 << 10) {
            if client.write_all(piece).is_err() {
                break;
            }
        }
        let response = read(client);
        assert_eq!(response.status, status, "{}", response.text());
        match status {
            200 => assert_eq!(response.json()["bytes"], content.len()),
            _ => assert_eq!(response.code(), "part_head_too_large"),
        }
    }
}
