//! `ken eval` on a BEIR folder: modes compared, runs written, and ids that do not fit.

use ken_testing::says;
use serde_json::Value;

use crate::harness::{Ken, keys, number, refuses};

const CORPUS: &str = r#"{"_id": "light", "title": "Lighthouse", "text": "The keeper of the Orrin lighthouse is Ilse Marrow. She feeds the seals of Orrin. The lighthouse was built in 1871."}
{"_id": "bakery", "title": "Bakery", "text": "The stone oven of the bakery was built by Anders Pell. The bakery opens at five."}
{"_id": "bridge", "title": "Rope bridge", "text": "The rope bridge over the Lenn is 48 metres long."}
"#;

const QUERIES: &str = r#"{"_id": "q1", "text": "Who is the keeper of the Orrin lighthouse?"}
{"_id": "q2", "text": "Who built the oven of the bakery?"}
{"_id": "train-1", "text": "How long is the bridge?"}
"#;

/// A BEIR folder, whose documents are passages of four words each, in the corpus `c`.
fn ingested() -> Ken {
    let ken = Ken::new();
    ken.write("beir/corpus.jsonl", CORPUS);
    ken.write("beir/queries.jsonl", QUERIES);
    let qrels = "query-id\tcorpus-id\tscore\nq1\tlight\t2\nq2\tbakery\t1\nq2\tmill\t1\n";
    ken.write("beir/qrels/test.tsv", qrels);
    let segment = ["--segment", "words:4", "--corpus", "c"];
    ken.text(&[&["ingest", "beir/corpus.jsonl"][..], &segment].concat());
    ken
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn modes_are_compared_on_documents_and_leave_their_runs() {
    let ken = ingested();
    let eval = ["eval", "beir", "--corpus", "c"];
    let modes = [&eval[..], &["--modes", "lexical,dense,hybrid"]].concat();
    let results = ken.json(&modes);
    assert_eq!(keys(&results), ["n", "k", "seed", "systems", "notices"]);
    assert_eq!((&results["n"], &results["k"]), (&2.into(), &100.into()));
    let systems = results["systems"].as_array().unwrap();
    let names: Vec<&Value> = systems.iter().map(|system| &system["system"]).collect();
    assert_eq!(names, ["lexical", "dense", "hybrid"]);
    for system in systems {
        let measures = system["measures"].as_array().unwrap();
        // Half of what is relevant to the second query is not in the corpus.
        let recall = |at: usize| (&measures[at]["measure"], number(&measures[at]["mean"]));
        assert_eq!(recall(1), (&"recall@10".into(), 0.75), "{system}");
        assert_eq!(recall(3), (&"MRR@100".into(), 1.0), "{system}");
    }
    assert_eq!(
        keys(&systems[1]["measures"][0]["against_first"]),
        ["difference", "interval", "p", "better", "worse"]
    );
    let notice =
        "the corpus lacks 1 of the 3 relevant documents, which count as not found: \"mill\"";
    assert_eq!(results["notices"], serde_json::json!([notice]));
    let run = ken.read("beir.retrieval/dense.run");
    let of_first = run.lines().filter(|line| line.starts_with("q1 Q0 "));
    assert_eq!(of_first.count(), 3, "a document is ranked once: {run}");

    let again = [
        &eval[..],
        &["--modes", "lexical", "--runs", "beir.retrieval/dense.run"],
    ]
    .concat();
    assert_eq!(
        ken.json(&[&again[..], &["--out", "again"]].concat())["systems"],
        {
            let [lexical, dense] = [&systems[0], &systems[1]];
            serde_json::json!([lexical, dense])
        }
    );
    let page = ken.read("again/page.json");
    says!(page => "embedder", "generation 1", "\"k\"", "command", "version");
    let text = ken.text(
        &[
            &eval[..],
            &["--k", "1", "--modes", "lexical", "--limit", "1"],
        ]
        .concat(),
    );
    says!(text => "nDCG@1 ", "1 judged queries");
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn ids_of_another_corpus_are_refused() {
    let ken = ingested();
    ken.write("other.tsv", "q1 0 doc-1 1\n");
    let eval = ["eval", "beir", "--corpus", "c", "--qrels", "other.tsv"];
    let message = "the corpus has none of the 1 judged documents: \"doc-1\"";
    refuses!(ken, &eval => "no_document_known", message, "under their ids");
    ken.write("other.tsv", "query 0 light 1\n");
    let message = "none of the 1 judged queries was asked: judged \"query\", asked \"q1\", \"q2\"";
    ken.refusal(&eval).is("no_query_known", message, "--qrels");
}
