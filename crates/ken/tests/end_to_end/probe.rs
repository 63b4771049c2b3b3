//! `ken probe`: its records, its summary, resuming after a stop, and what it refuses.

use ken_testing::{has, holds, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, keys, number, objects, refuses, words};

const SAMPLES: usize = 6;

/// Four questions: one that the documents answer, one that everyone can, one of multiple choice,
/// and one without a golden answer.
fn write_questions(ken: &Ken) {
    let questions = [
        json!({"id": "q1", "question": "Who is the keeper of the Orrin lighthouse?",
               "golden_answers": ["Ilse Marrow"]}),
        json!({"id": "q2", "question": "What is the capital of France?",
               "golden_answers": ["Paris"]}),
        json!({"id": "q3", "question": "Which of these is a planet?", "golden_answers": ["B"],
               "choices": ["a spoon", "Mars", "a shoe"]}),
        json!({"id": "q4", "question": "Who built the oven of the bakery?", "golden_answers": []}),
    ];
    ken.write_lines("questions.jsonl", questions);
}

/// Records without their costs, whose times differ.
fn untimed(records: &str) -> Vec<Value> {
    let each = records.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let fields = record.as_object_mut().unwrap();
        let of_evidence = fields.remove("costs_with_evidence").expect("costs");
        assert_eq!(of_evidence["rate"]["calls"]["retriever"], 2);
        let costs = fields.remove("costs").expect("costs");
        assert!(costs["sample"]["ms"].as_f64().unwrap() > 0.0, "{costs}");
        record
    });
    each.collect()
}

fn probe<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let base = words("probe questions.jsonl --corpus island --samples 6 --max-tokens 12");
    [&base[..], more].concat()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_run_is_resumed_and_keeps_the_contract() {
    let ken = with_notes();
    write_questions(&ken);

    let first = ken.text(&probe(&["--limit", "2", "--out", "parts.jsonl"]));
    says!(first => "questions", "known rate", "confidence", "parts.jsonl");
    let paid = ken.read("parts.jsonl");
    assert_eq!(paid.lines().count(), 3, "settings and two records: {paid}");
    let resumed = ken.text(&probe(&["--out", "parts.jsonl", "--batch", "1", "--json"]));
    let parts = ken.read("parts.jsonl");
    assert!(parts.starts_with(&paid), "no sample is drawn twice");

    let whole = ken.text(&probe(&["--out", "whole.jsonl", "--json"]));
    assert_eq!(untimed(&resumed), untimed(&whole), "a stop changes nothing");
    assert!(ken.path("whole.jsonl.parquet").is_file());
    let records = objects(&whole);
    assert_eq!(records.len(), 4);
    records.iter().for_each(check);
    has!(records, [3]["unjudged"]: "no_golden_answers", [3]["confidence"]["self"]: Value::Null);
    has!(records, [3]["samples"]["masked"]: Value::Null);

    refuses!(ken, &probe(&["--out", "parts.jsonl", "--correct", "contains"]) =>
        "other_settings", "correct was exact and is now contains", "new file");
    assert_eq!(
        ken.read("parts.jsonl"),
        parts,
        "a refused run changes nothing"
    );
}

fn check(record: &Value) {
    for name in words(
        "id question golden_answers confidence certainty effect greedy judgment \
         samples evidence fingerprint",
    ) {
        assert!(keys(record).contains(&name), "{name}: {record}");
    }
    let conditions = ["self", "corpus", "masked"];
    for indicator in ["confidence", "certainty"] {
        assert_eq!(keys(&record[indicator]), conditions);
        for condition in conditions {
            let value = &record[indicator][condition];
            holds!("{record}" => value.is_null() || (0.0..=1.0).contains(&number(value)));
        }
    }
    assert_eq!(keys(&record["effect"]), ["confidence", "certainty"]);
    assert!(
        ["beneficial", "neutral", "harmful"]
            .iter()
            .any(|effect| record["effect"]["certainty"] == *effect)
    );
    assert_eq!(keys(&record["fingerprint"]), ["model", "corpus", "prompt"]);
    assert_eq!(keys(&record["samples"]), conditions);
    assert!(!record["evidence"].as_array().unwrap().is_empty());
    for condition in ["self", "corpus"] {
        let samples = record["samples"][condition].as_array().unwrap();
        assert_eq!(samples.len(), SAMPLES);
        for sample in samples {
            assert!(number(&sample["logprob"]) <= 0.0, "{sample}");
            let text = sample["text"].as_str().unwrap();
            assert!(!text.contains('\n'), "{text:?}");
        }
        let right = samples.iter().filter(|sample| sample["correct"] == true);
        let share = right.count() as f64 / SAMPLES as f64;
        if !record["confidence"][condition].is_null() {
            assert_eq!(number(&record["confidence"][condition]), share);
        }
    }
}

#[test]
fn what_cannot_be_sampled_is_a_usage_error() {
    let ken = Ken::new();
    write_questions(&ken);
    for wrong in [
        ["--temperature", "0"],
        ["--samples", "0"],
        ["--group", "meaning:2"],
        ["--correct", "em"],
    ] {
        let words = [&["probe", "questions.jsonl"][..], &wrong].concat();
        let output = ken.command(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}
