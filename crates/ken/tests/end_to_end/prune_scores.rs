//! `ken prune score`: scores that stay with their passages, and filters that prune by them.

use std::collections::BTreeSet;

use ken_testing::has;
use serde_json::json;

use crate::harness::{Ken, number, refuses, words};
use crate::prune::{left, prepared, prune, pruned};

/// The documents that a search with a filter can find.
fn found(ken: &Ken, filter: &str) -> BTreeSet<String> {
    let search = ["search", "--corpus", "island", "--mode", "dense", "--k"];
    let hits = ken.json(&[&search[..], &["60", "--filter", filter, "keeper"]].concat());
    let hits = hits["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["doc_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_threshold_prunes_when_the_corpus_is_searched() {
    let ken = prepared();
    let score = |more: &[&str]| {
        let own = ["prune", "score", "--corpus", "island"];
        ken.json(&[&own[..], more].concat())
    };
    let scored = score(&["--pruner", "pruner.json"]);
    has!(scored, ["name"]: "mastery", ["scored"]: 60);
    assert_eq!(pruned(&ken), (0, 2), "nothing is pruned in the corpus");
    let threshold = &scored["thresholds"][1];
    has!(threshold, ["ratio"]: 0.3, ["pruned"]: 18);
    let filter = format!("NOT mastery>={}", number(&threshold["score"]));
    let by_filter = found(&ken, &filter);
    assert_eq!(by_filter.len(), 42);

    // Scores stay with their passages, and what is added later has none.
    ken.write(
        "more.jsonl",
        json!({"id": "later", "contents": "A keeper."}).to_string(),
    );
    ken.text(&["ingest", "more.jsonl", "--corpus", "island"]);
    ken.text(&["corpus", "compact", "--corpus", "island"]);
    let mut now = found(&ken, &filter);
    assert!(now.remove("later"));
    assert_eq!(now, by_filter);
    let low = filter.replace("NOT mastery>=", "mastery<");
    assert_eq!(found(&ken, &low), by_filter);

    // Scores from a file, under a name of their own.
    let lines = json!({"passage_id": "c0#0", "score": 12.5});
    ken.write("perplexity.jsonl", lines.to_string());
    let kept = score(&["--scores", "perplexity.jsonl", "--name", "perplexity"]);
    has!(kept, ["name"]: "perplexity", ["scored"]: 1, ["passages"]: 61);
    let info = ken.json(&["corpus", "info", "--corpus", "island"]);
    assert_eq!(info["scores"], json!(["mastery", "perplexity"]));
    assert_eq!(
        found(&ken, "perplexity>12"),
        BTreeSet::from(["c0".to_owned()])
    );
    ken.write("bad.jsonl", json!({"passage_id": "c0#0"}).to_string());
    let bad = words("prune score --corpus island --scores bad.jsonl");
    ken.refusal(&bad).is("bad_prune_line", "bad.jsonl", "score");

    // The same passages go that are pruned in the corpus at the same ratio.
    ken.text(&["corpus", "delete", "--corpus", "island", "--doc", "later"]);
    ken.text(&prune(&["--ratio", "0.3"]));
    assert_eq!(left(&ken).into_iter().collect::<BTreeSet<_>>(), by_filter);
    ken.text(&["prune", "undo", "--corpus", "island"]);
    let by_score = words("prune apply --corpus island --score mastery --ratio 0.3");
    has!(ken.json(&by_score), ["method"]: "kept", ["pruned"]: 18);
    assert_eq!(left(&ken).into_iter().collect::<BTreeSet<_>>(), by_filter);
    let few = words("prune apply --corpus island --score perplexity --ratio 0.3");
    refuses!(ken, &few => "too_few_labels", "18 passages", "smaller ratio");
}
