//! A model that was trained on the knowledge of another: its verdict as input of a router, and for another generator.

use serde_json::{Value, json};

use crate::harness::{number, refuses, words};
use crate::records::change;
use crate::tuning::{MODEL, SMALL, prepared, write_records};

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_router_looks_at_what_a_boundary_model_says() {
    let ken = prepared();
    write_records(&ken, "160", "known.jsonl");
    let train = ["train", "kbm", "known.jsonl", "--held-out"];
    for (held_out, out) in [("0.7", "kbm"), ("0", "greedy")] {
        let train = [&train[..], &[held_out, "--out", out], &MODEL, &words(SMALL)].concat();
        ken.json(&train);
    }
    let by = ["--features", "first-token-and-kbm", "--out", "router.json"];
    let train = [&["train", "router", "known.jsonl"][..], &by, &MODEL].concat();
    let twice = [&train[..], &["--kbm", "kbm", "--held-out", "0.7"]].concat();
    refuses!(ken, &twice => "held_out_twice", "none is left", "larger --held-out");
    let report = &ken.json(&[&train[..], &["--kbm", "kbm"]].concat())["report"];
    assert_eq!(report["input"]["from"], "first_token_and_mastery");
    let counted = ["learned_from", "held_out", "left_out"].map(|field| number(&report[field]));
    assert_eq!(counted.iter().sum::<f64>(), 160.0, "{report}");
    assert!(counted[2] > 20.0, "taught questions are left out: {report}");
    let text = ken.read("router.json");
    let head: Value = serde_json::from_str(&text).unwrap();
    assert!(head["measured_on"]["assessor"].is_string(), "{text}");

    let ask = ["ask", "Who?", "--corpus", "island.ken", "--mode", "lexical"];
    let by = ["--router", "router.json", "--policy", "router@0.5"];
    let ask = [&ask[..], &by, &["--max-tokens", "4"], &MODEL].concat();
    let answer = ken.json(&[&ask[..], &["--kbm", "kbm"]].concat());
    assert!(answer["timing_ms"]["represent"].is_number(), "{answer}");
    assert!(number(&answer["calls"]["model"]) >= 3.0, "{answer}");
    let calibrate = ["calibrate", "known.jsonl", "--policy", "router"];
    let calibrate = [&calibrate[..], &by[..2], &["--kbm", "kbm"], &MODEL].concat();
    refuses!(ken, &calibrate => "nothing_to_compare", "with and without evidence", "ken probe");

    ken.refusal(&ask).is("no_assessor", "kbm", "--kbm DIR");
    refuses!(ken, &[&ask[..], &["--kbm", "greedy"]].concat() =>
        "other_router", "kbm", "ken train router");
    ken.refusal(&train).is("no_assessor", "kbm", "--kbm DIR");
    ken.refusal(&[&train[..], &["--kbm", "greedy"]].concat())
        .is("no_labels", "taught all", "--held-out 0.5");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_boundary_model_is_measured_for_another_generator() {
    let ken = prepared();
    write_records(&ken, "60", "known.jsonl");
    let train = ["train", "kbm", "known.jsonl", "--held-out", "0.5"];
    ken.json(&[&train[..], &["--out", "kbm"], &MODEL, &words(SMALL)].concat());
    let medium = ["world", "model", "island", "--size", "medium"];
    ken.json(&[&medium[..], &["--out", "medium"]].concat());
    let kbm = ["--kbm", "kbm", "--kbm-model", "./blank"];
    let any = ["--kbm-for-any-model"];

    // A threshold for the other generator is chosen on its own answers.
    let found = ["--corpus", "island.ken", "--mode", "lexical"];
    let generator = ["--model", "./medium", "--max-tokens", "2"];
    let probe = ["probe", "island/questions.jsonl", "--limit", "60"];
    let to = ["--samples", "1", "--out", "of_medium.jsonl"];
    ken.text(&[&probe[..], &to, &found, &generator].concat());
    change(&ken, "of_medium.jsonl", "other.jsonl", |at, record| {
        record["greedy"]["self"]["correct"] = json!(at % 2 == 0);
        record["greedy"]["corpus"]["correct"] = json!(at % 3 > 0);
    });
    let calibrate = ["calibrate", "other.jsonl", "--policy", "kbm"];
    let calibrate = [&calibrate[..], &["--ratio", "0.5"], &kbm].concat();
    refuses!(ken, &calibrate => "other_assessor", "another model", "--kbm-for-any-model");
    let chosen = ken.json(&[&calibrate[..], &any].concat());
    let taught: Value = serde_json::from_str(&ken.read("kbm/ken.json")).unwrap();
    let taught = taught["learned_from"].as_array().unwrap().len();
    assert_eq!(number(&chosen["n"]), 60.0 - taught as f64, "{chosen}");
    assert!(number(&chosen["retrieval_ratio"]) <= 0.5, "{chosen}");

    // It can be compared with that generator's other policies, and each verdict costs a call of its own.
    let eval = ["eval", "island/questions.jsonl", "--held-out", "0.5"];
    let by = ["--limit", "8", "--policy", "kbm,kbm@1,never,always"];
    let eval = [
        &eval[..],
        &by,
        &["--out", "compared"],
        &found,
        &generator,
        &kbm,
    ]
    .concat();
    refuses!(ken, &eval => "other_assessor", "another model", "--kbm-for-any-model");
    let compared = ken.json(&[&eval[..], &any].concat());
    assert_eq!(compared["n"], 8, "{compared}");
    let policies = compared["policies"].as_array().unwrap();
    assert!(policies[0]["threshold"].is_array() || policies[0]["threshold"].is_number());
    assert_eq!(policies[0]["unscored"], 0, "{compared}");
    let calls = |at: usize| number(&policies[at]["model_calls"]["mean"]);
    assert_eq!(calls(1), calls(2) + 1.0, "{compared}");
}
