//! The gate on a model with a known boundary: learned from probe records, it refuses misleading evidence, and a
//! comparison composes what the pipeline does.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ken_answer::{Pipeline, Policy, RoutingModels};
use ken_eval::compare::Thresholds;
use ken_eval::{ProbeRecord, Question, observe, signal_scores, summarize};
use ken_lab::heads::gate::{GateReport, cross_fitted_worth, gate_labels, gate_scores, learn_gate};
use ken_policy::{Head, Input, Source};
use ken_testing::{Fact, FnEmbedder, fails, has, says, with};
use ken_train::heads::Shape;
use tempfile::TempDir;

use crate::fixture::{
    answering, compared, comparison_work, in_folder, live, policies, probed, questions_of,
    whole_run, with_facts,
};
use crate::{go_on, learn_options};

const BATCH: usize = 9;
const FACTS: usize = 160;

/// The corpus has every other fact, in its own words; for the rest it has a look-alike that shares few of their
/// words, which misleads if the model knows the answer.
fn facts() -> Vec<Fact> {
    let questions = (0..FACTS).map(|number| {
        let covered = number % 2 == 0;
        let known = if number % 4 == 1 || number % 8 == 0 {
            1.0
        } else {
            0.1
        };
        Fact {
            question: format!("who made the brass clock number{number} of hall{number}?"),
            answer: format!("Maker{number}"),
            wrong: vec!["Vera Lund".to_owned(), "Odo Finch".to_owned()],
            known,
            copied: if covered { 1.0 } else { 0.0 },
            misled: if covered { 0.0 } else { 1.0 },
        }
    });
    questions.collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let text = |number: usize, fact: &Fact| match fact.copied > 0.0 {
        true => format!(
            "The brass clock number{number} of hall{number} was made by {}.",
            fact.answer
        ),
        false => format!("The clock number{number} is loud."),
    };
    with_facts(folder, facts(), text, FnEmbedder::blind())
}

fn learned(pipeline: &Pipeline, records: &[ProbeRecord], input: Input) -> (Head, GateReport) {
    let labels = gate_labels(records).unwrap();
    let embedder = pipeline.retriever().unwrap().embedder().fingerprint();
    let options = learn_options(Shape::Logistic, 1, 0.4);
    learn_gate(&labels, &[input], embedder, options, &mut go_on).unwrap()
}

#[test]
fn a_gate_refuses_what_misleads() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    let questions: Vec<Question> = questions_of(&facts());
    let records = probed(&pipeline, &questions, 2, BATCH);
    assert!(records.iter().all(|record| record.rating.is_some()));
    for input in [Input::Evidence, Input::EvidenceAndAnswer] {
        let (_, report) = learned(&pipeline, &records, input);
        assert!(report.measured.em > report.measured.always_em, "{report:?}");
        assert!(report.measured.em > report.measured.never_em, "{report:?}");
        assert!(report.measured.auroc.unwrap() > 0.95, "{report:?}");
        let [low, _] = report.measured.vs_always_interval.unwrap();
        assert!(low > 0.0, "{report:?}");
        assert_eq!(report.learned_from + report.held_out, FACTS);

        let (gate, _) = learned(&pipeline, &records, input);
        let scores = gate_scores(&gate, &records).unwrap();
        let unseen = scores.iter().flatten().count();
        assert_eq!(
            unseen, report.held_out,
            "it tells nothing of what it learned from"
        );
        pipeline = pipeline
            .with(with!(RoutingModels::default(), gate: Some(Arc::new(gate.into()))))
            .unwrap();
        let policies = policies("evidence:gate,uncertainty:perplexity@1.2+evidence:gate@0.5");
        // With and without the probe records, the results are the same.
        let own = tempfile::tempdir().unwrap();
        let comparison = compared(&own, &mut pipeline, &policies, &questions, &[], BATCH);
        let own = tempfile::tempdir().unwrap();
        let again = compared(&own, &mut pipeline, &policies, &questions, &records, BATCH);
        for ((&policy, put_together), again) in policies
            .iter()
            .zip(&comparison.policies)
            .zip(&again.policies)
        {
            let answers = live(&mut pipeline, policy, &questions, BATCH);
            let done = summarize(&policy.to_string(), &answers);
            let mut summary = put_together.summary.clone();
            summary.latency_ms = done.latency_ms.clone();
            assert_eq!(summary, done, "{policy}");
            has!(again, summary.em: done.em, summary.tokens: done.tokens);
            assert!(done.em > comparison.always_em, "{done:?}");
            assert!(done.evidence_ratio < done.retrieval_ratio, "{done:?}");
        }
        assert!(comparison.misled.unwrap() > 0.0);
    }
}

#[test]
fn without_a_gate_each_half_is_weighed_by_one_of_the_other() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let mut questions = questions_of(&facts());
    for (number, question) in questions.iter_mut().enumerate() {
        let kind = if number % 2 == 0 { "covered" } else { "other" };
        question.metadata.insert("kind".to_owned(), kind.into());
    }
    let policies = policies("always,evidence:gate");
    let out = folder.path().join("compared");
    let mut compare = |questions: &[Question], out: &Path| {
        let work = comparison_work(out, questions, &policies);
        let work = with!(work, by: Some("kind"), cross_fit: &cross_fitted_worth);
        work.run(&mut pipeline, &|_| whole_run(BATCH))
    };
    let comparison = compare(&questions, &out).unwrap();
    let gated = &comparison.policies[1];
    assert!(gated.of_oracle_lead.unwrap() > 0.8, "{gated:?}");
    // By kind: covered questions use their evidence, the others are answered from memory.
    let by = comparison.by.unwrap();
    let groups: Vec<(&str, usize)> = by
        .groups
        .iter()
        .map(|group| (&*group.value, group.n))
        .collect();
    assert_eq!(groups, [("covered", FACTS / 2), ("other", FACTS / 2)]);
    let used = |group: usize| by.groups[group].policies[1].evidence_ratio.unwrap();
    assert!(used(0) > 0.9 && used(1) < 0.6, "{by:?}");
    assert!(by.groups[1].misled.unwrap() > 0.9);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("By kind") && page.contains("Needless"));

    fails!(compare(&questions[..12], &folder.path().join("few")) => "too_few_labels"; "");
}

#[test]
fn refused_evidence_leaves_the_answer_from_memory() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    let facts = facts();
    let policy: Policy = "evidence:bm25@1000".parse().unwrap();
    pipeline.settings.policy = policy;
    let answer = |question: &str| {
        pipeline
            .answer(question, &mut |_| ControlFlow::Continue(()))
            .unwrap()
    };
    let known = &facts[1];
    let refused = answer(&known.question);
    has!(refused, route: Source::SelfKnowledge, answer.as_str(): known.answer.as_str());
    says!(refused.reason => "not above 1000, so the evidence is dropped");
    assert!(refused.retrieved.iter().all(|passage| !passage.in_prompt));
    assert!(!refused.retrieved.is_empty() && refused.citations.is_empty());
    // One search for the passages and two to rate them.
    assert_eq!(refused.calls.retriever, 3);
    let model = answering();
    assert_eq!(model.k, refused.retrieved.len());
}

#[test]
fn thresholds_come_from_what_was_probed() {
    let (folder, mut pipeline) = in_folder(pipeline);
    let questions = questions_of(&facts());
    let records = probed(&pipeline, &questions, 2, BATCH);
    let (search, evidence): (ken_answer::Signal, ken_answer::Signal) = (
        "uncertainty:perplexity".parse().unwrap(),
        "evidence:bm25".parse().unwrap(),
    );
    let scores = |signal| signal_scores(&records, signal, 2).unwrap();
    let (of_search, of_evidence) = (scores(search), scores(evidence));
    let alone = observe(&records, (evidence, &of_evidence), None, (&[], 0), 3).unwrap();
    // Helpful evidence shares more words with its question, and so does some needless evidence.
    let area = alone.auroc().unwrap();
    assert!((0.7..0.95).contains(&area), "{area}");
    let review = Some((evidence, of_evidence.as_slice()));
    let both = observe(&records, (search, &of_search), review, (&[], 0), 3).unwrap();
    assert_eq!((both.observations.len(), both.left_out), (FACTS, 0));
    let policies = policies("uncertainty:perplexity+evidence:bm25");
    let comparison = compared(
        &folder,
        &mut pipeline,
        &policies,
        &questions,
        &records,
        BATCH,
    );
    let result = &comparison.policies[0];
    assert!(matches!(
        result.cut.evidence_threshold,
        Some(Thresholds::OfOtherHalf(_))
    ));
    assert!(result.of_oracle_lead.unwrap() > 0.9, "{result:?}");
}

#[test]
fn what_cannot_be_weighed_is_an_error() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    let questions = questions_of(&facts());
    let mut records = probed(&pipeline, &questions, 2, BATCH);
    pipeline.settings.policy = "evidence:gate".parse().unwrap();
    let error = pipeline.answer("who?", &mut |_| ControlFlow::Continue(()));
    fails!(error => "no_gate"; "TrainGate");

    let (gate, _) = learned(&pipeline, &records, Input::Evidence);
    for record in &mut records {
        record.fingerprint.model = "another".to_owned();
    }
    fails!(gate_scores(&gate, &records) => "other_gate");
    for record in &mut records {
        record.rating = None;
    }
    fails!(gate_labels(&records) => "no_labels"; "ProbeWithCorpus");
}
