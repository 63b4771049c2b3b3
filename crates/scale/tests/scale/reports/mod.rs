//! The look of reports from fixed inputs: as pages, CSV tables and in a terminal. After a run with `KEN_UPDATE` set,
//! `git diff` shows the differences.

mod inputs;

use std::path::Path;

use ken_eval::compare::{report, to_csv};
use ken_eval::retrieval::{per_query_csv, retrieval_csv, retrieval_report};
use ken_eval::{probe_report, summarize_probe};
use ken_lab::pruning::pruning_report;
use ken_report::Report;
use ken_scale::plan::{Bounds, Goal, Plan, Quantity, candidates_of_table, plan_report};

/// Compares a text with the snapshot of a name.
fn check(name: &str, text: &str) {
    let path = Path::new("tests/scale/reports/expected").join(name);
    if std::env::var_os("KEN_UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs");
}

/// Compares the page, without its script, and the text of a report.
fn check_both(name: &str, report: &Report) {
    let page = report.html();
    let start = page.find("<h1>").unwrap();
    let body = &page[start..page.rfind("<script").unwrap()];
    check(&format!("{name}.html"), body);
    check(
        &format!("{name}.txt"),
        &report.text(str::to_owned, usize::MAX),
    );
}

#[test]
fn a_comparison() {
    let comparison = inputs::comparison();
    check("comparison.csv", &to_csv(&comparison));
    let report = report("Policies", &comparison, &inputs::probed());
    check_both("comparison", &report);
}

#[test]
fn retrieval() {
    let evaluation = inputs::retrieval();
    check("retrieval.csv", &retrieval_csv(&evaluation));
    check("queries.csv", &per_query_csv(&evaluation));
    check_both("retrieval", &retrieval_report("Retrieval", &evaluation));
}

#[test]
fn a_study() {
    check_both("study", &inputs::study().report("Sizes"));
}

#[test]
fn pruning() {
    let (ends, rows) = inputs::pruned();
    check_both(
        "pruning",
        &pruning_report("Pruning notes", Some(&ends), &rows),
    );
}

#[test]
fn probing() {
    let probed = inputs::probed();
    let groups = [("plain".to_owned(), summarize_probe(&probed[..2]))];
    check_both("probe", &probe_report("Known", &probed, &groups));
}

#[test]
fn a_plan() {
    let candidates = candidates_of_table(&inputs::curves(), "NQ");
    let goal = Goal::Best(Quantity::Em, Bounds::default());
    let plan = Plan::make(&candidates, &goal, &[4], 0).unwrap();
    check_both("plan", &plan_report(&plan, "NQ", candidates.len()));
}
