//! Runs that Ctrl-C or a kill stops: published documents stay, and the next run resumes.

use std::fs::{self, DirEntry};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use ken_testing::{has, holds};
use serde_json::json;

use crate::documents::{changes, with_notes};
use crate::harness::{Ken, refused, refuses, words};

/// Passages that are published together, as in `ken_ingest`.
const PUBLISHED_TOGETHER: u64 = 4096;

/// Writes `documents` documents of a few words each to `many.jsonl`.
fn write_many(ken: &Ken, documents: u64) {
    let lines =
        (0..documents).map(|n| json!({"id": format!("d{n}"), "contents": format!("vane {n}")}));
    ken.write_lines("many.jsonl", lines);
}

/// Enough documents to stop between the first and the last.
const DOCUMENTS: u64 = 1200;

const INGEST: [&str; 5] = ["ingest", "many.jsonl", "--corpus", "c", "--json"];

/// Waits for something to become true while the process runs.
pub(crate) fn wait_for(child: &mut Child, what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !happened() {
        holds!("it ended before: {what}" => child.try_wait().unwrap().is_none());
        assert!(Instant::now() < deadline, "it never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether documents that were read after `start` wait to be published.
fn has_staged(corpus: &Path, start: SystemTime) -> bool {
    let Ok(stages) = fs::read_dir(corpus.join("staging")) else {
        return false;
    };
    let written = |stage: DirEntry| {
        let file = fs::metadata(stage.path().join("passages.jsonl")).ok()?;
        Some(file.len() > 0 && file.modified().ok()? > start)
    };
    stages.flatten().any(|stage| written(stage) == Some(true))
}

pub(crate) fn interrupt(child: &Child) {
    let kill = format!("kill -INT {}", child.id());
    let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_interrupted_ingest_publishes_what_it_has_and_goes_on() {
    let ken = Ken::new();
    write_many(&ken, DOCUMENTS);
    let (corpus, start) = (ken.path("c"), SystemTime::now());
    let mut child = ken.command(&INGEST).spawn().unwrap();
    wait_for(&mut child, "a stage", || has_staged(&corpus, start));
    interrupt(&child);
    let refusal = refused(child.wait_with_output().unwrap());
    refusal.is(
        "interrupted",
        "stopped after ",
        "run the same command again",
    );
    let published: u64 = refusal
        .message
        .split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap();
    assert!((1..DOCUMENTS).contains(&published), "{}", refusal.message);

    let hits = ken.json(&["search", "--corpus", "c", "--mode", "lexical", "vane 0"]);
    assert_eq!(hits["hits"][0]["doc_id"], "d0");
    let report = ken.json(&["ingest", "many.jsonl", "--corpus", "c"]);
    has!(report, ["documents"]: changes([DOCUMENTS - published, 0, 0, 0, published]));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_ingest_can_be_stopped_inside_of_a_document() {
    let ken = Ken::new();
    ken.write("long.txt", "vane and weather ".repeat(20_000));
    let long = ["ingest", "long.txt", "--corpus", "c", "--json"];
    let long = [&long[..], &["--segment", "words:3"]].concat();
    let mut child = ken.command(&long).spawn().unwrap();
    let lock = ken.path("c/LOCK");
    wait_for(&mut child, "an open corpus", || lock.exists());
    let stopped = Instant::now();
    interrupt(&child);
    let refusal = refused(child.wait_with_output().unwrap());
    refusal.is("interrupted", "stopped after 0 new", "run the same command");
    assert!(stopped.elapsed() < Duration::from_secs(30));
    refuses!(ken, &["search", "--corpus", "c", "vane"] => "not_a_corpus", "", "");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_killed_ingest_loses_nothing_that_was_published() {
    let ken = Ken::new();
    let documents = PUBLISHED_TOGETHER + 900;
    write_many(&ken, documents);
    let corpus = ken.path("c");

    let start = SystemTime::now();
    let mut child = ken.command(&INGEST).spawn().unwrap();
    wait_for(&mut child, "a stage", || has_staged(&corpus, start));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it was not killed");
    let refusal = ken.refusal(&["search", "--corpus", "c", "vane"]);
    refusal.is("not_a_corpus", "c is not a corpus", "ken ingest");

    let start = SystemTime::now();
    let mut child = ken.command(&INGEST).spawn().unwrap();
    wait_for(&mut child, "a stage", || has_staged(&corpus, start));
    refuses!(ken, &INGEST[..4] => "corpus_locked", "another process", "wait");
    let current = corpus.join("CURRENT");
    wait_for(&mut child, "the first generation", || current.exists());
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it was not killed");
    let hits = ken.json(&["search", "--corpus", "c", "--mode", "lexical", "4000"]);
    assert_eq!(hits["hits"][0]["doc_id"], "d4000");

    // The rest may have been published between the check and the kill.
    let report = ken.json(&INGEST[..4]);
    let unchanged = report["documents"]["unchanged"].as_u64().unwrap();
    assert!(unchanged >= PUBLISHED_TOGETHER, "{report}");
    has!(report, ["documents"]: changes([documents - unchanged, 0, 0, 0, unchanged]));
    let hits = ken.json(&["search", "--corpus", "c", "--mode", "lexical", "4990"]);
    assert_eq!(hits["hits"][0]["doc_id"], "d4990");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_interrupted_evaluation_keeps_its_results() {
    let ken = with_notes();
    let questions: Vec<String> = (0..200)
        .map(|n| {
            let question = format!("What is {n} and {n}?");
            json!({"id": format!("q{n}"), "question": question, "golden_answers": ["0"]})
                .to_string()
        })
        .collect();
    ken.write("questions.jsonl", questions.join("\n"));
    let eval = words("eval questions.jsonl --policy never --out results.jsonl --json");
    let results = || fs::read_to_string(ken.path("results.jsonl")).unwrap_or_default();
    let mut child = ken.command(&eval).spawn().unwrap();
    wait_for(&mut child, "a result", || results().lines().count() > 1);
    interrupt(&child);
    let refusal = refused(child.wait_with_output().unwrap());
    let kept = results().lines().count() - 1;
    let message =
        format!("stopped after {kept} of 200 questions, whose results are in results.jsonl");
    refusal.is("interrupted", &message, "run the same command again");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn waiting_for_a_question_is_left_at_once() {
    let ken = Ken::new();
    let chat = words("ask - --policy never --max-tokens 1 --json");
    let mut child = ken.command(&chat).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "What is the capital of France?").unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"question\":"), "{line}");
    interrupt(&child);
    // The input stays open: only Ctrl-C can end it.
    let deadline = Instant::now() + Duration::from_secs(20);
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        assert!(Instant::now() < deadline, "it waits for another line");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(code, Some(130));
    drop(stdin);
}
