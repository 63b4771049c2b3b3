//! The cells of a study on a model with a known boundary: stored search results are read like new ones, and copied
//! answers equal new ones.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::{Pipeline, Policy};
use ken_eval::{Question, Record, ResultsFile, Run, RunSettings};
use ken_scale::study::{
    CellWork, Evidence, KnownAnswers, as_found, find_evidence, passages_read, told,
};
use ken_testing::{Fact, FnEmbedder, TableModel};
use tempfile::TempDir;

use crate::fixture::{answering, live, questions_of, with_corpus};

const FACTS: usize = 12;

fn facts() -> Vec<Fact> {
    let facts = (0..FACTS).map(|number| Fact {
        question: format!("who made the clock number{number}?"),
        answer: format!("Maker{number}"),
        wrong: vec!["Vera Lund".to_owned()],
        known: if number % 3 == 0 { 1.0 } else { 0.0 },
        copied: if number % 4 == 0 { 0.0 } else { 1.0 },
        misled: 0.0,
    });
    facts.collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let passages: Vec<(String, String)> = (0..FACTS)
        .map(|number| {
            let text = format!("The clock number{number} was made by Maker{number}.");
            (format!("d{number}"), text)
        })
        .collect();
    let model = TableModel::new(facts()).unwrap();
    with_corpus(folder, model, &passages, FnEmbedder::blind())
}

fn run(batch: usize, cancel: &AtomicBool) -> Run<'_> {
    Run::new(batch, cancel, |_| {})
}

/// The evidence for the questions of a pipeline.
fn found(folder: &Path, pipeline: &Pipeline, questions: &[Question]) -> Vec<Evidence> {
    let mut file = ResultsFile::open(&folder.join("evidence"), RunSettings::new()).unwrap();
    let retriever = pipeline.retriever().unwrap();
    let (mode, k) = (answering().mode, answering().k);
    let cancel = AtomicBool::new(false);
    let evidence = find_evidence(retriever, mode, k, questions, &mut file, run(5, &cancel));
    evidence.unwrap().records
}

/// The same model without a corpus, given the evidence.
fn reading(pipeline: &Pipeline, evidence: &[Evidence]) -> Pipeline {
    let mut reading = Pipeline::new(Arc::clone(&pipeline.model), None, answering());
    reading.settings.policy = Policy::ALWAYS;
    reading.found = as_found(evidence);
    reading
}

/// A record without its times.
fn untimed(mut record: Record) -> Record {
    record.timing_ms.clear();
    record
}

fn cell(
    file: &Path,
    pipeline: &Pipeline,
    questions: &[Question],
    evidence: &[Evidence],
    known: &KnownAnswers,
) -> Vec<Record> {
    let work = CellWork {
        pipeline,
        questions,
        timed: 3,
        evidence,
        known,
    };
    let cancel = AtomicBool::new(false);
    let begin = |batch: Option<usize>| run(batch.unwrap_or(4), &cancel);
    work.answer(file, &RunSettings::new(), &begin).unwrap()
}

#[test]
fn what_was_found_once_is_answered_from_as_if_it_had_been_searched_for() {
    let folder = tempfile::tempdir().unwrap();
    let (mut searching, questions) = (pipeline(&folder), questions_of(&facts()));
    let evidence = found(folder.path(), &searching, &questions);
    let reading = reading(&searching, &evidence);
    let file = folder.path().join("cell");
    let records = cell(
        &file,
        &reading,
        &questions,
        &evidence,
        &KnownAnswers::default(),
    );
    for record in &records {
        for stage in ["embed", "search", "total"] {
            assert!(record.timing_ms.contains_key(stage), "{stage}: {record:?}");
        }
        let found = evidence
            .iter()
            .find(|evidence| evidence.id == record.id)
            .unwrap();
        assert!((record.timing_ms["search"] - found.search_ms).abs() < 1e-3);
        assert!(record.timing_ms["total"] >= found.search_ms);
    }
    let live = live(&mut searching, Policy::ALWAYS, &questions, 5);
    let all = |records: Vec<Record>| records.into_iter().map(untimed).collect::<Vec<_>>();
    assert_eq!(all(records), all(live));
}

#[test]
fn answers_to_the_same_passages_are_copied_as_they_would_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (searching, questions) = (pipeline(&folder), questions_of(&facts()));
    let evidence = found(folder.path(), &searching, &questions);
    let mut known = KnownAnswers::default();
    let whole = reading(&searching, &evidence);
    let first = cell(
        &folder.path().join("one"),
        &whole,
        &questions,
        &evidence,
        &known,
    );
    known.add(&first, &evidence);
    // In another cell, half of the questions retrieve something else, and the search takes another time.
    let mut other = evidence.clone();
    for (place, one) in other.iter_mut().enumerate() {
        one.search_ms = 1000.0;
        if place % 2 == 0 {
            one.passages[0].id = "else#0".to_owned();
            one.passages[0].text = "The clock is loud.".to_owned();
        }
    }
    let reading = reading(&searching, &other);
    let copied = cell(
        &folder.path().join("two"),
        &reading,
        &questions,
        &other,
        &known,
    );
    let anew = KnownAnswers::default();
    let written = cell(
        &folder.path().join("three"),
        &reading,
        &questions,
        &other,
        &anew,
    );
    let all = |records: &[Record]| records.iter().cloned().map(untimed).collect::<Vec<_>>();
    assert_eq!(all(&copied), all(&written));
    assert_ne!(
        all(&copied),
        all(&first),
        "what was found elsewhere matters"
    );
    assert!(
        copied
            .iter()
            .all(|record| record.timing_ms["search"] == 1000.0)
    );
    assert!(
        copied
            .iter()
            .all(|record| record.timing_ms["total"] > 999.0)
    );
    // With nothing to answer, a copy needs no model.
    let same: Vec<Question> = questions.iter().skip(1).step_by(2).cloned().collect();
    let mut mute = Pipeline::new(Arc::clone(&searching.model), None, answering());
    mute.settings.policy = Policy::ALWAYS;
    let file = folder.path().join("four");
    assert_eq!(cell(&file, &mute, &same, &other, &known).len(), FACTS / 2);
}

#[test]
fn what_a_model_has_no_room_for_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (searching, questions) = (pipeline(&folder), questions_of(&facts()));
    let evidence = found(folder.path(), &searching, &questions);
    let mut reading = reading(&searching, &evidence);
    let all = passages_read(&reading, &questions).unwrap();
    assert!(
        all.iter()
            .all(|read| matches!(&read[..], [Some(text)] if !text.is_empty())),
        "{all:?}"
    );
    reading.settings.evidence_tokens = 3;
    let none = passages_read(&reading, &questions).unwrap();
    assert!(none.iter().all(|read| read == &[None]), "{none:?}");
    assert_ne!(told(&questions, &all), told(&questions, &none));
    let again = passages_read(&self::reading(&searching, &evidence), &questions).unwrap();
    assert_eq!(told(&questions, &all), told(&questions, &again));
}
