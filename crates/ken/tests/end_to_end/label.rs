//! `ken label sources`: its records, its summary, resuming after a stop, and what it refuses.

use ken_testing::{has, holds, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, keys, number, objects, refuses, words};
use crate::model_server::{Manner, start};

/// A question that the first corpus answers, one of multiple choice, and one without a golden answer.
fn write_questions(ken: &Ken) {
    let questions = [
        json!({"id": "q1", "question": "Who is the keeper of the Orrin lighthouse?",
               "golden_answers": ["Ilse Marrow", "Marrow"]}),
        json!({"id": "q2", "question": "Which of these is a planet?", "golden_answers": ["B"],
               "choices": ["a spoon", "Mars", "a shoe"]}),
        json!({"id": "q3", "question": "Who built the oven of the bakery?", "golden_answers": []}),
    ];
    ken.write_lines("questions.jsonl", questions);
    ken.write("sky.txt", "Mars is a planet. A planet goes round a star.");
    ken.text(&["ingest", "sky.txt", "--corpus", "sky.ken"]);
}

fn label<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let base = words(
        "label sources questions.jsonl --corpus island --corpus heaven=sky.ken \
         --contexts 2",
    );
    [&base[..], more].concat()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_run_keeps_the_contract_and_pays_for_nothing_twice() {
    let ken = with_notes();
    write_questions(&ken);

    let text = ken.text(&label(&[]));
    says!(text =>
        "questions               3", "without golden answers  1", "preferred: self",
        "preferred: island", "preferred: heaven", "rules agree", "questions.sources.jsonl");
    assert!(ken.path("questions.sources.jsonl.parquet").is_file());
    let paid = ken.read("questions.sources.jsonl");
    let first = ken.read("questions.sources.jsonl.first");
    assert_eq!(first.lines().count(), 3, "settings and two texts: {first}");

    let again = ken.text(&label(&["--json"]));
    assert_eq!(ken.read("questions.sources.jsonl"), paid);
    let records = objects(&again);
    assert_eq!(records.len(), 3);
    records[..2].iter().for_each(check);
    has!(records, [0]["preferred"]["majority"]: "island", [0]["golden_answer"]: "Ilse Marrow");
    has!(records, [1]["golden_answer"]: "B", [2]["unlabeled"]: "no_golden_answers");
    has!(records, [2]["preferred"]: Value::Null);

    // One by one, elsewhere, from the same first texts or new ones.
    let alone = ken.text(&label(&["--batch", "1", "--out", "alone.jsonl", "--json"]));
    assert_eq!(alone, again);

    refuses!(ken, &label(&["--golden", "likeliest"]) =>
        "other_settings", "golden was first and is now likeliest", "new file");
    refuses!(ken, &label(&["--limit", "2"]) => "other_settings", "questions was", "new file");
    assert_eq!(ken.read("questions.sources.jsonl"), paid);
}

fn check(record: &Value) {
    for name in
        words("id question golden_answers golden_answer contexts sources preferred fingerprint")
    {
        assert!(keys(record).contains(&name), "{name}: {record}");
    }
    assert_eq!(keys(&record["preferred"]), ["majority", "sum"]);
    let fingerprint = &record["fingerprint"];
    assert_eq!(
        keys(fingerprint),
        ["model", "corpora", "prompt", "verbalize"]
    );
    assert_eq!(keys(&fingerprint["corpora"]), ["heaven", "island"]);
    let contexts = record["contexts"].as_array().unwrap();
    let of = |source: &str| -> Vec<&Value> {
        let all = contexts.iter();
        all.filter(|context| context["source"] == source).collect()
    };
    assert_eq!(
        (of("self").len(), of("island").len(), of("heaven").len()),
        (2, 2, 1)
    );
    for context in contexts {
        holds!("{context}" =>
            number(&context["logprob"]) <= 0.0,
            !context["text"].as_str().unwrap().contains('\n'));
        assert_eq!(
            context.get("passage_id").is_none(),
            context["source"] == "self"
        );
    }
    for source in record["sources"].as_array().unwrap() {
        let best = &contexts[source["best"].as_u64().unwrap() as usize];
        let worst = &contexts[source["worst"].as_u64().unwrap() as usize];
        for context in of(source["source"].as_str().unwrap()) {
            assert!(number(&context["logprob"]) <= number(&best["logprob"]));
            assert!(number(&context["logprob"]) >= number(&worst["logprob"]));
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_cannot_be_labelled_is_refused_before_anything_is_written() {
    let ken = with_notes();
    write_questions(&ken);
    let server = start(Manner::LlamaServer);
    let there = ["--model", &server.url, "--model-name", "smollm2"];
    let asked = |server: &crate::loopback::Server| server.requests("/v1/completions").len();
    refuses!(ken, &label(&there) => "cannot_score", "how likely they make", "vLLM");
    let connected = asked(&server);
    assert!(connected <= 3, "only what connecting takes: {connected}");
    let words = ["label", "sources", "questions.jsonl"];
    refuses!(ken, &words => "corpus_not_named", "no corpus", "--corpus");
    let twice = ["--corpus", "island", "--corpus", "./island"];
    let refusal = ken.refusal(&[&words[..], &twice].concat());
    refusal.is("same_name", "island", "NAME=DIR");
    assert!(!ken.path("questions.sources.jsonl").exists());
    let missing = ken.refusal(&[&words[..], &["--corpus", "gone"]].concat());
    assert!(missing.message.contains("gone"), "{}", missing.message);
}
