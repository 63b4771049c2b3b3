//! `ken label mastery`: its records, its summary, resuming after a stop, and what it refuses.

use ken_testing::{has, holds, says};
use serde_json::{Value, json};

use crate::harness::{Ken, keys, number, objects, refuses, words};
use crate::milvus_lite::MilvusLite;
use crate::model_server::{Manner, start};

/// Ingests two passages with three sentences into the corpus `island`.
fn ingest_facts(ken: &Ken) {
    let facts = [
        json!({"id": "harbour", "contents": "The lighthouse of Orrin was built in 1871. Its \
               keeper is Ilse Marrow."}),
        json!({"id": "france", "contents": "Paris is the capital of France."}),
    ];
    ken.write_lines("facts.jsonl", facts);
    ken.text(&["ingest", "facts.jsonl", "--corpus", "island"]);
}

fn label<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let base = words("label mastery --corpus island --pairs 3 --max-tokens 4");
    [&base[..], more].concat()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_sample_grows_without_paying_twice_and_keeps_the_contract() {
    let ken = Ken::new();
    ingest_facts(&ken);
    let first = ken.text(&label(&["--limit", "1", "--out", "parts.jsonl"]));
    says!(first => "passages", "sentences", "kept", "mastery", "parts.jsonl");
    let paid = ken.read("parts.jsonl");
    let more = label(&["--out", "parts.jsonl", "--batch", "2", "--json"]);
    let grown = ken.text(&more);
    let parts = ken.read("parts.jsonl");
    assert!(parts.starts_with(&paid), "no question is written twice");
    assert_eq!(ken.text(&more), grown);
    assert_eq!(ken.read("parts.jsonl"), parts, "nothing is left to be done");

    let whole = ken.text(&label(&["--out", "whole.jsonl", "--json"]));
    assert_eq!(grown, whole, "a stop changes nothing");
    assert!(ken.path("whole.jsonl.parquet").is_file());
    let records = objects(&whole);
    let lighthouse: Vec<&Value> = records
        .iter()
        .filter(|record| record["passage_id"] == "harbour#0")
        .collect();
    assert_eq!(lighthouse.len(), 2, "{whole}");
    has!(lighthouse, [0]["id"]: "harbour#0/0");
    has!(lighthouse, [0]["sentence"]: "The lighthouse of Orrin was built in 1871.");
    records.iter().for_each(check);
    holds!("some question passes: {whole}" =>
        records.iter().any(|record| !record["mastery"].is_null()));

    let refusal = ken.refusal(&label(&["--out", "parts.jsonl", "--seed", "4"]));
    refusal.is("other_settings", "seed was 0 and is now 4", "new file");
    ken.text(&["corpus", "delete", "--corpus", "island", "--doc", "france"]);
    refuses!(ken, &label(&["--out", "parts.jsonl"]) => "other_settings", "corpus was", "new file");
    assert_eq!(
        ken.read("parts.jsonl"),
        parts,
        "a refused run changes nothing"
    );
}

fn check(record: &Value) {
    for name in words("id passage_id sentence mastery interval pairs") {
        assert!(keys(record).contains(&name), "{name}: {record}");
    }
    assert_eq!(
        keys(&record["fingerprint"]),
        ["model", "writer", "corpus", "prompt"]
    );
    let pairs = record["pairs"].as_array().unwrap();
    let dropped = record["dropped"].as_object().unwrap();
    let dropped: u64 = dropped.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(
        record["wanted"].as_u64().unwrap(),
        dropped + pairs.len() as u64
    );
    assert!(record["wanted"].as_u64().unwrap() <= 3);
    for pair in pairs {
        let text = |name: &str| pair[name].as_str().unwrap();
        assert!(
            record["sentence"]
                .as_str()
                .unwrap()
                .contains(text("answer"))
        );
        assert!(text("question").ends_with('?'), "{pair}");
        assert!(!text("prediction").contains('\n'));
        assert!((0.5..=1.0).contains(&number(&pair["validity"])), "{pair}");
    }
    match pairs.len() {
        0 => assert!(record["mastery"].is_null() && record["interval"].is_null()),
        count => {
            let right = pairs.iter().filter(|pair| pair["correct"] == true).count();
            let mastery = number(&record["mastery"]);
            assert_eq!(mastery, right as f64 / count as f64);
            let (low, high) = (
                number(&record["interval"][0]),
                number(&record["interval"][1]),
            );
            assert!(low <= mastery && mastery <= high);
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn another_model_may_write_the_questions() {
    let ken = Ken::new();
    ingest_facts(&ken);
    let server = start(Manner::Vllm);
    let writer = format!("{}#smollm2", server.url);
    let limit = ["--limit", "1", "--json"];
    let here = ken.text(&label(&[&limit[..], &["--out", "here.jsonl"]].concat()));
    let there = ["--out", "there.jsonl", "--writer", &writer];
    let there = ken.text(&label(&[&limit[..], &there].concat()));
    let pairs = |lines: &str| -> Vec<Value> {
        let questions = objects(lines).into_iter();
        questions.map(|record| record["pairs"].clone()).collect()
    };
    let (pairs_here, pairs_there) = (pairs(&here), pairs(&there));
    assert_eq!(pairs_here.len(), pairs_there.len());
    for (here, there) in pairs_here.iter().zip(&pairs_there) {
        let questions = |pairs: &Value| -> Vec<Value> {
            let pairs = pairs.as_array().unwrap().iter();
            pairs.map(|pair| pair["question"].clone()).collect()
        };
        assert_eq!(
            questions(here),
            questions(there),
            "the same model, elsewhere"
        );
    }
    let record = &objects(&there)[0];
    assert_ne!(
        record["fingerprint"]["model"],
        record["fingerprint"]["writer"]
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_there_is_nothing_of_is_told() {
    let ken = Ken::new();
    refuses!(ken, &["label", "mastery"] => "corpus_not_named", "no corpus", "KEN_CORPUS");
    let refusal = ken.refusal(&["label", "mastery", "--corpus", "missing.ken"]);
    refusal.is("not_a_corpus", "missing.ken", "ingest");
    let refusal = ken.refusal(&["label", "mastery", "--corpus", "milvus://127.0.0.1:9/notes"]);
    refusal.is("milvus_unreachable", "127.0.0.1:9", "server runs");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_in_milvus_is_labeled_as_the_one_on_disk() {
    let ken = Ken::new();
    ingest_facts(&ken);
    let server = MilvusLite::start();
    let address = server.address("island");
    ken.text(&["corpus", "push", "--corpus", "island", "--to", &address]);
    let here = ken.text(&label(&["--out", "here.jsonl", "--json"]));
    let out = ["--out", "there.jsonl", "--json"];
    let there = |more: &[&str]| {
        let mut arguments = label(&[&out[..], more].concat());
        let place = arguments.iter().position(|argument| *argument == "island");
        arguments[place.unwrap()] = &address;
        ken.text(&arguments)
    };
    there(&["--limit", "1"]);
    let paid = ken.read("there.jsonl");
    let grown = there(&[]);
    assert!(ken.read("there.jsonl").starts_with(&paid));
    let measured = |lines: &str| {
        let named = |record: &Value| {
            let names = ["id", "sentence", "wanted", "fingerprint"];
            names.map(|name| record[name].to_string())
        };
        let mut all: Vec<_> = objects(lines).iter().map(named).collect();
        all.sort();
        all
    };
    assert_eq!(measured(&grown), measured(&here));

    // Labels of passages that are gone are skipped.
    let records = objects(&grown);
    let labeled = records.iter().find(|record| !record["mastery"].is_null());
    let passage = labeled.unwrap()["passage_id"].as_str().unwrap();
    let gone = passage.strip_suffix("#0").unwrap();
    ken.text(&["corpus", "delete", "--corpus", "island", "--doc", gone]);
    ken.text(&["corpus", "push", "--corpus", "island", "--to", &address]);
    let score = words("prune score --method measured --labels there.jsonl --corpus");
    let scored = ken.json(&[&score[..], &[address.as_str()]].concat());
    assert_eq!(scored["scores"], json!(["mastery"]));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn questions_that_were_probed_are_taken_over() {
    let ken = Ken::new();
    ingest_facts(&ken);
    let ask = |id: &str, question: &str, answer: &str, gold: &str| {
        json!({"id": id, "question": question, "golden_answers": [answer],
               "metadata": {"gold_passage": gold}})
        .to_string()
    };
    let questions = [
        ask("a", "What is the capital of France?", "Paris", "france"),
        ask(
            "b",
            "Who is the keeper of the lighthouse of Orrin?",
            "Ilse Marrow",
            "harbour#0",
        ),
        ask(
            "c",
            "Who founded the lighthouse of Orrin?",
            "Nobody Known",
            "harbour",
        ),
    ];
    ken.write("questions.jsonl", questions.join("\n"));
    let take = words(
        "label mastery --corpus island --questions questions.jsonl --records \
         known.jsonl --out taken.jsonl",
    );
    let probe = ["--samples", "3", "--max-tokens", "4", "--out"];
    ken.text(&[&["probe", "questions.jsonl"][..], &probe, &["known.jsonl"]].concat());
    let text = ken.text(&take);
    says!(text => "0 questions that were not probed", "1 whose answer");
    let lines = ken.text(&[&take[..], &["--json"]].concat());
    let taken = objects(&lines);
    let named: Vec<&str> = taken
        .iter()
        .map(|record| record["id"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["harbour#0/1", "france#0/0"], "{lines}");
    let known = objects(&ken.read("known.jsonl"));
    let confidence = |id: &str| {
        let record = known.iter().find(|record| record["id"] == id);
        number(&record.unwrap()["confidence"]["self"])
    };
    for (record, id) in taken.iter().zip(["b", "a"]) {
        assert_eq!(number(&record["mastery"]), confidence(id), "{record}");
        assert_eq!(record["pairs"].as_array().unwrap().len(), 1);
        let [low, high] = [0, 1].map(|at| number(&record["interval"][at]));
        assert!(low < high, "{record}");
    }
    let probed = ken.read("known.jsonl");
    let was = format!("\"confidence\":{{\"self\":{:?}", confidence("a"));
    assert!(probed.contains(&was), "{probed}");
    ken.write(
        "known.jsonl",
        probed.replace(&was, "\"confidence\":{\"self\":0.5"),
    );
    refuses!(ken, &take => "other_settings", "records was", "new file");
    let other = ask("a", "Another question?", "Paris", "france");
    ken.write("questions.jsonl", other);
    refuses!(ken, &take => "no_labels", "none of the 1 questions", "ken probe");
}
