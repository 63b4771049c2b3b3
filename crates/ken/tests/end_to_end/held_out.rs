//! One split of questions by subject, whatever is trained, calibrated or evaluated: all commands hold out the same
//! questions, and no model is measured unnoticed on a question that it was trained on.

use std::collections::{BTreeMap, BTreeSet};

use ken_testing::has;
use serde_json::Value;

use crate::harness::{Ken, number, refuses, words};
use crate::records::change;
use crate::tuning::{MODEL, SMALL, prepared, write_records};

/// The subjects of the questions in a file of the world, by their ids.
fn subjects(ken: &Ken) -> BTreeMap<String, String> {
    let lines = ken.read("island/questions.jsonl");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let each = lines.lines().map(|line| {
        let question: Value = serde_json::from_str(line).unwrap();
        (
            text(&question["id"]),
            text(&question["metadata"]["subject"]),
        )
    });
    each.collect()
}

/// The ids of the questions in a file of records.
fn ids(ken: &Ken, name: &str) -> BTreeSet<String> {
    let lines = ken.read(name);
    let each = lines.lines().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["id"].as_str().map(str::to_owned)
    });
    each.flatten().collect()
}

/// A world, a model, records of 90 of its questions in `known.jsonl`, and these questions in `asked.jsonl`.
fn probed() -> Ken {
    let ken = prepared();
    write_records(&ken, "90", "known.jsonl");
    let probed = ids(&ken, "known.jsonl");
    let questions = ken.read("island/questions.jsonl");
    let asked = questions.lines().filter(|line| {
        let question: Value = serde_json::from_str(line).unwrap();
        probed.contains(question["id"].as_str().unwrap())
    });
    ken.write("asked.jsonl", asked.collect::<Vec<_>>().join("\n"));
    ken
}

const TRAIN: &str = "train router known.jsonl --features words --held-out 0.5 --out router.json";

/// Answers from memory under a policy, with more flags.
fn eval<'a>(out: &'a str, policy: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = ["eval", "asked.jsonl", "--policy", policy, "--out", out];
    let few = ["--max-tokens", "2", "--corpus", "island.ken"];
    let found = ["--mode", "lexical"];
    [&base[..], &few, &found, &MODEL, more].concat()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn every_command_leaves_the_same_questions_out() {
    let ken = probed();
    let trained = ken.json(&[&words(TRAIN)[..], &["--seed", "0"]].concat());
    let report = &trained["report"];
    let router = ["--router", "router.json"];
    let half = [&router[..], &["--held-out", "0.5"]].concat();
    let seeded = [&half[..], &["--seed", "0"]].concat();
    let measured = ken.json(&eval("held", "never,router@0.5", &seeded));
    has!(measured, ["n"]: report["held_out"], ["taught"]: Value::Null);
    let held = ids(&ken, "held/never.jsonl");
    assert!(held.len() > 20 && held.len() < 70, "{}", held.len());
    // The same whatever the seed.
    let other = [&half[..], &["--seed", "5"]].concat();
    ken.json(&eval("other", "never,router@0.5", &other));
    assert_eq!(ids(&ken, "other/never.jsonl"), held);

    // No subject is on both sides.
    let subjects = subjects(&ken);
    let of = |ids: &BTreeSet<String>| -> BTreeSet<String> {
        ids.iter().map(|id| subjects[id].clone()).collect()
    };
    let all = ids(&ken, "known.jsonl");
    let learned: BTreeSet<String> = all.difference(&held).cloned().collect();
    assert!(of(&held).is_disjoint(&of(&learned)));
    assert!(of(&held).len() < held.len(), "several questions a subject");

    // Language models leave the same questions out, and record what they were trained on.
    let kbm = ["train", "kbm", "known.jsonl", "--held-out", "0.5"];
    ken.json(&[&kbm[..], &["--out", "kbm"], &MODEL, &words(SMALL)].concat());
    let origin: Value = serde_json::from_str(&ken.read("kbm/ken.json")).unwrap();
    let taught = origin["learned_from"].as_array().unwrap().len();
    assert_eq!(taught, learned.len(), "{origin}");
    let by_kbm = ["--kbm", "kbm", "--held-out", "0.5"];
    let measured = ken.json(&eval("kbm_held", "kbm@0.5", &by_kbm));
    assert_eq!(measured["n"], report["held_out"], "{measured}");

    // Calibration leaves out what evaluation uses.
    let calibrate = ["calibrate", "both.jsonl", "--policy", "router"];
    change(&ken, "known.jsonl", "both.jsonl", |_, record| {
        record["greedy"]["corpus"] = record["greedy"]["self"].clone();
    });
    let chosen = ken.json(&[&calibrate[..], &router].concat());
    assert_eq!(chosen["n"], report["held_out"], "{chosen}");
    let fewer = ken.json(&[&calibrate[..], &router, &["--held-out", "0.2"]].concat());
    let fifth = ken.json(&eval(
        "fifth",
        "never,router@0.5",
        &[&router[..], &["--held-out", "0.2"]].concat(),
    ));
    assert_eq!(
        number(&fewer["n"]) + number(&fifth["n"]),
        number(&report["held_out"])
    );
    assert!(number(&fifth["n"]) > 0.0, "{fifth}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_was_taught_a_question_is_not_measured_on_it_unnoticed() {
    let ken = probed();
    let report = &ken.json(&words(TRAIN))["report"];
    let router = ["--router", "router.json"];
    for (out, policy) in [("several", "never,router@0.5"), ("one", "router@0.5")] {
        let measured = ken.json(&eval(out, policy, &router));
        let taught = &measured["taught"][0];
        assert_eq!(taught["what"], "router", "{measured}");
        assert_eq!(taught["questions"], report["learned_from"], "{measured}");
        let text = ken.text(&eval(out, policy, &router));
        assert!(text.contains("looks better than it is"), "{text}");
        // Some of a larger share than training has held out were trained on.
        let more = [&router[..], &["--held-out", "0.8"]].concat();
        refuses!(ken, &eval(out, policy, &more) =>
            "taught_questions", "the router was taught", "--held-out 0.8");
    }
    let kbm = ["train", "kbm", "known.jsonl", "--held-out", "0.5"];
    ken.json(&[&kbm[..], &["--out", "kbm"], &MODEL, &words(SMALL)].concat());
    let by_kbm = ["--kbm", "kbm", "--held-out", "0.8"];
    refuses!(ken, &eval("kbm_held", "kbm@0.5", &by_kbm) =>
        "taught_questions", "the kbm was taught", "--held-out 0.8");
    // Also if it only vouches for answers, which needs a model that was trained with evidence.
    let origin = ken.read("kbm/ken.json");
    let mut reading: Value = serde_json::from_str(&origin).unwrap();
    reading["boundary"]["questions_with_evidence"] = Value::from(5);
    ken.write("kbm/ken.json", reading.to_string());
    let vouching = [&by_kbm[..], &["--abstain", "kbm@0.5"]].concat();
    let policies = "never,uncertainty:perplexity@1";
    refuses!(ken, &eval("vouched", policies, &vouching) =>
        "taught_questions", "the kbm was taught", "--held-out 0.8");
    // A model that was trained for another purpose is refused.
    let mut other: Value = serde_json::from_str(&origin).unwrap();
    other.as_object_mut().unwrap().remove("boundary");
    ken.write("kbm/ken.json", other.to_string());
    let calibrate = ["calibrate", "known.jsonl", "--policy", "kbm"];
    refuses!(ken, &[&calibrate[..], &["--kbm", "kbm"], &MODEL].concat() =>
        "not_kbm", "not trained on what a model knows", "ken train kbm");
}
