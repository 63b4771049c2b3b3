//! Whole labelings by models with a known boundary: the measured mastery is the true one, a run resumes where it was
//! stopped, and bad sentences do not affect others.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::BackEnd;
use ken_eval::{Outcome, ResultsFile, Run, RunError, RunProgress, RunSettings};
use ken_index::Index;
use ken_lab::{
    MasteryRecord, MasteryWork, Sentence, label_mastery, sample_sentences, summarize_mastery,
    write_parquet,
};
use ken_language::LanguageModel;
use ken_probe::Correctness;
use ken_probe::mastery::{AnswersFrom, WriteOptions};
use ken_testing::{Fact, FnEmbedder, TableModel, cases, fails, has, holds, with};
use parquet::record::RowAccessor;
use serde_json::{Value, json};

use crate::fixture::{ingested, rows, whole_run};

/// Seeded draws that need no generator: the same on every machine.
fn unit(number: usize, seed: u64) -> f64 {
    let id = format!("draw {number}");
    ken_probe::seed_of(seed, &id) as f64 / u64::MAX as f64
}

fn fact(question: String, answer: String, known: bool) -> Fact {
    Fact {
        question,
        answer,
        wrong: vec!["nothing".to_owned()],
        known: f64::from(u8::from(known)),
        copied: 0.0,
        misled: 0.0,
    }
}

/// Towns with a founder and a year each; the writer knows the question about each.
struct World {
    sentences: Vec<Sentence>,
    writer: TableModel,
    model: TableModel,
}

const PER_PASSAGE: usize = 2;

/// A world in which the model knows each fact with probability `p`. With `spoiled`, every third question about a year
/// is one that the writer finds invalid.
fn world(towns: usize, p: f64, seed: u64, spoiled: bool) -> World {
    let mut sentences = Vec::new();
    let mut writes = Vec::new();
    let mut knows = Vec::new();
    for town in 0..towns {
        let (founder, year) = (format!("Founder{town}x"), (1000 + town).to_string());
        let text = format!("{founder} built it in {year}.");
        let pairs = [
            (founder.clone(), format!("Who built town {town}?")),
            (year, format!("When was town {town} built?")),
        ];
        for (number, (answer, question)) in pairs.into_iter().enumerate() {
            let valid = !(spoiled && number == 1 && town % 3 == 0);
            let known = unit(2 * town + number, seed) < p;
            writes.push(fact(wanted(&text, &answer), question.clone(), true));
            writes.push(fact(
                judged(&question, &answer),
                if valid { "True" } else { "False" }.to_owned(),
                true,
            ));
            // Dropped questions must not count: the model answers them wrong.
            knows.push(fact(question, answer, known && valid));
        }
        sentences.push(Sentence {
            id: format!("d{}#0/{}", town / PER_PASSAGE, town % PER_PASSAGE),
            passage_id: format!("d{}#0", town / PER_PASSAGE),
            title: String::new(),
            text,
        });
    }
    World {
        sentences,
        writer: TableModel::new(writes).unwrap(),
        model: TableModel::new(knows).unwrap(),
    }
}

/// The end of the prompt that a question is written to.
fn wanted(sentence: &str, answer: &str) -> String {
    let gap = sentence.replacen(answer, "____", 1);
    let kind = if answer.len() == 4 {
        "a year"
    } else {
        "a thing"
    };
    format!("{gap}\nMissing: {kind}\nQuestion:")
}

/// The end of the prompt that judges it.
fn judged(question: &str, answer: &str) -> String {
    format!("Question: {question}\nAnswer: {answer}\n")
}

fn work(world: &World) -> MasteryWork<'_> {
    MasteryWork {
        model: &world.model,
        writer: &world.writer,
        judge: &world.writer,
        correctness: Correctness::Exact,
        corpus: "corpus",
        write: WriteOptions {
            answers: AnswersFrom::Program,
            pairs: 4,
            max_tokens: 48,
        },
        max_tokens: 16,
    }
}

fn settings(model: &str) -> RunSettings {
    [("model".to_owned(), model.to_owned())].into()
}

fn run(path: &Path, world: &World, batch: usize) -> Outcome<MasteryRecord> {
    let mut file = ResultsFile::open(path, settings("table")).unwrap();
    label_mastery(&work(world), &world.sentences, &mut file, whole_run(batch)).unwrap()
}

#[test]
fn a_model_that_answers_in_sentences_has_mastered_what_it_says() {
    let knows = [true, true, false, false];
    let mut told = world(2, 1.0, 0, false);
    // It states the truth about the first town, in a sentence, and something else about the second.
    let facts = (0..2).flat_map(|town| {
        let founder = format!("Founder{town}x");
        let year = (1000 + town).to_string();
        cases![
            format!("Who built town {town}?") => founder, knows[2 * town];
            format!("When was town {town} built?") => year, knows[2 * town + 1];
        ]
    });
    let facts = facts.map(|(question, answer, knows)| {
        let said = if knows { answer } else { "somebody".to_owned() };
        fact(question, format!("It was {said} indeed"), true)
    });
    told.model = TableModel::new(facts.collect()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (correctness, masteries) in [
        (Correctness::Exact, [0.0, 0.0]),
        (Correctness::Contains, [1.0, 0.0]),
    ] {
        let work = with!(work(&told), correctness: correctness);
        let path = folder.path().join(correctness.to_string());
        let identity = work.identity(settings("table"), 0);
        let mut file = ResultsFile::open(&path, identity).unwrap();
        let labeled = label_mastery(&work, &told.sentences, &mut file, whole_run(4)).unwrap();
        let found: Vec<Option<f64>> = labeled
            .records
            .iter()
            .map(|record| record.mastery)
            .collect();
        assert_eq!(found, masteries.map(Some), "{correctness}");
    }
    let identity = |correctness| {
        let work = with!(work(&told), correctness: correctness);
        work.identity(settings("table"), 0)
    };
    assert_ne!(
        identity(Correctness::Contains),
        identity(Correctness::Exact),
        "records of one rule are not resumed by another"
    );
    let judged = identity(Correctness::Judge);
    assert_eq!(judged["judge"], told.writer.fingerprint());
}

#[test]
fn mean_mastery_is_the_share_of_known_facts() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, p) in [0.0, 0.1, 0.5, 0.8, 1.0].into_iter().enumerate() {
        let world = world(150, p, seed as u64, false);
        let path = folder.path().join(format!("p{seed}"));
        let labeled = run(&path, &world, 32);
        for (town, record) in labeled.records.iter().enumerate() {
            let known = |number| unit(2 * town + number, seed as u64) < p;
            let right = usize::from(known(0)) + usize::from(known(1));
            assert_eq!(record.pairs.len(), 2, "{record:?}");
            assert_eq!(record.mastery, Some(right as f64 / 2.0));
            let [low, high] = record.interval.unwrap();
            assert!(high - low > 0.2, "few questions say little");
            assert!(low <= right as f64 / 2.0 && right as f64 / 2.0 <= high);
        }
        let summary = summarize_mastery(&labeled.records);
        has!(summary, passages: 75, sentences: 150, pairs: 300, wanted: 300, failed: 0);
        let [low, high] = summary.interval.unwrap();
        assert!(low <= p && p <= high, "{p}: {low} to {high}");
        assert!(high - low < 0.2, "{p}: {low} to {high}");
        let distribution = summary.distribution;
        assert_eq!(
            distribution.none + distribution.few + distribution.most + distribution.all,
            150
        );
    }
}

#[test]
fn invalid_pairs_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(30, 1.0, 1, true);
    let records = run(&folder.path().join("r"), &world, 7).records;
    let summary = summarize_mastery(&records);
    has!(summary, dropped.invalid: 10, pairs: 50, right: 50, mastery: Some(1.0), distribution.all: 30);
    let pair = &records[0].pairs[0];
    has!(pair, question.as_str(): "Who built town 0?", prediction.as_str(): "Founder0x", correct: true,
        validity: Some(1.0));
}

#[test]
fn a_run_goes_on_where_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = world(9, 0.5, 3, false);
    world.sentences.push(Sentence {
        id: "none#0/0".to_owned(),
        passage_id: "none#0".to_owned(),
        title: "Rain".to_owned(),
        text: "It was so.".to_owned(),
    });
    let whole = run(&folder.path().join("whole"), &world, 10);
    assert!(!whole.interrupted);
    let nothing = whole.records.last().unwrap();
    has!(nothing, mastery: None, interval: None, wanted: 0);

    let path = folder.path().join("parts");
    let cancel = AtomicBool::new(false);
    let mut file = ResultsFile::open(&path, settings("table")).unwrap();
    let stop = |step: RunProgress| cancel.store(step.done >= 4, Ordering::Relaxed);
    let work = work(&world);
    let stopping = Run::new(2, &cancel, stop);
    let part = label_mastery(&work, &world.sentences, &mut file, stopping).unwrap();
    assert!(part.interrupted);
    assert_eq!(part.records, whole.records[..4]);
    drop(file);
    let paid = fs::read(&path).unwrap();
    let rest = run(&path, &world, 3);
    has!(rest, records: whole.records, interrupted: false, resumed: 4, total: 10);
    holds!("nothing is paid for twice" => fs::read(&path).unwrap().starts_with(&paid));

    fails!(ResultsFile::<MasteryRecord>::open(&path, settings("other")) => "other_settings");
    let mut file = ResultsFile::open(&path, settings("table")).unwrap();
    let mut changed = world.sentences.clone();
    changed[0].text = "It fell.".to_owned();
    let error = label_mastery(&work, &changed, &mut file, whole_run(2)).unwrap_err();
    assert!(matches!(error, RunError::OtherSentence { .. }), "{error}");
    assert_eq!(error.kind(), "other_sentence");
}

#[test]
fn the_table_holds_what_the_records_hold() {
    let folder = tempfile::tempdir().unwrap();
    let records = run(&folder.path().join("r"), &world(6, 0.5, 4, true), 3).records;
    let path = folder.path().join("r.parquet");
    write_parquet(&path, &records).unwrap();
    let rows = rows(&path);
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(row.get_string(0).unwrap(), &record.id);
        assert_eq!(row.get_string(3).unwrap(), &record.sentence);
        assert_eq!(row.get_double(4).ok(), record.mastery);
        assert_eq!(
            row.get_double(6).ok(),
            record.interval.map(|[_, high]| high)
        );
        assert_eq!(row.get_long(7).unwrap(), record.wanted as i64);
        let pairs: Value = serde_json::from_str(row.get_string(8).unwrap()).unwrap();
        assert_eq!(pairs, serde_json::to_value(&record.pairs).unwrap());
    }
}

#[test]
fn passages_are_drawn_by_the_seed_and_cut_into_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let documents = (0..20)
        .map(|n| json!({"id": n.to_string(), "title": "T", "text": format!("One is {n}. Two.")}));
    let corpus = ingested(&folder, "corpus", documents, &FnEmbedder::blind());
    let corpus = BackEnd::from(Index::open(corpus.into()).unwrap());
    let all = sample_sentences(&corpus, None, 1).unwrap();
    assert_eq!(all.len(), 40);
    assert_eq!(all, sample_sentences(&corpus, Some(20), 9).unwrap());
    assert_eq!(
        (
            all[0].id.as_str(),
            all[0].text.as_str(),
            all[1].text.as_str()
        ),
        ("0#0/0", "One is 0.", "Two.")
    );
    let few = sample_sentences(&corpus, Some(5), 1).unwrap();
    assert_eq!(few.len(), 10);
    assert_eq!(few, sample_sentences(&corpus, Some(5), 1).unwrap());
    assert_ne!(few, sample_sentences(&corpus, Some(5), 2).unwrap());
    let more = sample_sentences(&corpus, Some(6), 1).unwrap();
    for sentence in &few {
        assert!(more.contains(sentence) && all.contains(sentence));
    }
}

#[test]
fn a_writer_may_pick_the_answers_itself() {
    let mut told = world(2, 1.0, 0, false);
    let mut writes = Vec::new();
    for (town, year) in [(0, "1000"), (1, "the year 7")] {
        let text = &told.sentences[town].text;
        let who = format!("Who built town {town}? Answer: Founder{town}x");
        let when = format!("When was town {town} built? Answer: {year}");
        writes.push(fact(format!("{text}\nQuestion:"), who.clone(), true));
        // Having read the first, it writes the second.
        writes.push(fact(
            format!("{text}\nQuestion: {who}\nQuestion:"),
            when,
            true,
        ));
        for (question, answer) in [
            (format!("Who built town {town}?"), format!("Founder{town}x")),
            (format!("When was town {town} built?"), year.to_owned()),
        ] {
            writes.push(fact(judged(&question, &answer), "True".to_owned(), true));
        }
    }
    told.writer = TableModel::new(writes).unwrap();
    let usual = work(&told);
    let write = WriteOptions {
        answers: AnswersFrom::Writer,
        ..usual.write
    };
    let work = MasteryWork { write, ..usual };
    let identity = |work: &MasteryWork<'_>| work.identity(settings("table"), 0);
    assert_ne!(
        identity(&work),
        identity(&usual),
        "labels of both are not mixed"
    );
    let folder = tempfile::tempdir().unwrap();
    let mut file = ResultsFile::open(&folder.path().join("labels"), identity(&work)).unwrap();
    let labeled = label_mastery(&work, &told.sentences, &mut file, whole_run(2)).unwrap();
    let asked: Vec<Vec<(&str, &str)>> = labeled
        .records
        .iter()
        .map(|one| {
            let pairs = one.pairs.iter();
            pairs.map(|pair| (&*pair.question, &*pair.answer)).collect()
        })
        .collect();
    let [one, two] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    let first = ("Who built town 0?", "Founder0x");
    assert_eq!(one[..], [first, ("When was town 0 built?", "1000")]);
    assert_eq!(two[..], [("Who built town 1?", "Founder1x")]);
    assert_eq!(labeled.records[1].dropped.unsupported, 1);
}
