//! Reranking: the chunk that answers comes first, and says which part of which passage it is.

use std::path::PathBuf;

use ken_testing::{holds, says};
use serde_json::Value;

use crate::harness::{Ken, argument, keys, number, words};

const QUESTION: &str = "who mends the tower clock";

/// The passage that answers does so in one of many sentences; the other is all about the question's subject and
/// answers nothing, so a search of whole passages finds it first.
const TOWN: &str = "The customs house stands at the western end of the quay. It was built of grey \
stone after the great fire, and for many years every barrel that came ashore was weighed in its \
yard. The archive of the town takes up the first floor. On the second floor live the families of \
two pilots. The tower clock is mended by Tilda Brann, who also winds it on Sundays. In the cellar \
there is a store of ropes and lamps. The roof was laid anew when the old slates had become too \
thin. Boats are painted in the yard in spring, and nets are hung there to dry.";
const CLOCKS: &str = "Tower clocks that stand near the sea need more care than others, for salt \
gets into the works. Springs are oiled in autumn, hands are set by the noon gun, and a clock that \
has stopped is taken apart on a table by the window.";

fn ingest(ken: &Ken) {
    ken.write("notes/clocks.txt", CLOCKS);
    ken.write("notes/town.txt", TOWN);
    ken.write("notes/word.txt", "Slates");
    ken.write("notes/ferry.txt", "The ferry leaves pier four at 7:40.");
    ken.text(&["ingest", "notes", "--corpus", "town", "--segment", "whole"]);
}

fn cross_encoder() -> PathBuf {
    std::path::absolute("../model/tests/fixtures/cross_encoders/bert").unwrap()
}

/// The text of a passage that a chunk claims to be.
fn part<'t>(found: &Value, text: &'t str) -> &'t str {
    let place = |end: &str| number(&found["chunk"][end]) as usize;
    // All of it is ASCII.
    &text[place("start")..place("end")]
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn the_chunk_that_answers_comes_first() {
    let ken = Ken::new();
    ingest(&ken);
    let search = ["search", "--corpus", "town", "--mode", "dense", QUESTION];
    let whole = ken.json(&search);
    assert_eq!(whole["hits"][0]["passage_id"], "clocks.txt#0");
    for reranker in ["embedder", "likelihood"] {
        let flags = ["--rerank", reranker, "--rerank-chunk", "words:20/10"];
        let result = ken.json(&[&search[..], &flags].concat());
        let hits = result["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 8, "{reranker}");
        let scores: Vec<f64> = hits.iter().map(|hit| number(&hit["score"])).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        for hit in hits {
            let fields = words("passage_id doc_id title text score metadata chunk");
            assert_eq!(keys(hit), fields);
            let text = match hit["doc_id"].as_str().unwrap() {
                "clocks.txt" => CLOCKS,
                "town.txt" => TOWN,
                "word.txt" => "Slates",
                _ => continue,
            };
            assert_eq!(hit["text"], part(hit, text), "{reranker}");
        }
        let first = hits[0]["text"].as_str().unwrap();
        assert!(first.contains("Tilda Brann"), "{reranker}: {first}");
    }
    let text = ken.text(&[&search[..], &["--rerank", "embedder", "--k", "1"]].concat());
    holds!("{text}" => text.contains("  town.txt#0[") || text.contains("  clocks.txt#0["));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_answer_cites_the_chunk_that_it_read() {
    let ken = Ken::new();
    ingest(&ken);
    ken.write(
        "ken.toml",
        "corpus = \"town\"\nrerank = \"embedder\"\nrerank_chunk = \"words:20/10\"\nk = 2\n",
    );
    let answer = ken.json(&["ask", QUESTION]);
    let said = answer["answer"].as_str().unwrap();
    assert!(said.contains("Tilda Brann"), "{answer}");
    let retrieved = answer["retrieved"].as_array().unwrap();
    assert_eq!(retrieved.len(), 2);
    for found in retrieved {
        let fields = words("passage_id doc_id title text chunk score in_prompt");
        assert_eq!(keys(found), fields);
    }
    let citation = &answer["citations"][0];
    assert_eq!(
        keys(citation),
        ["number", "passage_id", "doc_id", "title", "text", "chunk"]
    );
    assert_eq!(citation["text"], part(citation, TOWN));
    let stages = ["embed", "read", "rerank", "search", "total", "write"];
    assert_eq!(keys(&answer["timing_ms"]), stages);
    assert!(number(&answer["timing_ms"]["rerank"]) > 0.0);

    let text = ken.text(&["ask", QUESTION]);
    says!(text => "  [1] town.txt#0[", "chunks: 2 found, 2 read\n");

    // The tokens that a language model reads for the ranking count.
    let judged = ken.json(&["ask", "--rerank", "likelihood", QUESTION]);
    let prompt = |answer: &Value| number(&answer["tokens"]["prompt"]);
    assert!(prompt(&judged) > 2.0 * prompt(&answer), "{judged}");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn queries_together_get_what_they_get_alone() {
    let ken = Ken::new();
    ingest(&ken);
    for reranker in ["embedder", "likelihood"] {
        let search = ["search", "--corpus", "town", "--rerank", reranker, "--json"];
        let queries = [QUESTION, "ferry", "what is the roof made of"];
        let together = ken.text_of_input(&[&search[..], &["-"]].concat(), &queries.join("\n"));
        let alone = queries.map(|query| ken.text(&[&search[..], &[query]].concat()));
        assert_eq!(together, alone.concat(), "{reranker}");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_cross_encoder_ranks() {
    let ken = Ken::new();
    ingest(&ken);
    let reranker = format!("cross-encoder:{}", argument(&cross_encoder()));
    let search = ["search", "--corpus", "town", "--rerank", &reranker];
    let result = ken.json(&[&search[..], &["--k", "20", QUESTION]].concat());
    let hits = result["hits"].as_array().unwrap();
    // Three short passages, and the long one in two overlapping chunks.
    assert_eq!(hits.len(), 5, "{hits:?}");
    let scores: Vec<f64> = hits.iter().map(|hit| number(&hit["score"])).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let best = ken.json(&[&search[..], &["--k", "2", QUESTION]].concat());
    assert_eq!(best["hits"].as_array().unwrap()[..], hits[..2]);
    // A query far longer than the network can read.
    let long = "clock ".repeat(5_000);
    let result = ken.json(&[&search[..], &[long.as_str()]].concat());
    assert_eq!(result["hits"].as_array().unwrap().len(), 5);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn only_so_many_passages_are_cut() {
    let ken = Ken::new();
    ingest(&ken);
    let search = words(
        "search --corpus town --mode dense --rerank embedder --rerank-depth 1 \
         --rerank-chunk sentence",
    );
    let result = ken.json(&[&search[..], &[QUESTION]].concat());
    let hits = result["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 2, "{hits:?}");
    assert!(hits.iter().all(|hit| hit["passage_id"] == "clocks.txt#0"));
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn an_evaluation_shows_the_stage_and_resumes_under_the_same_only() {
    let ken = Ken::new();
    ingest(&ken);
    let question = serde_json::json!({
        "id": "q", "question": QUESTION, "golden_answers": ["Tilda Brann"],
        "metadata": {"gold_passage": "town.txt"},
    });
    ken.write("q.jsonl", question.to_string());
    let eval = words("eval q.jsonl --corpus town --out r.jsonl --rerank");
    let summary = ken.json(&[&eval[..], &["embedder"]].concat());
    assert!(number(&summary["latency_ms"]["stages"]["rerank"]["p50"]) > 0.0);
    assert_eq!(summary["gold_coverage"], 1.0);
    assert!(ken.read("r.jsonl").contains("\"town.txt#0\""));
    for other in ["none", "likelihood"] {
        let refusal = ken.refusal(&[&eval[..], &[other]].concat());
        assert!(refusal.message.contains("rerank"), "{}", refusal.message);
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_cannot_rerank_is_refused() {
    let ken = Ken::new();
    ingest(&ken);
    let search = ["search", "--corpus", "town", "ferry", "--rerank"];
    let embedder = format!("cross-encoder:{}", argument(&crate::harness::embedder()));
    ken.refusal(&[&search[..], &[embedder.as_str()]].concat())
        .is("not_a_cross_encoder", "BertModel", "ms-marco");
    ken.refusal(&[&search[..], &["cross-encoder:./nowhere"]].concat())
        .is("local_missing", "nowhere", "");
}
