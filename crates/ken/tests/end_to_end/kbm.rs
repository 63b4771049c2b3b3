//! `ken train kbm` and the policy `kbm`, on a small model of an invented world: what is learned from records, what the
//! assessor is asked about, and what is refused.

use serde_json::{Value, json};

use crate::harness::{Ken, number};
use crate::records::change;
use crate::tuning::{MODEL, SMALL, prepared, write_records};

const SEARCHED: [&str; 4] = ["--corpus", "island.ken", "--mode", "lexical"];
const ASK: [&str; 4] = ["ask", "Who?", "--max-tokens", "4"];

/// `ken ask` with evidence, under a policy that goes by an assessor.
fn ask<'a>(policy: &'a str, kbm: &'a str) -> Vec<&'a str> {
    let by = ["--policy", policy, "--kbm", kbm];
    [&ASK[..], &SEARCHED, &by].concat()
}

/// Records in `known.jsonl`.
fn recorded() -> Ken {
    let ken = prepared();
    write_records(&ken, "40", "known.jsonl");
    ken
}

const TRAIN: [&str; 7] = [
    "train",
    "kbm",
    "known.jsonl",
    "--out",
    "kbm",
    "--epochs",
    "1",
];

/// An assessor of answers from memory in `kbm`, and the report of its training.
fn assessed() -> (Ken, Value) {
    let ken = recorded();
    let report = ken.json(&[&TRAIN[..], &MODEL, &SMALL].concat());
    (ken, report)
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_boundary_is_learned_and_the_policy_kbm_goes_by_it() {
    let (ken, report) = assessed();
    assert_eq!(
        (&report["purpose"], &report["without_evidence"]),
        (&json!("kbm"), &json!(0)),
        "{report}"
    );
    let never = ken.json(&[&ask("kbm@1", "kbm")[..], &MODEL].concat());
    assert_eq!(never["route"], "self", "{never}");
    assert!(never["timing_ms"]["assess mastery"].is_number(), "{never}");
    let twice = [&ask("kbm:certainty@0+double", "kbm")[..], &MODEL].concat();
    ken.refusal(&twice).is(
        "assessor_without_evidence",
        "`kbm:certainty@0+double` asks",
        "ken train kbm RECORDS --out DIR",
    );
    let calibrate = [
        "calibrate",
        "known.jsonl",
        "--policy",
        "kbm",
        "--kbm",
        "kbm",
    ];
    ken.refusal(&[&calibrate[..], &MODEL].concat()).is(
        "nothing_to_compare",
        "with and without evidence",
        "ken probe",
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_assessor_is_asked_about_the_model_that_it_knows() {
    let (ken, _) = assessed();
    let missing = [&ASK[..], &SEARCHED, &MODEL, &["--policy", "kbm@0.5"]].concat();
    ken.refusal(&missing).is("no_assessor", "kbm", "--kbm DIR");
    let medium = [
        "world", "model", "island", "--size", "medium", "--out", "medium",
    ];
    ken.json(&medium);
    let other = ["--model", "./medium", "--kbm-model", "./blank"];
    ken.refusal(&[&ask("kbm@0.5", "kbm")[..], &other].concat())
        .is("other_assessor", "another model", "--kbm-for-any-model");
    let any = [&ask("kbm@1", "kbm")[..], &other, &["--kbm-for-any-model"]].concat();
    assert_eq!(ken.json(&any)["route"], "self");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_assessor_that_was_taught_evidence_judges_it() {
    let (ken, _) = assessed();
    let probe = [
        "probe",
        "island/questions.jsonl",
        "--corpus",
        "island.ken",
        "--mode",
        "lexical",
        "--limit",
        "12",
        "--samples",
        "2",
        "--max-tokens",
        "2",
        "--out",
        "read.jsonl",
    ];
    ken.text(&[&probe[..], &MODEL].concat());
    change(&ken, "read.jsonl", "read.jsonl", |at, record| {
        for condition in ["self", "corpus"] {
            record["confidence"][condition] = json!(at % 2);
            record["certainty"][condition] = json!(at % 2);
        }
    });
    let train = [
        "train",
        "kbm",
        "read.jsonl",
        "--out",
        "reads",
        "--epochs",
        "1",
        "--held-out",
        "0.5",
    ];
    let reads = ken.json(&[&train[..], &SEARCHED, &MODEL, &SMALL].concat());
    assert!(
        number(&reads["by_kind"]["assessor_with_evidence"]) > 0.0,
        "{reads}"
    );
    let twice = ask("kbm:certainty@0+double", "reads");
    let always = ken.json(&[&twice[..], &MODEL].concat());
    assert!(always["calls"]["retriever"] == 1, "{always}");

    // Its threshold is chosen by both judgments, of questions that it was not taught, with the evidence they were
    // probed with.
    let calibrate = ["calibrate", "read.jsonl", "--policy", "kbm+double"];
    let calibrate = |kbm: &'static str, more: &[&'static str]| {
        [&calibrate[..], &["--kbm", kbm], more, &MODEL].concat()
    };
    let chosen = ken.json(&calibrate("reads", &SEARCHED));
    assert_eq!(chosen["policy"], "kbm+double");
    let [questions, left_out] = ["n", "left_out"].map(|count| number(&chosen[count]));
    assert!(questions >= 1.0 && questions + left_out == 12.0, "{chosen}");
    let [used, searched] =
        ["evidence_ratio", "retrieval_ratio"].map(|ratio| number(&chosen[ratio]));
    assert!(used <= searched, "{chosen}");
    let vouching = [&SEARCHED[..], &["--abstain", "kbm", "--max-error", "0.99"]].concat();
    let one = ["calibrate", "read.jsonl", "--policy", "kbm"];
    let vouched = ken.json(&[&one[..], &["--kbm", "reads"], &vouching, &MODEL].concat());
    assert_eq!(number(&vouched["n"]) + number(&vouched["left_out"]), 12.0);
    ken.refusal(&calibrate("reads", &[]))
        .is("corpus_not_named", "corpus", "--corpus");
    ken.refusal(&calibrate("kbm", &SEARCHED)).is(
        "assessor_without_evidence",
        "asks",
        "ken train kbm RECORDS --out DIR",
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_is_known_is_not_learned_from_the_records_of_others() {
    let ken = recorded();
    ken.refusal(&[&TRAIN[..], &SEARCHED, &MODEL, &SMALL].concat())
        .is("no_evidence", "was probed with evidence", "ken probe");
    let tolerant = [
        "train",
        "noise-tolerant",
        "island/questions.jsonl",
        "--records",
        "known.jsonl",
        "--corpus",
        "island.ken",
        "--limit",
        "40",
        "--mode",
        "lexical",
        "--out",
        "tolerant",
    ];
    let taught = ken.json(&[&tolerant[..], &MODEL, &SMALL].concat());
    let of = |kind: &str| number(&taught["by_kind"][kind]);
    assert!((5.0..=20.0).contains(&of("from_memory")), "{taught}");
    assert!(of("with_noise") <= of("from_memory"), "{taught}");
    let records = ken.read("known.jsonl");
    let of_others = tolerant.map(|part| match part {
        "known.jsonl" => "others.jsonl",
        part => part,
    });
    let of_others = [&of_others[..], &MODEL].concat();
    ken.write(
        "others.jsonl",
        records.replace("\"question\":\"", "\"question\":\"And "),
    );
    ken.refusal(&of_others)
        .is("other_question", "another question", "ken probe");
    ken.write(
        "others.jsonl",
        records.replace("\"model\":\"", "\"model\":\"x"),
    );
    ken.refusal(&of_others)
        .is("other_model", "another model", "--model");
    let of_prompts = records.replace("\"prompt\":\"", "\"prompt\":\"x");
    ken.write("others.jsonl", of_prompts);
    ken.refusal(&of_others)
        .is("other_prompts", "prompts", "ken probe");
    let boundary = ["train", "kbm", "others.jsonl", "--out", "others"];
    ken.refusal(&[&boundary[..], &MODEL].concat())
        .is("other_prompts", "prompts", "ken probe");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_question_whose_evidence_is_not_found_again_is_taught_from_memory() {
    let (ken, report) = assessed();
    let records = ken.read("known.jsonl");
    let lost = records.replace("\"evidence\":[]", "\"evidence\":[\"nowhere#0\"]");
    ken.write("lost.jsonl", lost);
    let lost = ["train", "kbm", "lost.jsonl", "--out", "lost"];
    let lost = ken.json(&[&lost[..], &SEARCHED, &MODEL, &SMALL].concat());
    assert!(number(&lost["without_evidence"]) > 10.0, "{lost}");
    assert_eq!(lost["examples"], report["examples"], "{lost}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn labels_are_hard_or_soft() {
    let ken = recorded();
    let one = [
        "train",
        "kbm",
        "known.jsonl",
        "--out",
        "none",
        "--threshold",
        "0",
    ];
    ken.refusal(&[&one[..], &MODEL].concat())
        .is("one_class", "same label", "--threshold");
    assert!(!ken.path("none").exists());
    // A confidence between 0 and 1 teaches both verdicts, each with its probability.
    let labels = |more: &[&'static str], out: &'static str| {
        let train = ["train", "kbm", "known.jsonl", "--out", out];
        let report = ken.json(&[&train[..], more, &MODEL, &SMALL].concat());
        report["examples"].clone()
    };
    assert_ne!(
        labels(&["--soft"], "soft"),
        labels(&["--threshold", "0.6"], "hard")
    );
}
