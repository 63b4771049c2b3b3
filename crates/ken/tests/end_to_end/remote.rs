//! A model behind an endpoint, here the one that also runs on this machine.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, objects, refuses};
use crate::model_server::{Manner, start, start_on};
use crate::serve::Serving;

const QUESTIONS: [&str; 2] = [
    "Who is the keeper of the Orrin lighthouse?",
    "How many clocks are in the clock museum of Tollen?",
];

/// What does not depend on where the model is: not the times, nor the tokens written, as only a streamed answer can
/// be cut off after its first line.
fn comparable(mut result: Value) -> Value {
    let fields = result.as_object_mut().unwrap();
    // The endpoint gives no log probabilities of an answer that is broken off, and counts its tokens differently.
    let differing = ["timing_ms", "latency_ms", "greedy", "tokens_per_right"];
    fields.retain(|name, _| !differing.contains(&name.as_str()));
    let tokens = fields["tokens"].as_object_mut().unwrap();
    tokens.remove("completion").unwrap();
    result
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_question_gets_the_answer_of_the_model_on_this_machine() {
    let ken = with_notes();
    let server = start(Manner::Vllm);
    let ask = ["ask", "--style", "short", "--corpus", "island"];
    let ask = [&ask[..], &[QUESTIONS[0]]].concat();
    let here = ken.json(&ask);
    let there = ["--model", &server.url, "--model-name", "smollm2"];
    let there = ken.json(&[&ask[..], &there].concat());
    assert_eq!(comparable(here), comparable(there.clone()));
    assert_eq!(there["route"], "corpus");
    // While connecting, for the instructions and for the passages; and for the tokens read and written, as the answer
    // is broken off before the endpoint reports them.
    assert_eq!(server.requests("/tokenize").len(), 5);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_evaluation_gives_the_results_of_the_model_on_this_machine() {
    let ken = with_notes();
    let questions = QUESTIONS
        .map(|question| json!({"id": question, "question": question, "golden_answers": ["312"]}));
    ken.write_lines("questions.jsonl", questions);
    let server = start(Manner::Vllm);
    let there = ["--model", &server.url, "--model-name", "smollm2"];
    let run = |out: &str, more: &[&str]| {
        let eval = ["eval", "questions.jsonl", "--limit", "2", "--out", out];
        let eval = [&eval[..], &["--corpus", "island"], more].concat();
        let summary = comparable(ken.json(&eval));
        let results = objects(&ken.read(out)).into_iter().skip(1);
        (summary, results.map(comparable).collect::<Vec<_>>())
    };
    let (here, there) = (run("here.jsonl", &[]), run("there.jsonl", &there));
    assert_eq!(here, there);
    assert_eq!(there.1.len(), 2);
    // One for the passages of each question, and the two that every batch begins with.
    assert_eq!(server.requests("/tokenize").len(), 4);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_server_waits_for_its_model_server_and_knows_when_that_is_gone() {
    let ken = Ken::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let starts = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        start_on(TcpListener::bind(address).unwrap(), Manner::Vllm)
    });
    let url = format!("http://{address}/v1");
    let serving = Serving::start(&ken, &["--model", &url, "--policy", "never"]);
    assert_eq!(serving.exchange("GET", "/ready", "").0, 200);
    let answer = serving.post(
        "/v1/completions",
        &json!({"model": "ken", "prompt": "The sky is", "max_tokens": 3, "temperature": 0, "logprobs": 1}),
    );
    assert!(answer["choices"][0]["text"].is_string(), "{answer}");
    starts.join().unwrap().close();
    std::thread::sleep(Duration::from_millis(2100));
    serving.refuses(
        "/ready",
        &Value::Null,
        503,
        ["code", "model_server_unavailable"],
    );

    // No wait takes longer than set.
    let listen = ["--listen", "127.0.0.1:0", "--model-wait", "1"];
    let serve = ["serve", "--policy", "never", "--model", &url];
    refuses!(ken, &[&serve[..], &listen].concat() =>
        "endpoint_unreachable", "cannot reach", "check that the endpoint runs");
}
