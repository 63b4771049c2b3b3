//! Ctrl-C while the program waits for an endpoint: it ends at once, and keeps the answers so far.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_testing::cases;
use serde_json::{Value, json};

use crate::harness::{Ken, Refusal, refused, words};
use crate::loopback::{Reply, Request, Server};
use crate::stopped::{interrupt, wait_for};

/// How soon the program must end, on a machine that is busy with other tests.
const AT_ONCE: Duration = Duration::from_secs(3);

fn silence() -> Reply {
    Reply::Silence(Duration::from_secs(60))
}

/// A server of the model `tiny`, which writes by a script.
fn tiny(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!({"data": [{"id": "tiny"}]})),
        "/v1/completions" if request.body["max_tokens"] == 1 => written("x"),
        "/v1/completions" => script(request),
        _ => Reply::refusal(404, "Not Found"),
    })
}

fn written(text: &str) -> Reply {
    Reply::json(&json!({"choices": [{"text": text, "finish_reason": "stop"}]}))
}

/// The error of a program that is interrupted and ends at once.
fn interrupted(child: Child) -> Refusal {
    let begun = Instant::now();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    refused(output)
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_question_to_a_server_that_never_answers() {
    let ken = Ken::new();
    let models = |server: &Server| server.requests("models").len();
    let questions = |server: &Server| {
        let asked = server.requests("completions");
        asked
            .iter()
            .filter(|asked| asked.body["max_tokens"] != 1)
            .count()
    };
    for (server, asked) in cases![
        Server::start(|_| silence()) => &models as &dyn Fn(&Server) -> usize;
        tiny(|_| silence()) => &questions;
    ] {
        let ask = ["ask", "--policy", "never", "--model", &server.url, "--json"];
        let mut child = ken
            .command(&[&ask[..], &["Who?"]].concat())
            .spawn()
            .unwrap();
        wait_for(&mut child, "the request that hangs", || asked(&server) > 0);
        interrupted(child).is("interrupted", "stopped while waiting for 127.0.0.1:", "");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_evaluation_keeps_the_answers_of_its_batch() {
    let ken = Ken::new();
    let lines: Vec<String> = (0..4)
        .map(|n| {
            let question = format!("Which is number {n}?");
            json!({"id": n.to_string(), "question": question, "golden_answers": ["b"]}).to_string()
        })
        .collect();
    ken.write("questions.jsonl", lines.join("\n"));
    let hangs = Arc::new(AtomicBool::new(true));
    let hanging = hangs.clone();
    let server = tiny(move |request| {
        let prompt = request.body["prompt"].as_str().unwrap();
        if prompt.contains("number 2?") || !hanging.load(Ordering::SeqCst) {
            written(" b")
        } else {
            silence()
        }
    });
    let eval = ["eval", "questions.jsonl", "--policy", "never", "--out", "r"];
    let eval = [&eval[..], &["--model", &server.url, "--json"]].concat();
    let asked = |number: usize| {
        let question = format!("number {number}?");
        let asked = server.requests("completions");
        let prompts = asked
            .iter()
            .filter_map(|asked| asked.body["prompt"].as_str());
        prompts.filter(|prompt| prompt.contains(&question)).count()
    };
    let mut child = ken.command(&eval).spawn().unwrap();
    wait_for(&mut child, "four requests", || {
        (0..4).all(|number| asked(number) > 0)
    });
    // The finished answer has to arrive.
    std::thread::sleep(Duration::from_millis(500));
    let message = "stopped after 1 of 4 questions, whose results are in r";
    interrupted(child).is("interrupted", message, "run the same command again");
    let results = ken.read("r");
    let result: Value = serde_json::from_str(results.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&result["id"], &result["em"]), (&json!("2"), &json!(true)));

    hangs.store(false, Ordering::SeqCst);
    let summary = ken.json(&eval[..eval.len() - 1]);
    assert_eq!((&summary["n"], &summary["em"]), (&json!(4), &json!(1.0)));
    assert_eq!([0, 1, 2, 3].map(asked), [2, 2, 1, 2]);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_ingest_publishes_what_was_embedded() {
    let ken = Ken::new();
    let lines = (0..300).map(|n| json!({"id": format!("d{n}"), "contents": format!("vane {n}")}));
    ken.write_lines("many.jsonl", lines);
    let server = Server::start(move |request| match request.path.as_str() {
        "/v1/models" => Reply::json(&json!({"data": [{"id": "tiny"}]})),
        _ => {
            let inputs = request.body["input"].as_array().unwrap();
            // Behind the first batch of ken_ingest's.
            let number = inputs[0].as_str().unwrap().rsplit(' ').next().unwrap();
            if number.parse().is_ok_and(|number: usize| number >= 256) {
                return silence();
            }
            let data: Vec<Value> = inputs.iter().map(|_| json!({"embedding": [1.0]})).collect();
            Reply::json(&json!({"data": data}))
        }
    });
    let ingest = words("ingest many.jsonl --corpus c --segment whole");
    let ingest = [&ingest[..], &["--embedder", &server.url, "--json"]].concat();
    let mut child = ken.command(&ingest).spawn().unwrap();
    wait_for(&mut child, "a request that hangs", || {
        server.requests("embeddings").len() == 6
    });
    // What was embedded so far arrives.
    std::thread::sleep(Duration::from_millis(300));
    interrupted(child).is(
        "interrupted",
        "stopped after 256 new",
        "run the same command again",
    );
    let search = ["search", "--corpus", "c", "--embedder", &server.url];
    let hits = ken.json(&[&search[..], &["--mode", "lexical", "vane 255"]].concat());
    assert_eq!(hits["hits"][0]["doc_id"], "d255");
}
