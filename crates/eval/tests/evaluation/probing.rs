//! Whole probes of a model with a known boundary: measured values are the true ones, a run resumes where it was
//! stopped, and bad questions do not affect others.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::Pipeline;
use ken_eval::probe::Conditions;
use ken_eval::{
    Outcome, Probe, ProbeRecord, Question, ResultsFile, Run, RunError, RunProgress, RunSettings,
    probe, summarize_probe,
};
use ken_lab::write_parquet;
use ken_probe::{Effect, Grouping, Obstacle};
use ken_testing::{Fact, FnEmbedder, TableModel, cases, fails, has, holds, with};
use parquet::record::RowAccessor;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{answering, exact_probe, question, rows, whole_run, with_corpus};

const SAMPLES: usize = 30;

/// A question, its golden answers, the chances of the model's answers (known, copied, misled), and the corpus's
/// evidence.
type Case = (
    &'static str,
    &'static str,
    &'static [&'static str],
    [f64; 3],
    &'static str,
);

const CASES: [Case; 5] = cases![
    "known" => "who keeps the lighthouse?", &["Ilse Marrow"], [1.0, 1.0, 0.0],
        "The keeper of the lighthouse is Ilse Marrow.";
    "learned" => "who built the oven?", &["Anders Pell"], [0.0, 1.0, 1.0], "The oven was built by Anders Pell.";
    "misled" => "who mended the bridge?", &["Odo Finch"], [1.0, 1.0, 1.0], "The bridge is old.";
    "unsure" => "who owns the mill?", &["Runa Holt"], [0.5, 0.0, 0.0], "The mill has four sails.";
    "open" => "who paints the boats?", &[], [0.5, 0.0, 0.0], "The boats are blue.";
];

fn table() -> TableModel {
    let facts = CASES.map(|(_, question, golden, [known, copied, misled], _)| Fact {
        question: question.to_owned(),
        answer: (*golden.first().unwrap_or(&"nobody")).to_owned(),
        wrong: vec!["Vera Lund".to_owned()],
        known,
        copied,
        misled,
    });
    TableModel::new(facts.into()).unwrap()
}

fn questions() -> Vec<Question> {
    CASES
        .map(|(id, asked, golden, ..)| {
            question(json!({"id": id, "question": asked, "golden_answers": golden}))
        })
        .into()
}

/// The model with the corpus of all evidence.
fn with_evidence(folder: &TempDir, model: TableModel) -> Pipeline {
    let passages = CASES.map(|(id, .., evidence)| (id, evidence));
    with_corpus(folder, model, &passages, FnEmbedder::blind())
}

fn closed_book(model: TableModel) -> Pipeline {
    Pipeline::new(Arc::new(model), None, answering())
}

fn work(pipeline: &Pipeline) -> Probe<'_> {
    exact_probe(pipeline, SAMPLES)
}

fn settings(model: &str) -> RunSettings {
    [("model".to_owned(), model.to_owned())].into()
}

fn run(
    path: &Path,
    work: &Probe<'_>,
    questions: &[Question],
    batch: usize,
) -> Outcome<ProbeRecord> {
    let mut file = ResultsFile::open(path, settings("table")).unwrap();
    probe(work, questions, &mut file, whole_run(batch)).unwrap()
}

fn record<'r>(records: &'r [ProbeRecord], id: &str) -> &'r ProbeRecord {
    records.iter().find(|record| record.id == id).unwrap()
}

fn all<T: Copy>(from_self: T, corpus: T, masked: T) -> Conditions<Option<T>> {
    Conditions {
        from_self: Some(from_self),
        corpus: Some(corpus),
        masked: Some(masked),
    }
}

#[test]
fn what_is_measured_is_what_was_set() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = with_evidence(&folder, table());
    let probed = run(&folder.path().join("r"), &work(&pipeline), &questions(), 4);
    assert!(!probed.interrupted);
    let records = &probed.records;

    let known = record(records, "known");
    has!(known, confidence: all(1.0, 1.0, 1.0), effect.confidence: Some(Effect::Neutral),
        evidence.as_slice(): &["known#0".to_owned()][..], masked_places: 1);
    let sample = &known.samples.corpus.as_ref().unwrap()[0];
    has!(sample, text.as_str(): "Ilse Marrow", correct: Some(true), logprob: Some(0.0), tokens: 1);

    let greedy = known.greedy.corpus.as_ref().unwrap();
    has!(greedy, answer.text.as_str(): "Ilse Marrow", correct: Some(true));
    assert_eq!(greedy.answer.entropy.unwrap().max, 0.0);

    let learned = record(records, "learned");
    has!(learned, confidence: all(0.0, 1.0, 0.0), certainty: all(1.0, 1.0, 1.0),
        effect.confidence: Some(Effect::Beneficial), effect.certainty: Some(Effect::Neutral),
        samples.masked.as_ref().unwrap()[0].text: "MASK");

    let misled = record(records, "misled");
    has!(misled, confidence: all(1.0, 0.0, 0.0), effect.confidence: Some(Effect::Harmful),
        masked_places: 0);
    assert_eq!(misled.samples.masked, misled.samples.corpus, "asked once");

    let unsure = record(records, "unsure");
    let (low, high) = (
        0.5 - 5.0 * (0.25 / 30.0_f64).sqrt(),
        0.5 + 5.0 * (0.25 / 30.0_f64).sqrt(),
    );
    assert!((low..=high).contains(&unsure.confidence.from_self.unwrap()));
    assert!(unsure.certainty.from_self.unwrap() < 1.0);

    let open = record(records, "open");
    has!(open, unjudged: Some(Obstacle::NoGoldenAnswers), confidence: Conditions::default());
    assert!(open.certainty.from_self.is_some() && open.certainty.corpus.is_some());
    has!(open, samples.masked: None, effect.confidence: None);

    let summary = summarize_probe(records);
    has!(summary, n: 5, failed: 0, unjudged: 1, effect_on_confidence.beneficial: Some(0.25),
        effect_on_confidence.harmful: Some(0.25), effect_on_confidence.neutral: Some(0.5));
    // The evidence of `known`, which is still known then, and of `learned` was masked.
    assert_eq!(summary.mask_copied, Some(0.5));
}

/// The records without the times of probing, which always differ.
fn untimed(records: &[ProbeRecord]) -> Vec<ProbeRecord> {
    let mut records = records.to_vec();
    for cost in records.iter_mut().flat_map(|record| {
        let with = record.costs_with_evidence.values_mut();
        record.costs.values_mut().chain(with)
    }) {
        assert!(std::mem::take(&mut cost.ms) > 0.0);
    }
    records
}

#[test]
fn a_run_goes_on_where_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = with_evidence(&folder, table());
    let (work, asked) = (work(&pipeline), questions());
    let whole = run(&folder.path().join("whole"), &work, &asked, 5);

    let path = folder.path().join("parts");
    let cancel = AtomicBool::new(false);
    let mut file = ResultsFile::open(&path, settings("table")).unwrap();
    let stop = |step: RunProgress| cancel.store(step.done >= 2, Ordering::Relaxed);
    let part = probe(&work, &asked, &mut file, Run::new(2, &cancel, stop)).unwrap();
    assert!(part.interrupted);
    assert_eq!(untimed(&part.records), untimed(&whole.records[..2]));
    drop(file);
    let paid = fs::read(&path).unwrap();

    let rest = run(&path, &work, &asked, 1);
    assert_eq!(untimed(&rest.records), untimed(&whole.records));
    holds!("nothing is paid for twice" => fs::read(&path).unwrap().starts_with(&paid));
    let again = run(&path, &work, &asked, 3);
    assert_eq!((again.records, again.interrupted), (rest.records, false));
    assert_eq!((rest.resumed, again.resumed), (2, again.total));

    fails!(ResultsFile::<ProbeRecord>::open(&path, settings("other")) => "other_settings");
    let mut changed = questions();
    changed[0].golden_answers = vec!["Odo".to_owned()];
    let mut file = ResultsFile::open(&path, settings("table")).unwrap();
    let error = probe(&work, &changed, &mut file, whole_run(1)).unwrap_err();
    assert!(matches!(error, RunError::OtherQuestion { .. }), "{error}");
}

#[test]
fn bad_questions_are_told_and_harm_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = closed_book(table());
    let odd = [
        question(json!({"id": "empty", "question": "  ", "golden_answers": ["x"]})),
        question(
            json!({"id": "nothing", "question": "who is unheard of?", "golden_answers": ["x"]}),
        ),
        question(json!({"id": "no content", "question": CASES[0].1,
                        "golden_answers": ["the", "!"]})),
        question(json!({"id": "known", "question": CASES[0].1,
                        "golden_answers": CASES[0].2})),
    ];
    let records = run(&folder.path().join("r"), &work(&pipeline), &odd, 4).records;
    let empty = record(&records, "empty");
    has!(empty, error.as_ref().unwrap().kind: "empty_question", samples: Conditions::default());
    // The table always answers nothing, which says nothing about its certainty.
    let nothing = record(&records, "nothing");
    has!(nothing, confidence.from_self: Some(0.0), certainty.from_self: None);
    let no_content = record(&records, "no content");
    has!(no_content, unjudged: Some(Obstacle::EmptyGoldenAnswers), certainty.from_self: Some(1.0));
    let known = record(&records, "known");
    has!(known, confidence.from_self: Some(1.0), confidence.corpus: None, effect.confidence: None,
        fingerprint.corpus: None);
    let summary = summarize_probe(&records);
    has!(summary, n: 4, failed: 1, unjudged: 1, known_rate: Some(0.5), effect_on_confidence.neutral: None);
}

#[test]
fn choices_are_read_by_letter() {
    let folder = tempfile::tempdir().unwrap();
    let fact = Fact {
        question: "which is a bird?".to_owned(),
        answer: "B".to_owned(),
        wrong: vec!["b. the wren".to_owned(), "A".to_owned()],
        known: 0.2,
        copied: 0.0,
        misled: 0.0,
    };
    let pipeline = closed_book(TableModel::new(vec![fact]).unwrap());
    let choice = question(json!({"id": "c", "question": "which is a bird?",
        "golden_answers": ["the wren"], "metadata": {"choices": ["the trout", "the wren"]}}));
    // The reader of files takes choices from the metadata.
    let path = folder.path().join("questions.jsonl");
    let line = json!({"id": choice.id, "question": choice.question,
        "golden_answers": choice.golden_answers, "metadata": choice.metadata});
    fs::write(&path, line.to_string()).unwrap();
    let read = ken_eval::read_questions(&path).unwrap();
    assert_eq!(read[0].choices, ["the trout", "the wren"]);
    let records = run(&folder.path().join("r"), &work(&pipeline), &read, 1).records;
    let samples = records[0].samples.from_self.as_ref().unwrap();
    for sample in samples {
        assert_eq!(sample.correct, Some(sample.text != "A"), "{}", sample.text);
    }
    let type_of = |text: &str| samples.iter().find(|s| s.text == text).unwrap().answer_type;
    assert_eq!(type_of("B"), type_of("b. the wren"));
    assert_ne!(type_of("B"), type_of("A"));
}

#[test]
fn what_cannot_work_is_refused_before_a_sample_is_paid_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = closed_book(table());
    let path = folder.path().join("r");
    let mut file = ResultsFile::open(&path, settings("table")).unwrap();
    let before = fs::read(&path).unwrap();
    let by_meaning = with!(work(&pipeline), grouping: Grouping::Meaning { threshold: 0.8 });
    fails!(probe(&by_meaning, &questions(), &mut file, whole_run(1)) => "no_embedder");
    assert_eq!(fs::read(&path).unwrap(), before);
    let blind = Probe {
        embedder: Some(&FnEmbedder::blind()),
        ..by_meaning
    };
    let probed = probe(&blind, &questions(), &mut file, whole_run(5)).unwrap();
    // For an embedder with equal vectors, all answers mean the same.
    for record in &probed.records {
        assert_eq!(record.certainty.from_self, Some(1.0), "{}", record.id);
    }
}

#[test]
fn the_table_holds_what_the_records_hold() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = with_evidence(&folder, table());
    let records = run(&folder.path().join("r"), &work(&pipeline), &questions(), 4).records;
    let path = folder.path().join("r.parquet");
    write_parquet(&path, &records).unwrap();
    let rows = rows(&path);
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(row.get_string(0).unwrap(), &record.id);
        assert_eq!(row.get_double(3).ok(), record.confidence.from_self);
        assert_eq!(row.get_double(7).ok(), record.certainty.corpus);
        let names: Vec<&str> = row
            .get_column_iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            (names[3], names[7], names[14]),
            ("confidence_self", "certainty_corpus", "samples")
        );
        let samples = row.get_string(14).unwrap();
        let samples: Value = serde_json::from_str(samples).unwrap();
        assert_eq!(samples, serde_json::to_value(&record.samples).unwrap());
    }
    let missing = folder.path().join("no folder/r.parquet");
    fails!(write_parquet(&missing, &records) => "table_file");
}
