//! Scores against values recorded from the official scripts.
//!
//! `fixtures/README.md` says how they were recorded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ken_probe::score;
use serde::Deserialize;

#[derive(Deserialize)]
struct Pair {
    prediction: String,
    golds: Vec<String>,
    em: f64,
    f1: f64,
    script: String,
}

#[test]
fn scores_equal_the_official_scripts() {
    let pairs: Vec<Pair> = serde_json::from_str(include_str!("fixtures/squad_pairs.json")).unwrap();
    assert!(pairs.len() >= 80);
    let mut wrong = Vec::new();
    for pair in &pairs {
        let scores = score(&pair.prediction, &pair.golds);
        let em = f64::from(u8::from(scores.exact_match));
        if em != pair.em || (scores.f1 - pair.f1).abs() > 1e-12 {
            wrong.push(format!(
                "{} {:?} vs {:?}: em {em} f1 {}, official {} {}",
                pair.script, pair.prediction, pair.golds, scores.f1, pair.em, pair.f1
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
