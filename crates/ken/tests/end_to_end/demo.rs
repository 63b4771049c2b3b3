//! `ken demo` on its own corpus.

use ken_testing::says;

use crate::harness::{Ken, argument, generator, keys, number, refuses, words};

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_demo_compares_every_policy_on_both_kinds() {
    let ken = Ken::new();
    let demo = ken.json(&["demo", "--limit", "2"]);
    assert_eq!(keys(&demo), ["questions", "summary"]);
    let rows = demo["questions"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert_eq!(
            keys(row),
            words("question policy route answer correct kind ms cited")
        );
        assert!(row["correct"].is_boolean());
        assert!(number(&row["ms"]) > 0.0);
    }
    for kind in ["public", "invented"] {
        assert_eq!(rows.iter().filter(|row| row["kind"] == kind).count(), 3);
    }
    let summaries = demo["summary"].as_array().unwrap();
    let of_policy = |policy: &str| {
        let summary = summaries.iter().find(|s| s["policy"] == policy);
        summary.unwrap_or_else(|| panic!("{policy} is not in {summaries:?}"))
    };
    assert_eq!(summaries.len(), 3);
    assert_eq!(of_policy("never")["retrieval_ratio"], 0.0);
    assert_eq!(of_policy("always")["retrieval_ratio"], 1.0);
    assert_eq!(of_policy("prompt")["n"], 2);

    let text = ken.text(&["demo", "--policy", "never", "--limit", "1"]);
    let header = text.lines().next().unwrap();
    says!(header => "question", "policy", "route", "answer", "cited", "time");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_demo_takes_the_flags_and_settings_of_answers() {
    let ken = Ken::new();
    let model = generator();
    let demo = ["demo", "--policy", "never", "--limit", "1"];
    let flags = ["--model", argument(&model), "--max-tokens", "1"];
    let output = ken
        .command(&[&demo[..], &flags, &["--json"]].concat())
        .env("KEN_MODEL", "./gone.gguf")
        .env("KEN_POLICY", "always")
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(shown["questions"][0]["policy"], "never", "{stdout}");
    assert!(number(&shown["summary"][0]["mean_tokens"]) > 50.0);

    let flags = ["--model", "./gone.gguf"];
    refuses!(ken, &[&demo[..], &flags].concat() => "local_missing", "gone.gguf", "");
}
