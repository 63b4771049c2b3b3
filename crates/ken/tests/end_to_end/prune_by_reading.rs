//! Pruners that look at what a model computes from passages, on the command line and in a study.

use serde_json::{Value, json};

use crate::harness::{Ken, generator, number, refuses, words};
use crate::prune::{TRAIN, left, prepared, prune};

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_pruner_may_have_passages_read() {
    let ken = prepared();
    let train = [
        &words(TRAIN)[..],
        &["--head", "mlp:4", "--features", "likelihood"],
    ]
    .concat();
    let learned = ken.json(&train);
    let report = &learned["report"];
    assert_eq!(report["input"], json!({"from": "passage_likelihood"}));
    assert!(number(&report["rank_correlation"]) > 0.7, "{report}");
    let gone = ken.json(&prune(&["--ratio", "0.4"]));
    assert_eq!(gone["pruned"], 24);
    let countries = |ken: &Ken| left(ken).iter().filter(|id| id.starts_with('c')).count();
    assert!(countries(&ken) <= 8, "{:?}", left(&ken));
    // In a study, the passages are read by the studied model that the pruner was trained with.
    ken.json(&prune(&["--ratio", "0"]));
    ken.write("other.toml", "model = \"no/such/model.gguf\"\n");
    let small = format!("s={}", generator().display());
    let study = words(
        "study run questions.jsonl --corpus island --config other.toml --scales 1 --ks 1 --limit 3 \
         --max-tokens 2 --prune 0,0.4 --pruner pruner.json --out st --model",
    );
    let study = ken.json(&[&study[..], &[small.as_str()]].concat());
    let policies = study["policies"].as_array().unwrap();
    let pruned: Vec<f64> = policies
        .iter()
        .map(|point| number(&point["retrieval"]["pruned"]))
        .collect();
    assert_eq!(pruned, [0.0, 0.4]);
    assert_eq!(
        policies[1]["against_whole"], policies[1]["against_always"],
        "of always"
    );
    let states = [
        &words(TRAIN)[..],
        &["--features", "hidden", "--layer", "auto"],
    ]
    .concat();
    let learned = ken.json(&states);
    let report = &learned["report"];
    assert_eq!(report["input"]["from"], "passage_state", "{report}");
    assert_eq!(report["candidates"].as_array().unwrap().len(), 4);
    assert!(number(&report["rank_correlation"]) > 0.7, "{report}");
    let head = ken.read("pruner.json");
    let head: Value = serde_json::from_str(&head).unwrap();
    let reader = head["measured_on"]["reader"].as_str().unwrap();
    let other = ken.read("pruner.json").replace(reader, "0123456789");
    ken.write("pruner.json", other);
    refuses!(ken, &prune(&["--ratio", "0.1"]) => "other_reader", "another model", "--model");
}
