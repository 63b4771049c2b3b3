//! Policies compared by full answers: composed answers equal those of the pipeline, and an answer is right if it
//! contains a golden one.

use std::fs;
use std::path::Path;

use ken_answer::{Pipeline, Policy, Style};
use ken_eval::compare::ComparisonError;
use ken_eval::{Comparison, Question, Summary, summarize};
use ken_testing::{Fact, FnEmbedder, fails, says};
use tempfile::TempDir;

use crate::fixture::{
    about_clock, clocks, comparison_work, in_folder, live, policies, questions_of, whole_run,
    with_facts,
};

const BATCH: usize = 7;

/// The shares that the model knows and copies, and how often noise misleads it.
const KINDS: [(f64, f64, f64); 4] = [
    (1.0, 1.0, 0.0),
    (0.0, 1.0, 0.0),
    (0.9, 0.0, 1.0),
    (0.4, 0.9, 0.0),
];

fn facts() -> Vec<Fact> {
    clocks(&KINDS, 32)
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let mut pipeline = with_facts(folder, facts(), about_clock, FnEmbedder::blind());
    pipeline.settings.style = Style::Full;
    pipeline
}

fn compared(
    pipeline: &mut Pipeline,
    policies: &[Policy],
    questions: &[Question],
    out: &Path,
) -> Result<Comparison, ComparisonError> {
    let work = comparison_work(out, questions, policies);
    work.run(pipeline, &|_| whole_run(BATCH))
}

#[test]
fn what_is_put_together_is_what_the_pipeline_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (mut pipeline, questions) = (pipeline(&folder), questions_of(&facts()));
    let policies = policies(
        "never,always,documents,prompt@0.4,uncertainty:sequence-probability@0.3,evidence:doubt@1.2",
    );
    let out = folder.path().join("compared");
    let comparison = compared(&mut pipeline, &policies, &questions, &out).unwrap();
    assert_eq!(comparison.style, Style::Full);
    for (&policy, put_together) in policies.iter().zip(&comparison.policies) {
        let records = live(&mut pipeline, policy, &questions, BATCH);
        let right = records.iter().filter(|record| record.is_right()).count() as f64;
        let done = summarize(&policy.to_string(), &records);
        let told = |of: &Summary| {
            let searches = of.retriever_calls.total;
            let evidence = of.evidence_ratio;
            (of.em, of.answered, searches, evidence, of.tokens.clone())
        };
        assert_eq!(told(&put_together.summary), told(&done), "{policy}");
        assert_eq!(done.em, Some(right / questions.len() as f64), "{policy}");
        assert_eq!(put_together.summary.f1, None);
        // Answers from memory instead of evidence say so, and still contain the golden answer.
        let is_marked = records.iter().any(|record| record.is_right() && !record.em);
        assert!(is_marked || policy != Policy::DOCUMENTS);
    }
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    says!(page =>
        "answered in style full; an answer is right if it contains a golden answer",
        "<th>right</th>");
    assert!(!page.contains("exact match") && !page.contains("<th>EM</th>"));
}

#[test]
fn withheld_short_answers_are_not_compared_with_full_ones() {
    let (folder, mut pipeline) = in_folder(pipeline);
    pipeline.settings.abstain = Some("certainty@0.5".parse().unwrap());
    let (questions, out) = (questions_of(&facts()), folder.path().join("c"));
    let policies = [Policy::NEVER, Policy::ALWAYS];
    fails!(compared(&mut pipeline, &policies, &questions, &out) => "abstains_in_full");
}
