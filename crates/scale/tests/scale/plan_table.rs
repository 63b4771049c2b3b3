//! Plans from a table alone: the measurements of "Less LLM, More Documents" give known answers.

use std::path::Path;

use ken_scale::plan::{Bounds, Candidate, Quantity, candidates_of_table, choose};
use ken_scale::study::read_table;
use ken_testing::with;

fn candidates(dataset: &str) -> Vec<Candidate> {
    let curves = read_table(Path::new("tests/fixtures/less-llm-tables.csv")).unwrap();
    let candidates = candidates_of_table(&curves, dataset);
    assert_eq!(candidates.len(), 5 * 12);
    candidates
}

#[test]
fn the_papers_tables_give_known_plans() {
    for (dataset, least, goal, expected) in [
        ("NQ", "f1=0.4199", Quantity::Parameters, "1.7B@11"),
        ("NQ", "f1=0.4199", Quantity::Shards, "8B@1"),
        ("TriviaQA", "em=0.70", Quantity::Parameters, "4B@9"),
        ("TriviaQA", "em=0.70", Quantity::Shards, "14B@2"),
        ("WebQ", "em=0.23", Quantity::Parameters, "8B@4"),
        ("WebQ", "em=0.23", Quantity::Shards, "8B@4"),
    ] {
        let bounds = with!(Bounds::default(), least: vec![least.parse().unwrap()]);
        let candidates = candidates(dataset);
        let chosen = choose(&candidates, &bounds, goal).unwrap();
        assert_eq!(chosen.name, expected, "{dataset} {least} by {goal}");
    }
    let nq = candidates("NQ");
    let ten = nq
        .iter()
        .find(|candidate| candidate.name == "1.7B@10")
        .unwrap();
    assert_eq!(
        ten.value(Quantity::F1),
        Some(0.4182),
        "one shard less is not enough"
    );
}

#[test]
fn what_nothing_meets_is_answered_with_what_comes_nearest() {
    let bounds = Bounds {
        most: vec!["parameters=2B".parse().unwrap()],
        least: vec!["em=0.35".parse().unwrap()],
    };
    let nq = candidates("NQ");
    let unmet = choose(&nq, &bounds, Quantity::Shards).unwrap_err().unwrap();
    assert!(unmet.alone, "either bound alone can be met");
    assert_eq!(unmet.nearest, "1.7B@8");
}
