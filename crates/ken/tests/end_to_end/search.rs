//! `ken search`: its output in every mode.

use serde_json::{Value, json};

use crate::documents::with_notes;
use crate::harness::{keys, number, objects};

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn every_mode_finds_and_keeps_the_contract() {
    let ken = with_notes();
    for (mode, query) in [
        ("dense", "Who looks after the beacon for ships?"),
        ("lexical", "ilse marrow"),
        ("hybrid", "keeper of the lighthouse"),
    ] {
        let search = ["search", query, "--corpus", "island", "--mode", mode];
        let result = ken.json(&[&search[..], &["--k", "3"]].concat());
        assert_eq!(keys(&result), ["query", "hits"], "{mode}");
        assert_eq!(result["query"], query);
        let hits = result["hits"].as_array().unwrap();
        assert!(!hits.is_empty() && hits.len() <= 3, "{mode}: {hits:?}");
        for hit in hits {
            assert_eq!(
                keys(hit),
                ["passage_id", "doc_id", "title", "text", "score", "metadata"]
            );
        }
        let scores: Vec<f64> = hits.iter().map(|hit| number(&hit["score"])).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{mode}: {scores:?}");
        assert_eq!(hits[0]["passage_id"], "harbour.txt#0", "{mode}");
        assert_eq!(hits[0]["doc_id"], "harbour.txt", "{mode}");
        assert_eq!(hits[0]["title"], "harbour", "{mode}");
        assert!(hits[0]["text"].as_str().unwrap().contains("Ilse Marrow"));
    }
    let text = ken.text(&["search", "--corpus", "island", "rope bridge"]);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with(" 1. "), "{text}");
    assert!(first.contains("bridge-1#0  Rope bridge"), "{text}");
    assert!(text.contains("48 metres"), "{text}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn queries_on_stdin_are_searched_for_line_by_line() {
    let ken = with_notes();
    let search = ["search", "--corpus", "island", "--k", "1", "-", "--json"];
    let output = ken.text_of_input(&search, "seals\n\nstone oven\n");
    let found = objects(&output);
    let passages: Vec<(&Value, &Value)> = found
        .iter()
        .map(|result| (&result["query"], &result["hits"][0]["passage_id"]))
        .collect();
    assert_eq!(
        json!(passages),
        json!([
            ["seals", "harbour.txt#0"],
            ["stone oven", "town/bakery.md#0"]
        ])
    );
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_no_passage_says_is_not_found() {
    let ken = with_notes();
    let lexical = ["search", "--corpus", "island", "--mode", "lexical"];
    let nothing = [&lexical[..], &["xylophone"]].concat();
    assert_eq!(ken.text(&nothing), "nothing found\n");
    let result = ken.json(&nothing);
    assert_eq!(result["hits"].as_array().unwrap().len(), 0);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_very_long_query_is_searched_for() {
    let ken = with_notes();
    let query = "seals and otters ".repeat(6_000);
    assert!(query.len() > 100_000);
    let result = ken.json(&["search", "--corpus", "island", &query]);
    assert_eq!(result["hits"][0]["passage_id"], "harbour.txt#0");
}
