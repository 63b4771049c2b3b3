//! A server whose settings are read again: it serves what they name from then on, requests in progress are answered
//! as before, and settings that cannot be used change nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ken_testing::{cases, has, holds};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::serve::Serving;
use crate::traffic::{self, finish};

const QUESTION: &str = "Who is the keeper of the Orrin lighthouse?";

fn reload(serving: &Serving) -> (u16, Value) {
    let (status, body) = serving.exchange("POST", "/v1/ken/reload", "");
    (status, serde_json::from_str(&body).unwrap())
}

fn ask(serving: &Serving) -> Value {
    let body = json!({"question": QUESTION, "max_tokens": 4, "ken": {"style": "short"}});
    serving.post("/v1/ken/ask", &body)
}

/// Uploads a document into a corpus and waits until it is searched.
fn upload(serving: &Serving, corpus: &str, text: &str) {
    let address = serving.address();
    let job = traffic::upload(address, corpus, ("more.md", text)).unwrap();
    finish(address, &job);
}

fn found(serving: &Serving, corpus: &str, query: &str) -> Value {
    let body = json!({"query": query, "corpus": corpus, "k": 1, "mode": "lexical"});
    serving.post("/v1/ken/search", &body)["hits"][0]["doc_id"].clone()
}

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn settings_are_read_again_and_no_request_is_dropped() {
    let ken = with_notes();
    ken.write(
        "pier.jsonl",
        json!({"id": "pier", "contents": "Pier four is painted green."}).to_string(),
    );
    ken.text(&["ingest", "pier.jsonl", "--corpus", "harbour"]);
    let settings = |more: &str| ken.write("ken.toml", format!("server_data = \"data\"\n{more}\n"));
    settings("corpus = \"island\"\npolicy = \"never\"");
    let serving = Serving::start(&ken, &[]);
    has!(serving.post("/v1/ken/ask", &json!({"question": "Hello!"})), ["small_talk"]: true);
    assert_eq!(ask(&serving)["policy"], "never");
    let made = json!({"name": "made"}).to_string();
    assert_eq!(serving.exchange("POST", "/v1/ken/corpora", &made).0, 201);
    upload(
        &serving,
        "made",
        "The lantern of Quillby is lit by Orsolo Fenn.",
    );

    // Questions and uploads go on during reloads, alternating between two states.
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let last = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let answer = ask(&serving);
                    let state = (answer["policy"].as_str(), answer["corpus"]["name"].as_str());
                    let states = [
                        (Some("never"), Some("island")),
                        (Some("always"), Some("harbour")),
                    ];
                    assert!(states.contains(&state), "{answer}");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let uploads = scope.spawn(|| {
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                number += 1;
                upload(&serving, "made", &format!("Crate{number} holds plums."));
                assert_eq!(
                    found(&serving, "made", &format!("Crate{number}")),
                    "more.md"
                );
            }
            number
        });
        for round in 0..6 {
            let (policy, corpus) = [("always", "harbour"), ("never", "island")][round % 2];
            settings(&format!("corpus = \"{corpus}\"\npolicy = \"{policy}\""));
            let (status, reloaded) = reload(&serving);
            assert_eq!(status, 200, "{reloaded}");
            has!(reloaded["corpora"], [0]["name"]: corpus, [1]["name"]: "made");
            let answer = ask(&serving);
            has!(answer, ["policy"]: policy, ["corpus"]["name"]: corpus);
        }
        over.store(true, Ordering::Relaxed);
        uploads.join().unwrap()
    });
    assert!(answered.into_inner() > 6 && last > 1);
    assert_eq!(found(&serving, "made", &format!("Crate{last}")), "more.md");
    // Counts and traces from before are still there.
    let (_, traces) = serving.exchange("GET", "/v1/ken/traces?policy=never&order=asc&limit=1", "");
    assert!(traces.contains("\"small_talk\":true"), "{traces}");

    // A model that is opened again, and settings that cannot be used.
    settings("corpus = \"island\"\npolicy = \"prompt\"\nprecision = \"int8\"");
    let (status, reloaded) = reload(&serving);
    assert_eq!(status, 200, "{reloaded}");
    assert_eq!(ask(&serving)["policy"], "prompt");
    for (bad, code) in cases![
        "policy = \"sometimes\"" => "config";
        "pollicy = \"never\"" => "config";
        "corpus = [" => "config";
        "corpus = \"nowhere\"" => "not_a_corpus";
        "corpus = \"island\"\nqueue = 7" => "needs_restart";
        "corpus = \"island\"\nrouter = \"none.json\"\npolicy = \"router@0.5\"" => "";
    ] {
        settings(bad);
        let (status, refused) = reload(&serving);
        assert_eq!(status, 409, "{refused}");
        let error = &refused["error"];
        assert!(code.is_empty() || error["code"] == code, "{bad}: {refused}");
        let home = ken.path("").to_str().unwrap().to_owned();
        holds!("{refused}" => !error["message"].as_str().unwrap().contains(&home));
        assert_eq!(ask(&serving)["policy"], "prompt");
    }
    let log = std::fs::read_to_string(&serving.log).unwrap();
    assert_eq!(
        log.lines()
            .filter(|line| line.contains("\"event\":\"reload\""))
            .count(),
        13
    );
}
