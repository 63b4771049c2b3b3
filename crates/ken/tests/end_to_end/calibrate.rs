//! What `ken calibrate` prints, for every shape of policy and every goal, on records with invented numbers.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::harness::Ken;

const PERPLEXITY: &str = "uncertainty:perplexity";

const GOALS: [&str; 5] = [
    "",
    "--ratio 0.3",
    "--measured-loss 0.02",
    "--max-loss 0.2 --confidence 0.9",
    "--max-loss 0.001",
];

/// A number below 100, without any library's randomness.
fn noise(at: u64, stream: u64) -> u64 {
    (at * 7919 + stream * 104_729) * 48271 % 2_147_483_647 % 100
}

/// A record of a question that is known, answered by one search result, answered by two, or misled.
fn record(at: u64) -> Value {
    let kind = (at % 4) as usize;
    let n = |stream| noise(at, stream);
    let share = |number: u64, whole: f64| number as f64 / whole;
    let right = |right: bool, stream, doubt: u64| right == (n(stream) >= doubt);
    let answer = |correct: bool, surprise: Option<u64>| {
        json!({"text": "owl", "logprob": surprise.map(|one| -share(one, 50.0)), "tokens": 2, "entropy": null,
               "correct": correct})
    };
    let surprise = [0, 40, 80, 60][kind] + n(4);
    let mut memory = answer(
        right(kind == 0 || kind == 3, 1, 10),
        (n(6) >= 3).then_some(surprise),
    );
    if at % 50 == 7 {
        memory["lack"] = json!("empty");
        memory["text"] = json!("");
    }
    let evidence = answer(right(kind != 3, 2, 5), Some([10, 10, 15, 70][kind] + n(5)));
    let alike = if kind == 0 { 4 } else { 2 };
    let sample = |number: u64| {
        let text = if number < alike || n(20 + number) < 50 {
            "owl"
        } else {
            "cat"
        };
        json!({"text": text, "logprob": -0.5, "tokens": 2, "written": 1, "correct": null, "type": u8::from(number >= alike)})
    };
    let samples: Vec<Value> = (0..4).map(sample).collect();
    let none = json!({"self": null, "corpus": null, "masked": null});
    json!({
        "id": format!("q{at}"), "question": format!("What is in box {at}?"), "golden_answers": ["owl"],
        "confidence": none, "certainty": none, "effect": {"confidence": null, "certainty": null},
        "greedy": {
            "self": memory,
            "corpus": if at % 60 == 11 { Value::Null } else { evidence },
            "masked": null,
        },
        "judgment": share(n(7), if kind > 0 { 100.0 } else { 200.0 }),
        "eigenscore": null,
        "samples": {"self": samples, "corpus": samples, "masked": null},
        "evidence": ["p1"], "masked_places": 0, "unjudged": null, "error": null,
        "rating": {
            "cosine": (share(n(8), 2.0) + if kind == 3 { 0.0 } else { 40.0 }) / 100.0,
            "lead": share(n(9), 100.0),
            "bm25": share(n(10), 10.0),
            "bm25_lead": share(n(11), 10.0),
            "agreement": share(n(12) / 10, 10.0),
        },
        "at_k": {"1": {"text": "owl", "logprob": -0.5, "tokens": 2, "entropy": null,
                       "correct": right(kind < 2, 3, 10)}},
        "fingerprint": {"model": "m", "corpus": "c", "prompt": "p"},
    })
}

#[test]
fn every_shape_of_policy_is_calibrated_as_recorded() {
    let ken = Ken::new();
    let header = json!({"settings": {"k": "2", "temperature": "1"}});
    let lines = std::iter::once(header).chain((0..400).map(record));
    ken.write(
        "known.jsonl",
        lines.map(|line| format!("{line}\n")).collect::<String>(),
    );
    let policies = [
        "certainty",
        PERPLEXITY,
        "prompt",
        "evidence:cosine",
        "evidence:gain",
        "uncertainty:perplexity+evidence:cosine",
        "uncertainty:perplexity+double",
        "uncertainty:perplexity:0:1:2",
    ];
    let by_goal = policies
        .iter()
        .flat_map(|policy| GOALS.map(|goal| format!("{policy} {goal}")));
    let double = ["0.3", "0.45"].map(|most| format!("{PERPLEXITY}+double --max-loss {most}"));
    let abstaining = [
        (PERPLEXITY, "evidence:confidence"),
        ("certainty", "certainty"),
        (PERPLEXITY, PERPLEXITY),
    ];
    let abstaining = abstaining.iter().flat_map(|(policy, abstain)| {
        ["0.3", "0.01"].map(|most| format!("{policy} --abstain {abstain} --max-error {most}"))
    });
    let mut printed = String::new();
    for flags in by_goal.chain(double).chain(abstaining) {
        for json in ["", " --json"] {
            let call = format!(
                "calibrate known.jsonl --policy {} --samples 4{json}",
                flags.trim()
            );
            // No model is opened.
            let mut command = ken.command(&call.split(' ').collect::<Vec<_>>());
            let output = command
                .env_remove("KEN_MODEL")
                .env_remove("KEN_EMBEDDER")
                .output();
            let output = String::from_utf8(output.unwrap().stdout).unwrap();
            write!(printed, "$ ken {call}\n{output}").unwrap();
        }
    }
    if std::env::var_os("KEN_UPDATE").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/end_to_end/calibrate.txt"
        );
        std::fs::write(path, &printed).unwrap();
    }
    // Line by line, so that a failure names the call.
    let mut call = "";
    for (printed, recorded) in printed.lines().zip(include_str!("calibrate.txt").lines()) {
        call = if recorded.starts_with('$') {
            recorded
        } else {
            call
        };
        assert_eq!(printed, recorded, "{call}");
    }
    assert_eq!(printed, include_str!("calibrate.txt"));
}
