//! A study broken down by a field: its groups add up to the whole, and missing values are named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ken_eval::{Question, Record, RunSettings, read_questions};
use ken_scale::report::{StudyBreakdown, StudyGroup, StudyReport};
use ken_scale::study::{
    Cell, Condition, Dataset, Manifest, Measured, Retrieval, StudiedCondition, StudiedModel,
    StudyTime,
};
use ken_testing::with;
use proptest::prelude::*;
use serde_json::json;

/// A question with its kind, and whether it is answered right from memory, and with evidence.
type Answered = (u8, bool, bool);

fn question(place: usize, (kind, ..): &Answered) -> serde_json::Value {
    json!({"id": format!("q{place}"), "question": format!("what is {place}?"), "golden_answers": ["x"],
           "metadata": {"kind": format!("kind {kind}")}})
}

fn record(question: &Question, right: bool, retriever: usize) -> Record {
    let mut record = with!(Record::default(), id: question.id.clone(),
        question: question.question.clone(), em: right, f1: f64::from(u8::from(right)));
    record.calls.retriever = retriever;
    record
}

/// Writes the questions, and measures them under one condition, from memory and under the policy `random:0.5`.
fn measured(file: &Path, answered: &[Answered]) -> Measured {
    let lines = answered.iter().enumerate();
    let lines: Vec<String> = lines
        .map(|(at, answered)| question(at, answered).to_string())
        .collect();
    std::fs::write(file, lines.join("\n")).unwrap();
    let questions = read_questions(file).unwrap();
    let retrieval = with!(Retrieval::default(), k: 3);
    let conditions = [Condition::FROM_MEMORY, Condition { n: 1, retrieval }];
    let records = |of: fn(&Answered) -> bool, retriever: usize| -> Vec<Record> {
        let pairs = questions.iter().zip(answered);
        pairs
            .map(|(question, one)| record(question, of(one), retriever))
            .collect()
    };
    let cell = |condition| Cell {
        dataset: "q".to_owned(),
        model: "s".to_owned(),
        condition,
    };
    let manifest = Manifest {
        corpus: "w".to_owned(),
        corpus_fingerprint: String::new(),
        settings: RunSettings::new(),
        timed: 0,
        seed: 0,
        datasets: BTreeMap::from([("q".to_owned(), Dataset::of(file, &questions, 0))]),
        models: BTreeMap::from([(
            "s".to_owned(),
            StudiedModel {
                reference: "s".to_owned(),
                adapter: None,
                fingerprint: String::new(),
                parameters: 1,
                weight_bytes: None,
                bytes_per_token: None,
            },
        )]),
        conditions: conditions
            .map(|condition| StudiedCondition {
                condition,
                passages: 1,
                index_bytes: Some(1),
                disk_bytes: Some(1),
            })
            .to_vec(),
        policies: BTreeSet::from(["random:0.5".to_owned()]),
    };
    Measured {
        manifest,
        cells: BTreeMap::from([
            (cell(conditions[0]), records(|answered| answered.1, 0)),
            (cell(conditions[1]), records(|answered| answered.2, 1)),
        ]),
        missing: Vec::new(),
        signals: BTreeMap::new(),
        time: StudyTime::default(),
    }
}

/// The mean of a number of all groups, each by its questions.
fn together(groups: &[StudyGroup], of: impl Fn(&StudyGroup) -> f64) -> f64 {
    let questions: usize = groups.iter().map(|group| group.n).sum();
    let sum: f64 = groups.iter().map(|group| of(group) * group.n as f64).sum();
    sum / questions as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn groups_together_are_the_whole(answered in prop::collection::vec((0u8..3, any::<bool>(), any::<bool>()), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let measured = measured(&folder.path().join("q.jsonl"), &answered);
        let whole = StudyReport::of_study(&measured);
        let groups = StudyBreakdown::of(&measured, "kind").unwrap().groups;
        for group in &groups {
            let of_group = |answered: &&Answered| format!("kind {}", answered.0) == group.value;
            let own: Vec<&Answered> = answered.iter().filter(of_group).collect();
            prop_assert_eq!(group.n, own.len());
            let right = own.iter().filter(|answered| answered.2).count() as f64 / own.len() as f64;
            prop_assert!((group.series[0].scales[0].em.value.unwrap() - right).abs() < 1e-9);
        }
        prop_assert_eq!(groups.iter().map(|group| group.n).sum::<usize>(), answered.len());
        let known = together(&groups, |group| group.series[0].known.value.unwrap());
        prop_assert!((known - whole.series[0].known.value.unwrap()).abs() < 1e-9);
        prop_assert_eq!(whole.policies.len(), 2);
        for (place, policy) in whole.policies.iter().enumerate() {
            let em = together(&groups, |group| group.policies[place].em.value.unwrap());
            prop_assert!((em - policy.em.value.unwrap()).abs() < 1e-9, "{}", policy.policy);
        }
    }
}

#[test]
fn a_data_set_that_was_not_answered_yet_hinders_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut measured = measured(&folder.path().join("q.jsonl"), &[(0, true, true)]);
    let later = Dataset::of(&folder.path().join("later.jsonl"), &[], 0);
    let datasets = &mut measured.manifest.datasets;
    datasets.insert("later".to_owned(), later);
    let groups = StudyBreakdown::of(&measured, "kind").unwrap().groups;
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].dataset, "q");
}

#[test]
fn what_a_breakdown_lacks_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("q.jsonl");
    let measured = measured(&file, &[(0, true, true), (1, false, true)]);
    let refused = StudyBreakdown::of(&measured, "rank").unwrap_err();
    assert_eq!(refused.kind(), "no_field");
    assert!(refused.remedy().unwrap().mentions("kind"));

    let first = question(0, &(0, true, true)).to_string();
    std::fs::write(&file, first).unwrap();
    let refused = StudyBreakdown::of(&measured, "kind").unwrap_err();
    assert_eq!(refused.kind(), "question_gone");
    assert!(refused.to_string().contains("\"q1\""), "{refused}");
}
