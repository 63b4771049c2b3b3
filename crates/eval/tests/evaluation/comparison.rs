//! Policies compared on a model with a known boundary: what a comparison composes from two answers and the
//! measurements is what the pipeline answers under each policy, at the same cost.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::{Pipeline, Policy, Signal, Step};
use ken_eval::compare::{
    Arm, Changed, ComparisonWork, Known, RequiredSignals, SignalWork, Signals, Thresholds,
    measure_signals, report, to_csv,
};
use ken_eval::{
    ProbeRecord, Question, ResultsFile, Run, RunProgress, RunSettings, Summary, signal_scores,
    summarize,
};
use ken_testing::{Fact, FnEmbedder, fails, has, holds, says};
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture::{
    about_clock, clocks, compared, in_folder, live, policies, probed, questions_of, signals,
    whole_run, with_facts,
};

const BATCH: usize = 7;

/// Equally many questions of each kind: known and not, with evidence that helps, harms or does nothing.
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
    clocks(&KINDS, KINDS.len() * EACH)
}

fn pipeline(folder: &TempDir) -> Pipeline {
    with_facts(folder, facts(), about_clock, FnEmbedder::blind())
}

fn questions() -> Vec<Question> {
    questions_of(&facts())
}

fn measured(folder: &TempDir, pipeline: &Pipeline, policies: &str) -> Vec<Signals> {
    let policies = crate::fixture::policies(policies);
    signals(folder, pipeline, &policies, &questions(), &[], BATCH)
}

/// Compares the composed records with the pipeline's; returns the composed ones.
fn held_against_the_pipeline(
    folder: &TempDir,
    pipeline: &mut Pipeline,
    policies: &[Policy],
) -> Vec<Summary> {
    let comparison = compared(folder, pipeline, policies, &questions(), &[], BATCH);
    let pairs = policies.iter().zip(&comparison.policies);
    let pairs = pairs.map(|(&policy, put_together)| {
        let done = live(pipeline, policy, &questions(), BATCH);
        let mut done = summarize(&policy.to_string(), &done);
        let mut summary = put_together.summary.clone();
        // Times depend on the machine; the stages depend on the policy.
        let stages = |summary: &Summary| -> Vec<String> {
            summary.latency_ms.stages.keys().cloned().collect()
        };
        assert_eq!(stages(&summary), stages(&done), "{policy}");
        summary.latency_ms = done.latency_ms.clone();
        // A repeated retrieval is only worth its tokens.
        done.policy.clone_from(&summary.policy);
        assert_eq!(summary, done, "{policy}");
        summary
    });
    pairs.collect()
}

#[test]
fn what_is_put_together_is_what_the_pipeline_does() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let policies = policies(
        "never,always,random:0.4,prompt@0.4,certainty@0.5,certainty@0.3+double,\
         uncertainty:perplexity@1.5,uncertainty:perplexity@1.5+double,uncertainty:sequence-probability@2,\
         uncertainty:mean-token-entropy@0.4,uncertainty:max-token-entropy@0.4+double,\
         uncertainty:margin@0.5,uncertainty:margin@0.7+double,\
         uncertainty:semantic-entropy@0.5,uncertainty:lexical-similarity@0.4,\
         evidence:bm25@2,\
         evidence:agreement@0.5,evidence:confidence@-0.4,evidence:gain@0.1,evidence:doubt@1.2,\
         uncertainty:perplexity@1.2+evidence:gain@0.1,prompt@0.4+evidence:doubt@1.2,\
         certainty@0.3+evidence:confidence@-0.4",
    );
    let summaries = held_against_the_pipeline(&folder, &mut pipeline, &policies);
    let dropped = summaries
        .iter()
        .filter(|summary| summary.evidence_ratio < summary.retrieval_ratio);
    let dropped = dropped.count();
    holds!("of most reviews some questions drop the evidence: {dropped}" => dropped >= 5);
    // Under each policy some questions retrieve and some do not.
    let ratios: Vec<f64> = summaries
        .iter()
        .map(|summary| summary.retrieval_ratio.unwrap())
        .collect();
    assert!(
        ratios[2..]
            .iter()
            .filter(|ratio| **ratio > 0.0 && **ratio < 1.0)
            .count()
            >= 8,
        "{ratios:?}"
    );
    assert!(
        summaries
            .iter()
            .all(|summary| summary.answered == Some(1.0))
    );
}

#[test]
fn what_is_withheld_is_what_the_pipeline_withholds() {
    let policies = policies(
        "never,always,random:0.4,prompt@0.4,certainty@0.5,certainty@0.3+double,\
         uncertainty:perplexity@1.5,evidence:agreement@0.5,\
         uncertainty:perplexity@1.2+evidence:gain@0.1,evidence:confidence@-0.4",
    );
    for abstain in [
        "uncertainty:perplexity@1.4",
        "certainty@0.2",
        "uncertainty:margin@0.5",
        "evidence:confidence@-0.4",
        "evidence:gain@0.1",
        "evidence:agreement@0.5",
    ] {
        let (folder, mut pipeline) = in_folder(pipeline);
        pipeline.settings.abstain = Some(abstain.parse().unwrap());
        let summaries = held_against_the_pipeline(&folder, &mut pipeline, &policies);
        let withholds = summaries
            .iter()
            .filter(|summary| summary.answered < Some(1.0));
        assert!(withholds.count() >= 5, "{abstain}");
        for summary in summaries
            .iter()
            .filter(|summary| summary.answered > Some(0.0))
        {
            let (right, answered) = (summary.em.unwrap(), summary.answered.unwrap());
            let error = 1.0 - right / answered;
            holds!("{abstain}" => (summary.answered_wrong.unwrap() - error).abs() < 1e-12);
        }
    }
}

#[test]
fn documents_first_withholds_what_it_is_not_sure_of() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    let answers = live(&mut pipeline, Policy::DOCUMENTS, &questions(), BATCH);
    let documents = summarize("documents", &answers);
    assert!(documents.evidence_ratio < documents.retrieval_ratio);
    assert!(documents.answered < Some(1.0) && documents.answered > Some(0.5));
    assert!(documents.answered_wrong < Some(0.4), "{documents:?}");
}

#[test]
fn what_is_withheld_pays() {
    let (folder, mut pipeline) = in_folder(pipeline);
    pipeline.settings.abstain = Some("certainty@0.2".parse().unwrap());
    let always = &held_against_the_pipeline(&folder, &mut pipeline, &policies("always"))[0];
    // Answers whose samples do not agree, from memory or evidence, are mostly wrong: all of kind 4 are withheld.
    assert!(always.answered.unwrap() < 0.85, "{always:?}");
    assert!(always.right_abstentions.unwrap() > 0.9, "{always:?}");
    assert!(always.answered_wrong.unwrap() < 0.4, "{always:?}");
    let answers = live(&mut pipeline, Policy::ALWAYS, &questions(), BATCH);
    let withheld = answers.iter().filter(|record| record.withheld.is_some());
    for record in withheld {
        assert!(record.answer.is_empty() && !record.em && record.f1 == 0.0);
        assert!(!record.withheld.as_ref().unwrap().answer.is_empty());
    }
}

#[test]
fn gains_are_over_the_better_of_never_and_always() {
    let (folder, mut pipeline) = in_folder(pipeline);
    // Of kind 1, which needs evidence, every second question is left out: evidence misleads more often than it helps.
    let asked = questions().into_iter().enumerate();
    let asked = asked.filter(|(number, _)| number % 5 != 1 || number % 10 == 1);
    let asked: Vec<Question> = asked.map(|(_, question)| question).collect();
    let policies = policies("never,always,oracle,evidence:confidence,evidence:cosine");
    let comparison = compared(&folder, &mut pipeline, &policies, &asked, &[], BATCH);
    assert_eq!(comparison.better, Arm::Never);
    let [never, always] = [comparison.never_em, comparison.always_em].map(Option::unwrap);
    let oracle = &comparison.policies[2];
    for policy in &comparison.policies {
        let ahead = policy.summary.em.unwrap() - never;
        assert!((policy.vs_better.em.unwrap() - ahead).abs() < 1e-12);
        let lead = ahead / (oracle.summary.em.unwrap() - never);
        assert!((policy.of_oracle_lead.unwrap() - lead).abs() < 1e-12);
    }
    assert!((comparison.policies[1].vs_better.em.unwrap() - (always - never)).abs() < 1e-12);
    // What the model answers with evidence has been read; what the search found has not.
    let [confidence, cosine] = [3, 4].map(|at| &comparison.policies[at].yardstick);
    assert_eq!(confidence.needless_skipped, Some(0.0));
    assert!(confidence.needless_rejected > Some(0.3));
    assert_eq!(cosine.needless_rejected, Some(0.0));
    assert!(cosine.needless_skipped > Some(0.0));
}

#[test]
fn statistics_are_those_of_the_set_boundary() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let policies = policies("never,always,oracle,random:0.5,certainty,uncertainty:perplexity");
    let comparison = compared(&folder, &mut pipeline, &policies, &questions(), &[], BATCH);
    // Greedy answers: of kinds 0 and 2 known from memory, and 3 too (0.4 against twice 0.3); with
    // evidence 0, 1 and 3 right, 2 misled.
    has!(comparison, never_em: Some(0.6), always_em: Some(0.6), beneficial: Some(0.2), harmful: Some(0.2));
    let of = |name: &str| {
        let result = comparison
            .policies
            .iter()
            .find(|policy| policy.summary.policy == name);
        result.unwrap_or_else(|| panic!("{name}"))
    };
    let oracle = of("oracle");
    has!(oracle, summary.em: Some(0.8), summary.retrieval_ratio: Some(0.2), not_harming: Some(1.0),
        strict_preference: Some(1.0));
    // It reads only beneficial evidence, all for questions that memory answers wrong.
    has!(oracle, trusted_right: Some(0.75), doubted_right: Some(0.0), needless_searches: Some(0.0));
    assert_eq!(of("always").needless_searches, Some(0.6));
    assert_eq!(of("never").needless_searches, None);
    let tokens = |name: &str| {
        let Summary { tokens, em, n, .. } = &of(name).summary;
        (tokens.prompt.total + tokens.completion.total) as f64 / (em.unwrap() * *n as f64)
    };
    for name in ["never", "always", "oracle"] {
        let per_right = of(name).summary.tokens_per_right.unwrap();
        holds!("{name}: {per_right}" => (per_right - tokens(name)).abs() < 1e-6);
    }
    assert!((oracle.vs_always.em.unwrap() - 0.2).abs() < 1e-12);
    // Each of them is named: those of kind 2 are harmed and those of kind 1 helped.
    let (helped, harmed): (Vec<&Changed>, Vec<&Changed>) = comparison
        .changed
        .iter()
        .partition(|question| question.is_helped);
    assert_eq!(
        (helped.len() * 5, harmed.len() * 5),
        (comparison.n, comparison.n)
    );
    assert!(
        harmed
            .iter()
            .all(|question| question.right.contains(&"never".to_owned()))
    );
    for question in helped {
        assert!(
            question.right.contains(&"always".to_owned())
                && !question.right.contains(&"never".to_owned())
        );
        assert!(question.right.contains(&"oracle".to_owned()) && question.always != question.never);
    }
    // Of three kinds known from memory one is misled.
    assert!((comparison.misled.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    let [low, high] = comparison.misled_interval.unwrap();
    assert!(low < 1.0 / 3.0 && 1.0 / 3.0 < high);
    assert_eq!(
        (oracle.of_oracle_lead, of("always").of_oracle_lead),
        (Some(1.0), Some(0.0))
    );
    let spares = |name: &str| {
        let yardstick = &of(name).yardstick;
        (yardstick.needless_skipped.unwrap(), yardstick.loss.unwrap())
    };
    assert_eq!(spares("never"), (1.0, 0.0));
    assert_eq!(spares("always"), (0.0, 0.0));
    assert_eq!(spares("oracle").0, 1.0);
    // Half of the known questions are as sure as those can be that need no evidence.
    let (skipped, lost) = spares("uncertainty:perplexity");
    assert!(skipped > 0.3 && lost <= 0.1, "{skipped} {lost}");
    let always = of("always");
    has!(always, vs_always.em: Some(0.0), trusted_right: None, doubted_right: Some(0.6),
        not_harming: Some(0.8), strict_preference: Some(0.2));
    let chance = of("random:0.5").random;
    assert!((chance.em.unwrap() - 0.6).abs() < 0.02, "{chance:?}");
    // The needy answer with one of two: less surely than two kinds, and more surely than two.
    let perplexity = of("uncertainty:perplexity");
    assert_eq!(perplexity.auroc, Some(0.5));
    let certainty = of("certainty");
    holds!("{certainty:?}" => (certainty.auroc.unwrap() - 0.5).abs() < 0.1);
    // Between them lie thresholds that beat chance, and each half finds one on the other.
    assert!(matches!(
        certainty.cut.threshold,
        Some(Thresholds::OfOtherHalf([Some(_), Some(_)]))
    ));
    assert!(perplexity.vs_random.em.unwrap() > 0.05, "{perplexity:?}");
    assert!(certainty.ece.is_some() && of("uncertainty:perplexity").ece.is_none());
    let curve = &certainty.curve;
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    assert_eq!((first.retrieval_ratio, first.em), (0.0, 0.6));
    has!(last, retrieval_ratio: 1.0, em: 0.6, threshold: None);

    let csv = to_csv(&comparison);
    assert_eq!(csv.lines().count(), 1 + policies.len());
    let width = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == width));
    let page = report("Clocks", &comparison, &[]).html();
    assert!(page.contains("<figure") && page.contains("uncertainty:perplexity"));
    assert!(!page.contains("NaN"));
    // It is self-contained: besides the name of drawings in the script it names no address.
    assert_eq!(page.matches("http").count(), 1);
    assert!(page.contains("createElementNS(\"http://www.w3.org/2000/svg\""));
}

#[test]
fn a_point_of_a_curve_is_the_policy_with_its_threshold() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let mut of = |names: &str| {
        let policies = policies(names);
        compared(&folder, &mut pipeline, &policies, &questions(), &[], BATCH).policies
    };
    let curve = of("certainty").remove(0).curve;
    let points: Vec<_> = curve
        .iter()
        .filter_map(|point| Some((point, point.threshold?)))
        .collect();
    assert!(points.len() > 3);
    let names = points.iter().map(|(_, at)| format!("certainty@{at}"));
    let names: Vec<String> = names.collect();
    let each = of(&names.join(","));
    for ((point, _), policy) in points.into_iter().zip(each) {
        let summary = policy.summary;
        assert_eq!(summary.em, Some(point.em), "{}", summary.policy);
        assert_eq!(
            summary.retrieval_ratio,
            Some(point.retrieval_ratio),
            "{}",
            summary.policy
        );
    }
}

#[test]
fn a_curve_has_the_times_of_its_policy() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let policies = policies("uncertainty:perplexity@1.5,certainty@0.5,evidence:gain@0.1");
    let comparison = compared(&folder, &mut pipeline, &policies, &questions(), &[], BATCH);
    for policy in &comparison.policies {
        let summary = &policy.summary;
        let point = policy
            .curve
            .iter()
            .find(|point| (point.retrieval_ratio - summary.evidence_ratio.unwrap()).abs() < 1e-12);
        let point = point.unwrap();
        let (ms, mean) = (point.ms.unwrap(), summary.latency_ms.mean.unwrap());
        assert!((ms - mean).abs() < 1e-6, "{}: {ms} {mean}", summary.policy);
        assert_eq!(Some(point.em), summary.em);
    }
    let page = report("Clocks", &comparison, &[]).html();
    assert!(page.contains("Accuracy against time") && page.contains("frontier"));
}

#[test]
fn other_policies_pay_only_for_what_is_missing() {
    let (folder, pipeline) = in_folder(pipeline);
    let first = measured(&folder, &pipeline, "certainty");
    let second = measured(&folder, &pipeline, "certainty,prompt,certainty+double");
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
fn answers_are_not_written_again_to_be_measured() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let asked = questions();
    let required = policies("uncertainty:perplexity,evidence:gain");
    let measured = signals(&folder, &pipeline, &required, &asked, &[], BATCH);
    let [never, always] =
        [Policy::NEVER, Policy::ALWAYS].map(|policy| live(&mut pipeline, policy, &asked, BATCH));
    let known = Known::default().and_answered(&never, &always);
    let work = SignalWork {
        pipeline: &pipeline,
        required: &RequiredSignals::by(&required, None, &pipeline),
        known: &known,
    };
    let mut file = ResultsFile::open(&folder.path().join("again"), RunSettings::new()).unwrap();
    let taken = measure_signals(work, &asked, &mut file, whole_run(BATCH));
    let taken = taken.unwrap().records;
    let records = never.iter().zip(&always);
    for ((measured, taken), (never, always)) in measured.iter().zip(&taken).zip(records) {
        let each = [
            (&measured.without, &taken.without, never),
            (&measured.with, &taken.with, always),
        ];
        for (measured, taken, record) in each {
            assert!(taken.greedy.is_some(), "{taken:?}");
            assert_eq!(taken.greedy, measured.greedy);
            let [measured, taken] = [measured, taken].map(|measured| measured.costs[&Step::Greedy]);
            has!(taken, tokens: measured.tokens, calls: measured.calls);
            let answering = record.timing_ms["read"] + record.timing_ms["write"];
            assert_eq!(taken.ms, answering, "the time is that of the answer");
        }
    }
}

#[test]
fn a_run_that_is_stopped_goes_on() {
    let (folder, pipeline) = in_folder(pipeline);
    let cancel = AtomicBool::new(false);
    let mut file = ResultsFile::open(&folder.path().join("s"), RunSettings::new()).unwrap();
    let stop = |step: RunProgress| cancel.store(step.done >= 7, Ordering::Relaxed);
    let wanted = RequiredSignals::by(&policies("certainty"), None, &pipeline);
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
    let all = measured(&folder, &pipeline, "certainty");
    assert_eq!(all.len(), KINDS.len() * EACH);
}

#[test]
fn what_was_probed_with_another_model_is_refused() {
    let (folder, pipeline) = in_folder(pipeline);
    let mut records = probed(&pipeline, &questions(), 12, 8);
    let policies = policies("certainty,uncertainty:perplexity");
    let taken = signals(&folder, &pipeline, &policies, &questions(), &records, BATCH);
    for (signals, record) in taken.iter().zip(&records) {
        let samples = record.samples.from_self.as_ref().unwrap();
        let texts = |samples: &mut dyn Iterator<Item = &str>| samples.collect::<Vec<_>>().join("|");
        assert_eq!(
            texts(
                &mut signals
                    .without
                    .samples
                    .iter()
                    .map(|sample| sample.text.as_str())
            ),
            texts(&mut samples.iter().take(10).map(|sample| sample.text.as_str())),
            "the first of those that were probed"
        );
    }

    records[0].fingerprint.model = "another".to_owned();
    fails!(Known::of(&records, 10, &pipeline) => "other_model"; "ProbeWithCorpus");
}

/// A value as versions recorded it that kept no openings of answers.
fn without_openings(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("opening");
            fields.values_mut().for_each(without_openings);
        }
        Value::Array(values) => values.iter_mut().for_each(without_openings),
        _ => {}
    }
}

#[test]
fn answers_that_were_recorded_without_their_openings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut pipeline = pipeline(&folder);
    let out = folder.path().join("out");
    let compare = |pipeline: &mut Pipeline, policy: &str, probed: &[ProbeRecord]| {
        let cancel = AtomicBool::new(false);
        let work = ComparisonWork {
            folder: &out,
            title: "Clocks",
            provenance: RunSettings::new(),
            questions: &questions(),
            policies: &policies(policy),
            probed,
            by: None,
            cross_fit: &|_, _| panic!("no policy needs a gate"),
            identity: &|pipeline| {
                let policy = pipeline.settings.policy.to_string();
                RunSettings::from([("policy".to_owned(), policy)])
            },
        };
        let comparison = work.run(pipeline, &|_| Run::new(BATCH, &cancel, |_| {}));
        comparison.map(drop)
    };
    compare(&mut pipeline, "evidence:assurance", &[]).unwrap();
    for name in ["never.jsonl", "always.jsonl", "signals.jsonl"] {
        let file = out.join(name);
        let recorded = fs::read_to_string(&file).unwrap();
        let older = recorded.lines().map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            without_openings(&mut value);
            format!("{value}\n")
        });
        fs::write(&file, older.collect::<String>()).unwrap();
        let error = compare(&mut pipeline, "evidence:assurance", &[]).unwrap_err();
        assert_eq!(error.kind(), "without_openings");
        says!(error.to_string() => name, "evidence:assurance");
        assert!(error.remedy().unwrap().mentions(name));
        // This policy reads whole answers.
        compare(&mut pipeline, "evidence:confidence", &[]).unwrap();
        fs::write(&file, recorded).unwrap();
    }
    compare(&mut pipeline, "evidence:assurance", &[]).unwrap();

    let mut records = probed(&pipeline, &questions(), 10, 8);
    assert!(signal_scores(&records, Signal::EVIDENCE_ASSURANCE, 10).is_ok());
    compare(&mut pipeline, "evidence:assurance", &records).unwrap();
    records[0].greedy.corpus.as_mut().unwrap().answer.opening = None;
    let error = compare(&mut pipeline, "evidence:assurance", &records).unwrap_err();
    assert_eq!(error.kind(), "probed_without_openings");
    says!(error.to_string() => "number0", "evidence:assurance");
    let error = signal_scores(&records, Signal::EVIDENCE_ASSURANCE, 10).unwrap_err();
    assert_eq!(error.kind(), "without_openings");
    assert!(signal_scores(&records, Signal::PERPLEXITY, 10).is_ok());
}
