//! Policies compared on a model with a known boundary: what is put together of two answers and what
//! was measured is what the pipeline answers under each policy, at the cost that it has there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod exact_probe;
mod table_world;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::Policy;
use ken_answer::{AnswerSettings, Pipeline};
use ken_study::compare::{
    Answered, Known, RequiredSignals, SignalWork, Signals, Thresholds, measure_signals, to_csv,
    to_html,
};
use ken_study::{
    Comparison, Question, Record, ResultsFile, Run, RunProgress, RunSettings, compare, evaluate,
    probe, summarize,
};
use ken_testing::{Fact, FnEmbedder, TableModel};
use serde_json::json;
use tempfile::TempDir;

use exact_probe::exact_probe;
use table_world::{answering, with_corpus};

/// As many questions of each kind: known and not, whose evidence helps, harms or does nothing.
const EACH: usize = 8;

/// What the model knows, copies, and how often noise misleads it.
const KINDS: [(f64, f64, f64); 5] = [
    (1.0, 1.0, 0.0),
    (0.0, 1.0, 0.0),
    (0.9, 0.0, 1.0),
    (0.4, 0.9, 0.0),
    (0.2, 0.0, 0.3),
];

fn facts() -> Vec<Fact> {
    (0..KINDS.len() * EACH)
        .map(|number| {
            let (known, copied, misled) = KINDS[number % KINDS.len()];
            Fact {
                question: format!("who made the clock number{number}?"),
                answer: format!("Maker{number}"),
                wrong: vec!["Vera Lund".to_owned(), "Odo Finch".to_owned()],
                known,
                copied,
                misled,
            }
        })
        .collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let facts = facts();
    let passages: Vec<(String, String)> = facts
        .iter()
        .enumerate()
        .map(|(number, fact)| {
            let text = match fact.copied > 0.0 {
                true => format!("The clock number{number} was made by {}.", fact.answer),
                false => format!("The clock number{number} is loud."),
            };
            (format!("d{number}"), text)
        })
        .collect();
    let passages: Vec<(&str, &str)> = passages
        .iter()
        .map(|(id, text)| (id.as_str(), text.as_str()))
        .collect();
    with_corpus(
        folder,
        TableModel::new(facts).unwrap(),
        &passages,
        FnEmbedder::blind(),
    )
}

fn questions() -> Vec<Question> {
    let facts = facts();
    let each = facts.iter().enumerate().map(|(number, fact)| {
        let value = json!({
            "id": format!("q{number}"), "question": fact.question, "golden_answers": [fact.answer],
        });
        serde_json::from_value(value).unwrap()
    });
    each.collect()
}

fn policies(names: &str) -> Vec<Policy> {
    names.split(',').map(|name| name.parse().unwrap()).collect()
}

/// What the pipeline answers under a policy.
fn run(pipeline: &mut Pipeline, policy: Policy) -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    pipeline.set(AnswerSettings {
        policy,
        ..answering()
    });
    let mut file = ResultsFile::open(&folder.path().join("r"), RunSettings::new()).unwrap();
    let mut answer =
        |questions: &[&str]| pipeline.answer_many(questions, &mut |_, _| ControlFlow::Continue(()));
    let cancel = AtomicBool::new(false);
    let name = policy.to_string();
    let questions = questions();
    evaluate(
        &name,
        &questions,
        &mut file,
        &mut answer,
        Run::new(7, &cancel, |_| {}),
    )
    .unwrap()
    .records
}

fn signals(folder: &TempDir, pipeline: &Pipeline, policies: &[Policy]) -> Vec<Signals> {
    let mut file = ResultsFile::open(&folder.path().join("s"), RunSettings::new()).unwrap();
    let cancel = AtomicBool::new(false);
    let wanted = RequiredSignals::by(policies);
    let known = Known::default();
    let work = SignalWork {
        pipeline,
        required: &wanted,
        known: &known,
    };
    measure_signals(work, &questions(), &mut file, Run::new(7, &cancel, |_| {}))
        .unwrap()
        .records
}

fn compared(folder: &TempDir, pipeline: &mut Pipeline, policies: &[Policy]) -> Comparison {
    let never = run(pipeline, Policy::Never);
    let always = run(pipeline, Policy::Always);
    let signals = signals(folder, pipeline, policies);
    let answered: Vec<Answered<'_>> = never
        .iter()
        .zip(&always)
        .zip(&signals)
        .map(|((never, always), signals)| Answered {
            never,
            always,
            signals: Some(signals),
        })
        .collect();
    compare(policies, &answered, answering().seed)
}

#[test]
fn what_is_put_together_is_what_the_pipeline_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut pipeline = pipeline(&folder);
    let policies = policies(
        "never,always,random:0.4,prompt@0.4,certainty@0.5,certainty@0.3+double,\
         uncertainty:perplexity@1.5,uncertainty:perplexity@1.5+double,\
         uncertainty:mean-token-entropy@0.4,uncertainty:max-token-entropy@0.4+double,\
         uncertainty:margin@0.5,uncertainty:margin@0.7+double,\
         uncertainty:semantic-entropy@0.5,uncertainty:lexical-similarity@0.4",
    );
    let comparison = compared(&folder, &mut pipeline, &policies);
    let mut ratios = Vec::new();
    for (&policy, put_together) in policies.iter().zip(&comparison.policies) {
        let mut done = summarize(&policy.to_string(), &run(&mut pipeline, policy));
        let mut summary = put_together.summary.clone();
        // Times are of the machine; which stages there are is of the policy.
        let stages = |summary: &ken_study::Summary| -> Vec<String> {
            summary.latency_ms.stages.keys().cloned().collect()
        };
        assert_eq!(stages(&summary), stages(&done), "{policy}");
        summary.latency_ms = done.latency_ms.clone();
        // A repeated retrieval is only worth its tokens.
        done.policy.clone_from(&summary.policy);
        assert_eq!(summary, done, "{policy}");
        ratios.push(summary.retrieval_ratio.unwrap());
    }
    // Of each policy some questions retrieve and some do not.
    assert!(
        ratios[2..]
            .iter()
            .filter(|ratio| **ratio > 0.0 && **ratio < 1.0)
            .count()
            >= 8,
        "{ratios:?}"
    );
}

#[test]
fn statistics_are_those_of_the_set_boundary() {
    let folder = tempfile::tempdir().unwrap();
    let mut pipeline = pipeline(&folder);
    let policies = policies("never,always,oracle,random:0.5,certainty,uncertainty:perplexity");
    let comparison = compared(&folder, &mut pipeline, &policies);
    // Greedy answers: of kinds 0 and 2 known from memory, and 3 too (0.4 against twice 0.3); with
    // evidence 0, 1 and 3 right, 2 misled.
    assert_eq!(
        (comparison.never_em, comparison.always_em),
        (Some(0.6), Some(0.6))
    );
    assert_eq!(
        (comparison.beneficial, comparison.harmful),
        (Some(0.2), Some(0.2))
    );
    let of = |name: &str| {
        let found = comparison
            .policies
            .iter()
            .find(|one| one.summary.policy == name);
        found.unwrap_or_else(|| panic!("{name}"))
    };
    let oracle = of("oracle");
    assert_eq!(oracle.summary.em, Some(0.8));
    assert_eq!(oracle.summary.retrieval_ratio, Some(0.2));
    assert_eq!(
        (oracle.not_harming, oracle.strict_preference),
        (Some(1.0), Some(1.0))
    );
    assert!((oracle.vs_always.em.unwrap() - 0.2).abs() < 1e-12);
    let always = of("always");
    assert_eq!(always.vs_always.em, Some(0.0));
    assert_eq!(
        (always.not_harming, always.strict_preference),
        (Some(0.8), Some(0.2))
    );
    let chance = of("random:0.5").random;
    assert!((chance.em.unwrap() - 0.6).abs() < 0.02, "{chance:?}");
    // The needy answer with one of two: less surely than two kinds, and more surely than two.
    let perplexity = of("uncertainty:perplexity");
    assert_eq!(perplexity.auroc, Some(0.5));
    let certainty = of("certainty");
    assert!(
        (certainty.auroc.unwrap() - 0.5).abs() < 0.1,
        "{certainty:?}"
    );
    // Between them lie thresholds that beat chance, and each half finds one on the other.
    assert!(matches!(
        certainty.threshold,
        Some(Thresholds::OfOtherHalf([Some(_), Some(_)]))
    ));
    assert!(perplexity.vs_random.em.unwrap() > 0.05, "{perplexity:?}");
    assert!(certainty.ece.is_some() && of("uncertainty:perplexity").ece.is_none());
    let curve = &certainty.curve;
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    assert_eq!((first.retrieval_ratio, first.em), (0.0, 0.6));
    assert_eq!((last.retrieval_ratio, last.em), (1.0, 0.6));

    let csv = to_csv(&comparison);
    assert_eq!(csv.lines().count(), 1 + policies.len());
    let width = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == width));
    let page = to_html("Clocks", &comparison, &[]);
    assert!(page.contains("<svg") && page.contains("uncertainty:perplexity"));
    assert!(!page.contains("NaN") && !page.contains("http"));
}

#[test]
fn other_policies_pay_only_for_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = pipeline(&folder);
    let first = signals(&folder, &pipeline, &policies("certainty"));
    let second = signals(
        &folder,
        &pipeline,
        &policies("certainty,prompt,certainty+double"),
    );
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first.without.samples, second.without.samples);
        assert!(first.without.judgment.is_none() && second.without.judgment.is_some());
        assert!(first.with.samples.is_empty() && second.with.samples.len() == 10);
        for (step, cost) in &first.without.costs {
            assert_eq!(second.without.costs.get(step), Some(cost), "not paid again");
        }
    }
}

#[test]
fn a_run_that_is_stopped_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = pipeline(&folder);
    let cancel = AtomicBool::new(false);
    let mut file = ResultsFile::open(&folder.path().join("s"), RunSettings::new()).unwrap();
    let stop = |step: RunProgress| cancel.store(step.done >= 7, Ordering::Relaxed);
    let wanted = RequiredSignals::by(&policies("certainty"));
    let known = Known::default();
    let work = SignalWork {
        pipeline: &pipeline,
        required: &wanted,
        known: &known,
    };
    let stopping = Run::new(7, &cancel, stop);
    let taken = measure_signals(work, &questions(), &mut file, stopping).unwrap();
    assert!(taken.interrupted);
    assert!(file.get("q6").is_some() && file.get("q7").is_none());
    drop(file);
    let all = signals(&folder, &pipeline, &policies("certainty"));
    assert_eq!(all.len(), KINDS.len() * EACH);
}

#[test]
fn what_was_probed_with_another_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = pipeline(&folder);
    let work = exact_probe(&pipeline, 12);
    let mut file = ResultsFile::open(&folder.path().join("p"), RunSettings::new()).unwrap();
    let cancel = AtomicBool::new(false);
    let probed = probe(&work, &questions(), &mut file, Run::new(8, &cancel, |_| {})).unwrap();
    let mut records = probed.records;

    let known = Known::of(&records, 10, &pipeline).unwrap();
    let wanted = RequiredSignals::by(&policies("certainty,uncertainty:perplexity"));
    let work = SignalWork {
        pipeline: &pipeline,
        required: &wanted,
        known: &known,
    };
    let mut file = ResultsFile::open(&folder.path().join("s"), RunSettings::new()).unwrap();
    let taken = measure_signals(work, &questions(), &mut file, Run::new(7, &cancel, |_| {}));
    for (signals, record) in taken.unwrap().records.iter().zip(&records) {
        let samples = record.samples.from_self.as_ref().unwrap();
        let texts = |samples: &mut dyn Iterator<Item = &str>| samples.collect::<Vec<_>>().join("|");
        assert_eq!(
            texts(&mut signals.without.samples.iter().map(|one| one.text.as_str())),
            texts(&mut samples.iter().take(10).map(|one| one.text.as_str())),
            "the first of those that were probed"
        );
    }

    records[0].fingerprint.model = "another".to_owned();
    let error = Known::of(&records, 10, &pipeline).unwrap_err();
    assert_eq!(error.kind(), "other_model");
    assert!(error.remedy().unwrap().mentions("ProbeWithCorpus"));
}
