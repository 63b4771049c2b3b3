//! Joining parts, and parts that are refused.

use std::path::{Path, PathBuf};

use ken_language::fingerprint_of_texts;
use ken_testing::{cases, with};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::dataset::Question;
use crate::record_of_question;
use crate::results::{ResultsFile, RunSettings, read_results, read_run};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Noted {
    id: String,
    question: String,
    share: f64,
}

record_of_question!(Noted, Probe by Probe, [question]);

fn questions(count: usize) -> Vec<Question> {
    let each = (0..count).map(|number| Question {
        id: format!("q{number}"),
        question: format!("What is {number}?"),
        golden_answers: vec![number.to_string()],
        choices: Vec::new(),
        metadata: [("kind".to_owned(), json!(number % 2))]
            .into_iter()
            .collect(),
    });
    each.collect()
}

fn noted(question: &Question) -> Noted {
    Noted {
        share: 1.0 / (question.id.len() as f64 + 7.3),
        ..Noted::of(question)
    }
}

fn settings(k: usize) -> RunSettings {
    [("k".to_owned(), k.to_string())].into()
}

fn run(k: usize) -> PartedRun {
    PartedRun {
        settings: settings(k),
        work: json!({"verb": "note"}),
        command: "ken note".to_owned(),
    }
}

/// Measures the first `done` questions of a part, and returns its folder.
fn measured(within: &Path, part: &str, all: &[Question], k: usize, done: usize) -> PathBuf {
    let part: Part = part.parse().unwrap();
    let path = within.join(format!("{k}-{}-{}", all.len(), part.ending()));
    let folder = PartFolder::begin(path, part, all, run(k)).unwrap();
    let file = folder.path.join("notes.jsonl");
    let mut file = ResultsFile::open(&file, settings(k)).unwrap();
    for question in folder.items.iter().take(done) {
        file.append(noted(question)).unwrap();
    }
    folder.path
}

/// Joins parts into a file.
fn joined(parts: &[PathBuf], out: &Path) -> Result<Vec<Noted>, PartError> {
    let parts = Parts::read(parts)?;
    let items: Vec<Question> = parts.items()?;
    let joined = parts.records::<Noted>("notes.jsonl", &items)?;
    Ok(joined.write(&items, out)?)
}

#[test]
fn joined_parts_are_the_file_of_one_run() {
    let within = tempfile::tempdir().unwrap();
    for (count, of) in [(7, 3), (6, 3), (2, 3), (5, 1), (0, 2)] {
        let all = questions(count);
        let whole = within.path().join(format!("whole-{count}-{of}.jsonl"));
        let mut file = ResultsFile::open(&whole, settings(1)).unwrap();
        for question in &all {
            file.append(noted(question)).unwrap();
        }
        drop(file);
        // The order of the folders does not matter.
        let numbers = (1..=of).rev();
        let parts: Vec<PathBuf> = numbers
            .map(|number| measured(within.path(), &format!("{number}/{of}"), &all, 1, count))
            .collect();
        let out = within.path().join(format!("joined-{count}-{of}.jsonl"));
        for _ in 0..2 {
            assert_eq!(joined(&parts, &out).unwrap().len(), count);
            assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&whole).unwrap());
        }
        let items: Vec<Question> = Parts::read(&parts).unwrap().items().unwrap();
        assert_eq!(items, all);
    }
}

#[test]
fn items_without_a_record_keep_the_others_in_order() {
    let within = tempfile::tempdir().unwrap();
    let all = questions(7);
    let is_odd = |question: &Question| question.metadata["kind"] == json!(1);
    let mut folders = Vec::new();
    for number in 1..=3 {
        let part: Part = format!("{number}/3").parse().unwrap();
        let path = within.path().join(part.ending());
        let folder = PartFolder::begin(path, part, &all, run(1)).unwrap();
        folders.push(folder.path.clone());
        let file = folder.path.join("notes.jsonl");
        let mut file = ResultsFile::open(&file, settings(1)).unwrap();
        for question in folder.items.iter().filter(|question| is_odd(question)) {
            file.append(noted(question)).unwrap();
        }
    }
    let parts = Parts::read(&folders).unwrap();
    assert!(parts.hold("notes.jsonl") && !parts.hold("others.jsonl"));
    let refused = parts.records::<Noted>("others.jsonl", &all).unwrap_err();
    assert_eq!(refused.kind(), "part_unfinished");
    assert!(refused.to_string().contains("0 of its 3 questions"));
    let odd: Vec<Question> = all.iter().filter(|q| is_odd(q)).cloned().collect();
    let out = within.path().join("out.jsonl");
    let joined = parts
        .records_of_some::<Noted>("notes.jsonl", &all, is_odd)
        .unwrap()
        .write(&odd, &out)
        .unwrap();
    assert_eq!(joined, odd.iter().map(noted).collect::<Vec<_>>());
    // Other jobs read it, by the settings of its run.
    let read = read_run::<Noted>(&out, &settings(1)).unwrap();
    assert_eq!(read.len(), 3);
    let refused = read_run::<Noted>(&out, &settings(2)).unwrap_err();
    assert_eq!(refused.kind(), "other_settings");
    let none = read_run::<Noted>(&within.path().join("none"), &settings(1)).unwrap();
    assert!(none.is_empty());
}

#[test]
fn a_fingerprint_of_items_is_joined_and_other_settings_have_to_be_the_same() {
    let within = tempfile::tempdir().unwrap();
    let all = questions(5);
    let of = |questions: &[Question]| {
        let texts = questions.iter().map(|question| question.question.as_str());
        let texts: Vec<String> = texts.map(|text| fingerprint_of_texts(&[text])).collect();
        joined_fingerprint(texts.iter().map(String::as_str))
    };
    let measured = |number: usize, k: usize| {
        let part: Part = format!("{number}/3").parse().unwrap();
        let path = within.path().join(format!("{k}-{}", part.ending()));
        let folder = PartFolder::begin(path, part, &all, run(1)).unwrap();
        let mut settings = settings(k);
        settings.insert("read".to_owned(), of(&folder.items));
        let file = folder.path.join("notes.jsonl");
        let mut file = ResultsFile::open(&file, settings).unwrap();
        for question in &folder.items {
            file.append(noted(question)).unwrap();
        }
        folder.path
    };
    let parts = [1, 2, 3].map(|number| measured(number, 1));
    let notes = Path::new("notes.jsonl");
    let joined = |parts: &[PathBuf]| {
        let parts = Parts::read(parts).unwrap();
        parts.records_with::<Noted>(notes, &all, "read")
    };
    let whole = joined(&parts).unwrap();
    assert_eq!(whole.settings["read"], of(&all));
    assert_ne!(of(&all), of(&all[1..]));
    assert_eq!(whole.records, all.iter().map(noted).collect::<Vec<_>>());
    let others = [parts[0].clone(), measured(2, 4), parts[2].clone()];
    let refused = joined(&others).unwrap_err();
    assert_eq!(refused.kind(), "other_run");
    assert!(refused.to_string().contains("k was 1 and is now 4"));
}

#[test]
fn what_is_no_whole_run_is_refused_and_nothing_is_written() {
    let within = tempfile::tempdir().unwrap();
    let (all, others) = (questions(5), questions(6));
    let part = |part: &str, all: &[Question], k| measured(within.path(), part, all, k, 9);
    let (one, two) = (part("1/2", &all, 1), part("2/2", &all, 1));
    let copy = within.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for name in ["part.json", "notes.jsonl"] {
        std::fs::copy(two.join(name), copy.join(name)).unwrap();
    }
    let cases = cases![
        vec![one.clone()] => "part_missing", "missing: 2/2".to_owned();
        vec![one.clone(), two.clone(), copy.clone()] => "part_twice",
            format!("part 2/2 is there twice: {} and {}", two.display(), copy.display());
        vec![one.clone(), part("2/2", &all, 4)] => "other_run", "k was 1 and is now 4".to_owned();
        vec![one.clone(), part("2/2", &others, 1)] => "other_run", "items was 5 of fingerprint".to_owned();
        vec![one.clone(), part("2/3", &all, 1)] => "other_run", "parts was 2 and is now 3".to_owned();
        vec![one.clone(), within.path().to_owned()] => "not_a_part", within.path().display().to_string();
        vec![measured(within.path(), "1/2", &all, 7, 2), part("2/2", &all, 7)] => "part_unfinished",
            "7-5-part-1-of-2 has 2 of its 3 questions".to_owned();
    ];
    let out = within.path().join("out.jsonl");
    for (parts, kind, message) in cases {
        let refused = joined(&parts, &out).unwrap_err();
        assert_eq!(refused.kind(), kind, "{refused}");
        assert!(refused.to_string().contains(&message), "{refused}");
        assert!(!out.exists());
    }
    // After joining, another run does not touch the file.
    joined(&[one, two], &out).unwrap();
    let before = std::fs::read(&out).unwrap();
    let refused = joined(&[part("1/1", &all, 4)], &out).unwrap_err();
    assert_eq!(refused.kind(), "other_settings");
    assert_eq!(std::fs::read(&out).unwrap(), before);
}

#[test]
fn a_part_is_resumed_under_what_it_was_begun_with() {
    let within = tempfile::tempdir().unwrap();
    let all = questions(5);
    let path = measured(within.path(), "1/2", &all, 1, 2);
    assert_eq!(measured(within.path(), "1/2", &all, 1, 0), path);
    assert_eq!(
        read_results::<Noted>(&path.join("notes.jsonl"))
            .unwrap()
            .len(),
        2
    );
    let begin = |part: &str, all: &[Question], run: PartedRun| {
        let part = part.parse().unwrap();
        PartFolder::begin(path.clone(), part, all, run)
            .unwrap_err()
            .to_string()
    };
    let other_work = with!(run(1), work: json!({"verb": "probe"}));
    for (refused, message) in cases![
        begin("2/2", &all, run(1)) => "part was 1/2 and is now 2/2";
        begin("1/2", &all[1..], run(1)) => "items was";
        begin("1/2", &all, run(3)) => "k was 1 and is now 3";
        begin("1/2", &all, other_work) => "verb was note and is now probe";
    ] {
        assert!(refused.contains(message), "{refused}");
    }
    std::fs::write(path.join("part.json"), "{").unwrap();
    let broken = Parts::read(std::slice::from_ref(&path)).unwrap_err();
    assert_eq!(broken.kind(), "broken_part");
    std::fs::remove_file(path.join("part.json")).unwrap();
    measured(within.path(), "1/2", &all, 1, 0);
    assert_eq!(
        read_results::<Noted>(&path.join("notes.jsonl"))
            .unwrap()
            .len(),
        2
    );
}
