//! The plan that `ken prune apply --dry-run --out` writes, applied later.

use serde_json::json;

use crate::harness::words;
use crate::prune::{TRAIN, left, prepared, pruned};

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn what_a_dry_run_writes_down_is_what_would_go() {
    let ken = prepared();
    ken.json(&words(TRAIN));
    let apply = |more: &[&str]| {
        let own = ["prune", "apply", "--corpus", "island"];
        ken.json(&[&own[..], more].concat())
    };
    let by_pruner = ["--pruner", "pruner.json", "--ratio", "0.4"];
    let dry = apply(&[&by_pruner[..], &["--dry-run", "--out", "plan.jsonl"]].concat());
    assert_eq!(
        (&dry["pruned"], pruned(&ken)),
        (&json!(24), (0, 1)),
        "{dry}"
    );
    let plan = ken.read("plan.jsonl");
    let is_of_pruner = |line: &str| line.contains("\"reason\":\"ken prune: pruner\"");
    assert_eq!(plan.lines().filter(|line| is_of_pruner(line)).count(), 24);
    apply(&["--ids", "plan.jsonl"]);
    let by_plan = left(&ken);
    assert_eq!(by_plan.len(), 36);
    // Repeating it changes nothing, and an undo takes all of it back.
    apply(&["--ids", "plan.jsonl"]);
    assert_eq!(pruned(&ken), (24, 2));
    let undone = ken.text(&["prune", "undo", "--corpus", "island"]);
    assert_eq!(undone.lines().next(), Some("restored 24 passages"));
    assert_eq!(pruned(&ken), (0, 3));
    apply(&by_pruner);
    assert_eq!(left(&ken), by_plan);
}
