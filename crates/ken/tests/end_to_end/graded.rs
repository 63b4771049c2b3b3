//! Policies that choose k: probed, calibrated, asked and compared.

use ken_testing::{has, says};
use serde_json::json;

use crate::documents::with_notes;
use crate::harness::{Ken, number, refuses};
use crate::records::invent;

const QUESTION: &str = "Who is the keeper of the Orrin lighthouse?";

fn prepared() -> Ken {
    let ken = with_notes();
    let questions = [
        json!({"id": "q1", "question": QUESTION, "golden_answers": ["Ilse Marrow"]}),
        json!({"id": "q2", "question": "Who was born nowhere at all?", "golden_answers": ["Nobody X"]}),
    ];
    ken.write_lines("questions.jsonl", questions);
    ken
}

/// The flags of each command that set what is searched.
const SEARCHED: [&str; 4] = ["--corpus", "island", "--max-tokens", "8"];

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_question_reads_as_many_search_results_as_its_signal_asks_for() {
    let ken = prepared();
    let ask = |policy: &'static str, k: &'static str| {
        let base = ["ask", QUESTION, "--policy", policy, "--k", k];
        [&base[..], &SEARCHED].concat()
    };
    let read = |policy| {
        let answer = ken.json(&ask(policy, "2"));
        let results = answer["retrieved"].as_array().unwrap().len();
        (results, answer["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(read("always").0, 2);
    assert_eq!(read("always:1").0, 1);
    let (results, reason) = read("uncertainty:perplexity:0:1:2@1e8:1e9");
    assert_eq!(results, 0);
    assert!(reason.contains("is not above 100000000: k = 0"), "{reason}");
    let (results, reason) = read("uncertainty:perplexity:0:1:2@0.5:1e9");
    assert_eq!(results, 1);
    says!(reason => "above 0.5 and not above 1000000000: k = 1");
    assert_eq!(read("uncertainty:perplexity:0:1:2@0.1:0.5").0, 2);

    refuses!(ken, &ask("always:3", "2") =>
        "k_too_small", "`always:3` reads up to 3 search results, and k is 2", "--k to 3");
    refuses!(ken, &ask("certainty:0:1:2", "2") =>
        "no_threshold", "no threshold", "ken calibrate RECORDS --policy certainty:0:1:2");
    for (policy, reason) in [
        ("certainty:0:2:1@0.1:0.2", "values of k must rise"),
        ("certainty:0:1:2@0.2:0.1", "thresholds must rise"),
        ("certainty:0:1:2@0.1:0.1", "are equal"),
        ("certainty:0:1:2@0.1", "one threshold between"),
        ("certainty:0", "2 to 5 values"),
        ("evidence:cosine:0:1", "retrieved already"),
        ("certainty:0:1@0.2+double", "reviews evidence as well"),
        ("always:0", "number of search results"),
    ] {
        let output = ken.command(&ask(policy, "2")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2), "{policy}: {said}");
        assert!(said.contains(reason), "{policy}: {said}");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn thresholds_between_values_of_k_are_chosen_on_what_was_probed() {
    let ken = prepared();
    let probe = |more: &[&'static str]| {
        let base = ["probe", "questions.jsonl", "--samples", "2", "--k", "2"];
        [&base[..], more].concat()
    };
    ken.text(&probe(
        &[&["--at-k", "1,2", "--out", "probed.jsonl"][..], &SEARCHED].concat(),
    ));
    let probed = ken.read("probed.jsonl");
    // Known, half known and answered by one search result, and unknown.
    let template = invent(&ken, "probed.jsonl", "known.jsonl", 600, |at, record| {
        let kind = at % 3;
        record["question"] = json!(format!("What is in box {at}?"));
        let known = kind == 0 || kind == 1 && at % 4 == 0;
        record["greedy"]["self"]["correct"] = json!(known);
        record["greedy"]["self"]["logprob"] = json!(-0.1 - 2.0 * kind as f64);
        record["greedy"]["self"]["tokens"] = json!(2);
        record["greedy"]["corpus"]["correct"] = json!(true);
        record["at_k"]["1"]["correct"] = json!(kind < 2);
    });
    assert_eq!(crate::harness::keys(&template["at_k"]), ["1"]);
    assert!(template["at_k"]["1"]["correct"].is_boolean(), "{template}");
    let calibrate = |policy: &'static str, more: &[&'static str]| {
        [&["calibrate", "known.jsonl", "--policy", policy][..], more].concat()
    };
    let policy = "uncertainty:perplexity:0:1:2";
    for goal in [["--max-loss", "0.05"], ["--measured-loss", "0"]] {
        let found = ken.json(&calibrate(policy, &goal));
        assert!((number(&found["mean_k"]) - 1.0).abs() < 0.1, "{found}");
        has!(found, ["always_k"]: 2, ["accuracy"]: 1.0);
        assert_eq!(found["grades"][0]["least_probability"], 1.0);
        let used = found["calibrated"].as_str().unwrap();
        assert!(used.starts_with("uncertainty:perplexity:0:1:2@"), "{used}");
        // The printed policy can be used.
        let ask = ["ask", QUESTION, "--policy", used, "--k", "2"];
        let answer = ken.json(&[&ask[..], &SEARCHED].concat());
        assert_eq!(answer["policy"], used);
    }
    let text = ken.text(&calibrate(policy, &["--ratio", "0.1"]));
    says!(text => "where memory is right with", "to use it: ken ask --policy");

    ken.refusal(&calibrate("uncertainty:perplexity:0:1:3", &[]))
        .is("fewer_results", "up to 3", "--k 3");
    ken.write(
        "older.jsonl",
        probed.replace("\"at_k\":{\"1\"", "\"at_k\":{\"7\""),
    );
    let older = ["calibrate", "older.jsonl", "--policy", policy];
    ken.refusal(&older).is("not_at_k", "k = 1", "--at-k 1");
    ken.refusal(&probe(&[&["--at-k", "5"][..], &SEARCHED].concat()))
        .is("at_k_above_k", "best of 2", "--k to 5");
    ken.refusal(&probe(&["--at-k", "1", "--max-tokens", "8"]))
        .is("at_k_without_corpus", "left out", "--corpus DIR");
    refuses!(ken, &calibrate(policy, &["--max-loss", "0.02", "--out", "g.json"]) =>
        "guaranteed_policy", "one threshold", "--policy certainty");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn policies_that_choose_k_are_compared() {
    let ken = prepared();
    let eval = |policies: &'static str, more: &[&'static str]| {
        let base = ["eval", "questions.jsonl", "--policy", policies];
        [&base[..], &["--k", "2", "--out", "all"], &SEARCHED, more].concat()
    };
    let policies = "always,always:1,uncertainty:perplexity:1:2@1e9,uncertainty:perplexity:0:1:2";
    let compared = ken.json(&eval(policies, &[]));
    let results = |at: usize| number(&compared["policies"][at]["search_results"]["mean"]);
    assert_eq!([results(0), results(1), results(2)], [2.0, 1.0, 1.0]);
    assert!(compared["policies"][3]["grades"].is_array(), "{compared}");
    let text = ken.text(&eval(policies, &[]));
    assert!(text.contains("results"), "{text}");
    assert!(
        ken.read("all/report.html")
            .contains("Accuracy against time")
    );
    let rows = ken.read("all/always:1.jsonl");
    assert_eq!(rows.lines().count(), 3);

    let withheld = eval(policies, &["--abstain", "certainty@0.5"]);
    refuses!(ken, &withheld => "abstains_at_k", "chooses k", "--abstain");
    refuses!(ken, &eval("always,always:9", &[]) => "k_too_small", "9", "--k to 9");
}
