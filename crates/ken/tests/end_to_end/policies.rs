//! Policies that decide by the model's own answers: asked for one by one, compared by `ken eval`, and
//! given a threshold by `ken calibrate`.

use ken_testing::{has, holds, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, keys, number, objects, refuses, words};

fn write_questions(ken: &Ken) {
    let questions = [
        json!({"id": "q1", "question": "Who is the keeper of the Orrin lighthouse?",
               "golden_answers": ["Ilse Marrow"]}),
        json!({"id": "q2", "question": "What is the capital of France?",
               "golden_answers": ["Paris"]}),
        json!({"id": "q3", "question": "Who built the oven of the bakery?",
               "golden_answers": ["Anders Pell", "Pell"]}),
        json!({"id": "q4", "question": "How many clocks are in the clock museum of Tollen?",
               "golden_answers": ["312"]}),
    ];
    ken.write_lines("questions.jsonl", questions);
}

const MEASURED: [&str; 9] = [
    "certainty",
    "uncertainty:perplexity",
    "uncertainty:sequence-probability",
    "uncertainty:mean-token-entropy",
    "uncertainty:max-token-entropy",
    "uncertainty:margin",
    "uncertainty:semantic-entropy",
    "uncertainty:lexical-similarity",
    "uncertainty:eigenscore",
];

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn every_measure_decides_by_its_threshold() {
    let ken = with_notes();
    for name in MEASURED {
        // A signal in 0..=1 takes no other threshold.
        let thresholds = match name {
            "certainty" | "uncertainty:lexical-similarity" | "uncertainty:margin" => ["1", "0"],
            _ => ["1e9", "-1e9"],
        };
        for (threshold, route) in thresholds.into_iter().zip(["self", "corpus"]) {
            let policy = format!("{name}@{threshold}");
            let answer = ken.json(&[
                "ask",
                "Who is the keeper of the Orrin lighthouse?",
                "--corpus",
                "island",
                "--policy",
                &policy,
                "--samples",
                "3",
                // Some need an answer that was written to its end.
                "--max-tokens",
                "32",
            ]);
            assert_eq!(answer["route"], route, "{policy}: {answer}");
            let searches = i64::from(route == "corpus");
            assert_eq!(answer["calls"]["retriever"], searches, "{answer}");
            assert!(answer["calls"]["model"].as_u64().unwrap() >= 1, "{answer}");
            assert!(!answer["answer"].as_str().unwrap().is_empty(), "{answer}");
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_answer_that_decided_is_not_written_again() {
    let ken = with_notes();
    let question = words("ask 'What is the capital of France?' --corpus island");
    let ask = |more: &[&str]| ken.json(&[&question[..], more].concat());
    let never = ask(&["--policy", "never"]);
    let drafted = ask(&["--policy", "uncertainty:perplexity@1e9"]);
    has!(drafted, ["answer"]: never["answer"], ["calls"]: never["calls"]);
    has!(drafted, ["tokens"]: never["tokens"]);
    // No score is below 0, so the evidence is dropped or kept as it should be.
    let twice = ask(&["--policy", "uncertainty:perplexity@0+double"]);
    assert_eq!(twice["calls"]["retriever"], 1);
    let always = ask(&["--policy", "always"]);
    let expected = match twice["route"].as_str() {
        Some("corpus") => &always["answer"],
        _ => &never["answer"],
    };
    assert_eq!(&twice["answer"], expected, "{twice}");
    assert_eq!(
        twice["calls"]["model"], 2,
        "the answer is one of the drafts"
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn policies_are_compared_and_the_run_is_resumed() {
    let ken = with_notes();
    write_questions(&ken);
    let eval = |policies: &'static str| {
        let base = words("eval questions.jsonl --corpus island --out all");
        let more = ["--samples", "4", "--max-tokens", "8", "--policy", policies];
        [&base[..], &more].concat()
    };
    let first = ken.json(&eval("never,always,oracle,certainty,random:0.5"));
    assert_eq!(
        keys(&first),
        words(
            "n style never_em always_em better beneficial harmful misled \
             misled_interval seed policies changed"
        )
    );
    let policies = first["policies"].as_array().unwrap();
    let named = |name: &str| {
        let found = policies.iter().find(|policy| policy["policy"] == name);
        found.unwrap_or_else(|| panic!("{name}"))
    };
    for field in words(
        "auroc ece model_calls retriever_calls evidence_threshold vs_better vs_always \
         of_oracle_lead yardstick curve",
    ) {
        assert!(keys(named("certainty")).contains(&field), "{field}");
    }
    assert_eq!(
        keys(&named("always")["vs_always"]),
        ["em_difference", "interval"]
    );
    assert_eq!(number(&named("always")["vs_always"]["em_difference"]), 0.0);
    assert!(number(&named("oracle")["em"]) >= number(&named("always")["em"]));
    assert_eq!(named("never")["em"], first["never_em"]);

    let never = ken.read("all/never.jsonl");
    let text = ken.text(&eval("certainty,prompt"));
    says!(text => "prompt", "report.html");
    assert_eq!(ken.read("all/never.jsonl"), never, "answers are paid once");
    let page = ken.read("all/report.html");
    assert!(page.contains("<figure") && page.contains("prompt"));
    assert_eq!(ken.read("all/policies.csv").lines().count(), 3);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_was_probed_gives_a_threshold_and_is_not_sampled_again() {
    let ken = with_notes();
    write_questions(&ken);
    ken.text(&words(
        "probe questions.jsonl --corpus island --samples 4 --max-tokens 8 --out \
         known.jsonl",
    ));
    let calibrate = ["calibrate", "known.jsonl", "--policy", "certainty"];
    refuses!(ken, &calibrate => "other_samples", "10 samples are requested", "--samples 4");
    let chosen = ken.json(&[&calibrate[..], &["--samples", "4", "--ratio", "1"]].concat());
    assert_eq!((&chosen["n"], &chosen["samples"]), (&json!(4), &json!(4)));

    let cold = ken.read("known.jsonl");
    let cold = cold.replacen("\"temperature\":\"1\"", "\"temperature\":\"0.3\"", 1);
    ken.write("cold.jsonl", cold);
    let by = |policy| {
        [
            "calibrate",
            "cold.jsonl",
            "--policy",
            policy,
            "--samples",
            "4",
        ]
    };
    refuses!(ken, &by("certainty") => "other_temperature", "0.3", "--temperature 1");
    assert_eq!(ken.json(&by("uncertainty:perplexity"))["n"], 4);
    let eval = words(
        "eval questions.jsonl --corpus island --policy \
         certainty,uncertainty:perplexity --samples 4 --max-tokens 8 --records \
         known.jsonl --out compared",
    );
    ken.json(&eval);
    let known: Value =
        serde_json::from_str(ken.read("known.jsonl").lines().nth(1).unwrap()).unwrap();
    let signals = ken.read("compared/signals.jsonl");
    let of_same = objects(&signals)
        .into_iter()
        .find(|line| line["id"] == known["id"])
        .unwrap();
    let texts = |samples: &Value| -> Vec<Value> {
        let samples = samples.as_array().unwrap();
        samples
            .iter()
            .map(|sample| sample["text"].clone())
            .collect()
    };
    assert_eq!(
        texts(&of_same["without"]["samples"]),
        texts(&known["samples"]["self"])
    );
    assert!(
        ken.read("compared/report.html")
            .contains("What evidence does")
    );

    // Records of answers with other evidence, or of another length, are not reused.
    let with = |more: &[&'static str], out| {
        let reviewed = ["--policy", "uncertainty:perplexity+double"];
        [
            &eval[..4],
            &reviewed,
            &words("--samples 4 --max-tokens 8 --records known.jsonl"),
            more,
            &["--out", out],
        ]
        .concat()
    };
    ken.json(&with(&[], "same"));
    ken.json(&with(&["--k", "1"], "fewer"));
    let read = |out: &str| {
        let signals = ken.read(&format!("{out}/signals.jsonl"));
        let first: Value = serde_json::from_str(signals.lines().nth(1).unwrap()).unwrap();
        number(&first["with"]["costs"]["greedy"]["tokens"]["prompt"])
    };
    let probed = &known["costs_with_evidence"]["greedy"]["tokens"]["prompt"];
    assert_eq!(read("same"), number(probed));
    holds!("one passage is read, not three" => read("fewer") < read("same"));

    // The one threshold of both judgments has the announced effect on these questions.
    let twice = "uncertainty:perplexity+double";
    let calibrate = ["calibrate", "known.jsonl", "--policy", twice];
    let chosen = ken.json(&[&calibrate[..], &["--ratio", "0.5"]].concat());
    let threshold = number(&chosen["threshold"]);
    let policies = format!("never,uncertainty:perplexity@{threshold}+double");
    let compared = ken.json(&[&eval[..4], &["--policy", &policies], &eval[6..]].concat());
    for ratio in ["evidence_ratio", "retrieval_ratio"] {
        assert_eq!(compared["policies"][1][ratio], chosen[ratio], "{chosen}");
    }
    assert_eq!(compared["policies"][1]["em"], chosen["accuracy"]);
    for (policy, reason) in [
        ("certainty+relative", "unknown signal `relative`"),
        ("prompt+double", "cannot judge twice"),
    ] {
        let calibrate = ["calibrate", "known.jsonl", "--policy", policy];
        let output = ken.command(&calibrate).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2), "{policy}: {said}");
        assert!(said.contains(reason), "{policy}: {said}");
    }

    let longer = ["--max-tokens", "9"];
    let longer = [&eval[..8], &longer, &["--records", "known.jsonl"]].concat();
    refuses!(ken, &longer => "other_records", "--max-tokens 8", "give --max-tokens 8");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_policy_that_cannot_choose_says_what_would_help() {
    let ken = Ken::new();
    let ask = |policy: &'static str| ["ask", "Who?", "--corpus", "island", "--policy", policy];
    refuses!(ken, &ask("certainty") =>
        "no_threshold", "`certainty` has no threshold", "ken calibrate");
    refuses!(ken, &ask("oracle") => "no_golden_answers", "golden answers", "ken eval");
}
