//! `ken eval`: its summary, its file of results, and resuming after a stop.

use ken_testing::{has, says};
use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{Ken, keys, number, refuses, words};

/// Writes three questions about the documents; the gold passage is named by passage and document.
fn write_questions(ken: &Ken) {
    let questions = [
        json!({"id": "q1", "question": "Who is the keeper of the Orrin lighthouse?",
               "golden_answers": ["Ilse Marrow"], "metadata": {"gold_passage": "harbour.txt"}}),
        json!({"id": "q2", "question": "How many clocks are in the clock museum of Tollen?",
               "golden_answers": ["312"], "metadata": {"gold_passage": "museum-1#0"}}),
        json!({"id": "q3", "question": "Who built the oven of the bakery?",
               "golden_answers": ["Anders Pell", "Pell"]}),
    ];
    ken.write_lines("questions.jsonl", questions);
}

fn eval<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let base = ["eval", "questions.jsonl", "--corpus", "island"];
    [&base[..], more].concat()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_run_is_resumed_and_keeps_the_contract() {
    let ken = with_notes();
    write_questions(&ken);
    let out = ["--policy", "always", "--out", "results.jsonl"];

    let text = ken.text(&eval(&[&out[..], &["--limit", "1"]].concat()));
    says!(text => "questions        1\n", "exact match", "by stage", "results.jsonl");
    let first = ken.read("results.jsonl");
    assert_eq!(first.lines().count(), 2, "settings and one result: {first}");

    let summary = ken.json(&eval(&[&out[..], &["--limit", "3"]].concat()));
    let all = ken.read("results.jsonl");
    assert!(all.starts_with(&first), "what was answered is kept");
    assert_eq!(all.lines().count(), 4, "{all}");
    check_summary(&summary);
    for line in all.lines().skip(1) {
        check_result(&serde_json::from_str(line).unwrap());
    }

    let refusal = ken.refusal(&eval(&[&out[..], &["--k", "2"]].concat()));
    refusal.is(
        "other_settings",
        "k was 3 and is now 2",
        "delete results.jsonl to start over, or name a new file for this run by --out",
    );
    assert_eq!(
        ken.read("results.jsonl"),
        all,
        "a refused run changes nothing"
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn full_answers_are_right_where_they_contain_a_golden_one() {
    let ken = with_notes();
    write_questions(&ken);
    let full = ["--style", "full", "--max-tokens", "24"];
    let always = ["--policy", "always", "--out", "full.jsonl"];
    let summary = ken.json(&eval(&[&full[..], &always].concat()));
    has!(summary, ["style"]: "full", ["f1"]: Value::Null, ["em"]: summary["contains"]);
    assert!(number(&summary["em"]) > 0.0, "{summary}");
    let kept = ken.read("full.jsonl");
    assert!(kept.contains("\"style\":\"full\"") && kept.contains("\"full\":true"));
    let text = ken.text(&eval(&[&full[..], &always].concat()));
    assert!(text.contains("right answers") && !text.contains("exact match"));
    refuses!(ken, &eval(&[&always[..], &full[2..]].concat()) =>
        "other_settings", "style was full and is now unset", "--out");

    let against = ["--policy", "never", "--against", "full.jsonl"];
    refuses!(ken, &eval(&against) =>
        "other_style", "full.jsonl has answers in style full, and these are short", "--style full");
    let never = ["--out", "never.jsonl"];
    let held = ken.json(&eval(&[&full[..], &against, &never].concat()));
    assert_eq!(held["against"]["em"], summary["em"]);

    // Answers to prompts in another wording are others.
    let prompts = ken_answer::prompt::full_fingerprint();
    ken.write("full.jsonl", kept.replace(&prompts, "other"));
    refuses!(ken, &eval(&[&full[..], &always].concat()) =>
        "other_settings", "prompt was other and is now ", "--out");
    ken.write("full.jsonl", kept);

    // A setting says so, too.
    ken.write("ken.toml", "style = \"full\"\nmax_tokens = 24\n");
    let several = ["--policy", "never,always,documents", "--out", "all"];
    let compared = ken.json(&eval(&several));
    has!(compared, ["style"]: "full", ["always_em"]: summary["em"]);
    let own = ken.read("all/documents.jsonl");
    assert!(own.contains("\"policy\":\"documents\""), "{own}");
    refuses!(ken, &eval(&[&several[..], &["--abstain", "certainty@0.5"]].concat()) =>
        "abstains_in_full", "cannot be compared", "--style short");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_corpus_that_was_moved_is_the_same_and_one_that_changed_is_not() {
    let ken = with_notes();
    write_questions(&ken);
    let eval = |corpus: &'static str| {
        let words = ["eval", "questions.jsonl", "--limit", "1", "--out", "r"];
        [&words[..], &["--corpus", corpus]].concat()
    };
    ken.text(&eval("island"));
    let first = ken.read("r");
    ken.text(&eval("./island/"));
    std::fs::rename(ken.path("island"), ken.path("isle")).unwrap();
    ken.text(&eval("isle"));
    assert_eq!(ken.read("r"), first, "nothing is answered again");

    ken.write("new.txt", "The mill of Tollen has four sails.");
    ken.text(&["ingest", "new.txt", "--corpus", "isle"]);
    refuses!(ken, &eval("isle") => "other_settings", "corpus was generation 1 of", "new file");
}

/// Three questions under the policy that always retrieves.
fn check_summary(summary: &Value) {
    assert_eq!(
        keys(summary),
        words(
            "n failed cannot_tell policy style em em_interval f1 contains answered \
             answered_wrong answered_wrong_interval right_abstentions retrieval_ratio \
             evidence_ratio search_results gold_coverage gold_recall gold_first \
             model_calls retriever_calls tokens tokens_per_right latency_ms resumed"
        )
    );
    has!(summary, ["n"]: 3, ["resumed"]: 1, ["policy"]: "always", ["style"]: "short");
    assert_eq!(summary["retrieval_ratio"], 1.0);
    assert_eq!(summary["gold_coverage"], 1.0);
    assert_eq!(summary["gold_recall"], 1.0);
    for share in ["em", "f1", "contains", "gold_first"] {
        let value = number(&summary[share]);
        assert!((0.0..=1.0).contains(&value), "{share}: {value}");
    }
    assert!(number(&summary["contains"]) > 0.0, "all answers are wrong");
    for calls in ["model_calls", "retriever_calls"] {
        assert_eq!(summary[calls], json!({"mean": 1.0, "total": 3}));
    }
    let latency = &summary["latency_ms"];
    assert_eq!(keys(latency), ["mean", "p50", "p95", "stages"]);
    assert_eq!(
        keys(&latency["stages"]),
        ["embed", "read", "search", "write"]
    );
    assert!(number(&latency["p50"]) <= number(&latency["p95"]));
    assert!(summary["tokens"]["prompt"]["total"].as_u64().unwrap() > 60);
}

fn check_result(result: &Value) {
    for field in words(
        "id question golden_answers answer policy route em f1 contains retrieved \
         gold_rank gold_covered tokens timing_ms",
    ) {
        assert!(result.get(field).is_some(), "{field} is not in {result}");
    }
    assert_eq!(result["retrieved"].as_array().unwrap().len(), 3);
    let named = result["id"] != "q3";
    assert_eq!(result["gold_rank"].is_u64(), named, "{result}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_question_that_cannot_be_answered_fails_alone() {
    let ken = Ken::new();
    let questions = [
        json!({"id": "long", "question": "why ".repeat(25_000), "golden_answers": ["x"]}),
        json!({"id": "empty", "question": " ", "golden_answers": ["x"]}),
        json!({"id": "good", "question": "What is the capital of France?",
               "golden_answers": ["Paris"]}),
    ];
    ken.write_lines("questions.jsonl", questions);
    let eval = ["eval", "questions.jsonl", "--policy", "never", "--out", "r"];
    let summary = ken.json(&eval);
    assert_eq!((&summary["n"], &summary["failed"]), (&json!(3), &json!(2)));
    assert!(number(&summary["em"]) <= 1.0 / 3.0);
    let results = ken.read("r");
    let results: Vec<Value> = results
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    has!(results, [0]["error"]["kind"]: "question_too_long", [1]["error"]["kind"]: "empty_question",
        [1]["error"]["message"]: "the question is empty", [2]["error"]: Value::Null);
    for result in &results[..2] {
        has!(result, ["em"]: false, ["route"]: Value::Null);
    }
    let text = ken.text(&eval);
    says!(text => "failed           2\n", "from the file    3 answers of");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn without_a_corpus_only_never_can_be_measured() {
    let ken = Ken::new();
    write_questions(&ken);
    let refusal = ken.refusal(&["eval", "questions.jsonl"]);
    refusal.is("corpus_not_named", "no corpus is named", "--corpus DIR");
    ken.refusal(&["eval", "questions.jsonl", "--records", "known.jsonl"])
        .is("records_of_one_policy", "--records", "compare several");

    let eval = words("eval questions.jsonl --policy never --limit 1");
    let summary = ken.json(&eval);
    assert_eq!(summary["retrieval_ratio"], 0.0);
    assert_eq!(summary["gold_coverage"], Value::Null);
    assert!(ken.path("questions.never.results.jsonl").is_file());
}

/// Sampled, so that an answer that depended on its batch would differ.
#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn answers_do_not_depend_on_the_batch() {
    let ken = with_notes();
    write_questions(&ken);
    let answers = |batch: &str, precision: &str| {
        let out = format!("{batch}-{precision}.jsonl");
        let how = ["--batch", batch, "--precision", precision, "--out", &out];
        let flags = [&words("--policy always --temperature 1")[..], &how].concat();
        ken.text(&eval(&flags));
        let answers: Vec<Value> = ken
            .read(&out)
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["answer"].clone())
            .collect();
        assert_eq!(answers.len(), 3);
        answers
    };
    for precision in ["f32", "int8"] {
        assert_eq!(answers("1", precision), answers("3", precision));
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_unknown_precision_or_device_is_refused() {
    let ken = Ken::new();
    ken.write("ken.toml", "precision = \"int7\"");
    refuses!(ken, &["ask", "--policy", "never", "Who?"] =>
        "config", "\"int7\" is no precision; there are auto, f32, int8", "");
    ken.write("ken.toml", "device = \"cuda\"");
    refuses!(ken, &["ask", "--policy", "never", "Who?"] =>
        "no_such_device", "the device `cuda` cannot be used", "--device cpu");
}
