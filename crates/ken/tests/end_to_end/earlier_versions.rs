//! Files of earlier versions open: `tests/fixtures` says how they were made.

use std::fs;
use std::path::Path;

use ken_testing::has;

use crate::harness::{Ken, words};

/// A folder with the files of version 0.1.
fn of_0_1() -> Ken {
    let ken = Ken::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1");
    copy(&fixture, "", &ken);
    ken
}

fn copy(from: &Path, to: &str, ken: &Ken) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let to = format!("{to}{name}");
        match path.is_dir() {
            true => copy(&path, &format!("{to}/"), ken),
            false => ken.write(&to, fs::read(&path).unwrap()),
        }
    }
}

#[test]
#[ignore = "needs the test models"]
fn a_corpus_of_0_1_is_searched_checked_and_changed() {
    let ken = of_0_1();
    let info = ken.json(&["corpus", "info", "--corpus", "notes.ken"]);
    has!(info, ["documents"]: 19, ["pruned"]: 1);
    ken.text(&["corpus", "verify", "--corpus", "notes.ken"]);
    for mode in ["dense", "lexical", "hybrid"] {
        let results = ken.json(&[
            "search",
            "--corpus",
            "notes.ken",
            "--mode",
            mode,
            "Hexagone France",
        ]);
        assert_eq!(
            results["hits"][0]["doc_id"], "public-001",
            "{mode}: {results}"
        );
    }
    ken.write(
        "more.jsonl",
        r#"{"id": "bell", "text": "The bell was cast in 1734."}"#,
    );
    ken.text(&["ingest", "more.jsonl", "--corpus", "notes.ken"]);
    let results = ken.json(&["search", "--corpus", "notes.ken", "When was the bell cast?"]);
    assert_eq!(results["hits"][0]["doc_id"], "bell", "{results}");
    ken.text(&["corpus", "rollback", "1", "--corpus", "notes.ken"]);
    let results = ken.json(&["search", "--corpus", "notes.ken", "capital of Germany"]);
    assert_eq!(results["hits"][0]["doc_id"], "public-002", "{results}");
}

#[test]
#[ignore = "needs the test models"]
fn records_and_settings_of_0_1_are_read() {
    let ken = of_0_1();
    let before = [ken.read("probe.jsonl"), ken.read("always.results.jsonl")];
    // Complete records are kept, and no question is asked again.
    let probe = "probe questions.jsonl --corpus notes.ken --samples 2 --max-tokens 8 --correct contains --out probe.jsonl";
    let eval = "eval questions.jsonl --policy always --out always.results.jsonl";
    for call in [probe, eval] {
        ken.text(&call.split(' ').collect::<Vec<_>>());
    }
    assert_eq!(
        before,
        [ken.read("probe.jsonl"), ken.read("always.results.jsonl")]
    );
    let calibrated = ken.json(&words(
        "calibrate probe.jsonl --policy uncertainty:perplexity",
    ));
    assert!(calibrated.is_object(), "{calibrated}");
    let asked = ken.json(&["ask", "What is the capital of France?"]);
    has!(asked, ["policy"]: "evidence:gate", ["citations"][0]["doc_id"]: "public-001");
}
