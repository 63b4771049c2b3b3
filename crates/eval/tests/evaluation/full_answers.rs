//! Policies compared by full answers: composed answers equal those of the pipeline, and an answer is right if it
//! contains a golden one.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_answer::{Pipeline, Policy, Style};
use ken_eval::compare::{ComparisonError, ComparisonWork};
use ken_eval::{Comparison, Question, Run, RunSettings, Summary, summarize};
use ken_testing::{Fact, FnEmbedder, fails};
use tempfile::TempDir;

use crate::fixture::{about_clock, clocks, in_folder, live, policies, questions_of, with_facts};

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

fn run(stop: &AtomicBool) -> Run<'_> {
    Run::new(BATCH, stop, |_| {})
}

fn compared(
    pipeline: &mut Pipeline,
    policies: &[Policy],
    questions: &[Question],
    out: &Path,
) -> Result<Comparison, ComparisonError> {
    let stop = AtomicBool::new(false);
    let work = ComparisonWork {
        folder: out,
        title: "Clocks",
        questions,
        policies,
        probed: &[],
        provenance: RunSettings::new(),
        by: None,
        cross_fit: &|_, _| panic!("no policy needs a gate"),
        identity: &|_| RunSettings::new(),
    };
    work.run(pipeline, &|_| run(&stop))
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
    for words in [
        "answered in style full; an answer is right if it contains a golden answer",
        "<th>right</th>",
    ] {
        assert!(page.contains(words), "{words} is not in\n{page}");
    }
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
