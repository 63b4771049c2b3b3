//! What happens to a corpus in the tests: a fixed list of steps, each of which publishes once or
//! leaves what can be read as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_corpus::{
    Corpus, CorpusError, PassageId, PruneMark, Sharding, Writer, history, read_documents, verify,
};
use ken_index::{Index, Mode, Query};
use ken_ingest::{Cut, Ingest, IngestError, compact, ingest};
use serde_json::json;

use crate::embedder::Hashing;

/// One step.
#[derive(Debug, Clone)]
enum Step {
    /// Documents of these numbers, with a text that follows from the round.
    Ingest(std::ops::Range<usize>, usize),
    Delete(usize),
    /// The first passages of documents.
    Prune(usize, usize),
    /// To the generation before.
    Rollback,
    Compact,
}

/// The steps, in order. The many small ingests make segments enough to be merged.
fn steps() -> Vec<Step> {
    let mut steps = vec![
        Step::Ingest(0..6, 0),
        Step::Ingest(4..9, 1),
        Step::Prune(0, 4),
        Step::Delete(2),
        Step::Rollback,
        Step::Delete(3),
        Step::Compact,
    ];
    steps.extend((0..8).map(|n| Step::Ingest(n..n + 8, n + 2)));
    steps.extend([Step::Prune(7, 8), Step::Delete(8), Step::Compact]);
    steps
}

/// How many steps there are.
pub(crate) fn count() -> usize {
    steps().len()
}

/// Takes a step on the corpus in `dir`. Taking it once more changes nothing.
pub(crate) fn take(dir: &Path, number: usize) -> Result<(), IngestError> {
    let corpus = dir.join("corpus");
    match steps()[number].clone() {
        Step::Ingest(documents, round) => {
            let input = dir.join("input.jsonl");
            let lines: Vec<String> = documents.map(|n| line(n, round)).collect();
            fs::write(&input, lines.join("\n")).unwrap();
            let work = Ingest {
                documents: read_documents(&[input])?,
                corpus: &corpus,
                cut: "words:3".parse::<Cut>().unwrap(),
                embedder: &Hashing::new(),
                embedder_reference: "hashing",
                sharding: Some(Sharding { count: 2, seed: 0 }),
                dense: None,
                only_shard: None,
                on_broken: None,
            };
            ingest(work, &mut |_| {}, &AtomicBool::new(false)).map(|_| ())
        }
        Step::Delete(document) => match Writer::open(&corpus)?.delete(&[format!("d{document}")]) {
            Err(CorpusError::UnknownDocument { .. }) => Ok(()),
            deleted => Ok(deleted.map(|_| ())?),
        },
        Step::Prune(first, last) => {
            let mark = |document| PruneMark {
                passage_id: PassageId::new(&format!("d{document}"), 0),
                score: 1.0,
                reason: "known".to_owned(),
            };
            let marks = (first..=last).map(mark).collect();
            Ok(Writer::open(&corpus)?.prune(marks).map(|_| ())?)
        }
        Step::Rollback => {
            let kept = history(&corpus)?;
            // Taken once more, it would undo itself.
            let done = kept
                .last()
                .is_some_and(|last| last.change == ken_corpus::Change::Rollback);
            match kept.iter().rev().nth(1) {
                Some(before) if !done => {
                    Ok(Writer::rollback(&corpus, before.generation).map(|_| ())?)
                }
                _ => Ok(()),
            }
        }
        Step::Compact => {
            let mut writer = Writer::open(&corpus)?;
            compact(&mut writer, &mut |_| {}, &AtomicBool::new(false)).map(|_| ())
        }
    }
}

fn line(document: usize, round: usize) -> String {
    let words: Vec<String> = (0..(document * 5 + round * 3) % 11 + 1)
        .map(|n| format!("w{n} r{}", round % 3))
        .collect();
    json!({"id": format!("d{document}"), "contents": words.join(" "), "n": document}).to_string()
}

/// What can be read in the corpus in `dir`, passage by passage; nothing where there is none. Checks
/// that it is whole and can be searched.
pub(crate) fn contents(dir: &Path) -> BTreeMap<String, String> {
    let corpus = dir.join("corpus");
    if !Corpus::exists(&corpus) {
        return BTreeMap::new();
    }
    assert_eq!(verify(&corpus, &mut |_| {}).unwrap(), []);
    let corpus = Arc::new(Corpus::open(&corpus).unwrap());
    let index = Index::open(Arc::clone(&corpus)).unwrap();
    let all: BTreeMap<String, String> = corpus
        .passages()
        .map(|passage| passage.unwrap())
        .map(|passage| (passage.id.to_string(), passage.text))
        .collect();
    let query = Query {
        text: "w0",
        vector: Some(&crate::embedder::vector("w0 r0")),
    };
    for (mode, expected) in [
        (Mode::Dense, all.len()),
        (
            Mode::Lexical,
            all.values()
                .filter(|text| text.split(' ').any(|word| word == "w0"))
                .count(),
        ),
    ] {
        let hits = index.search(&query, mode, 1000, None).unwrap();
        assert_eq!(hits.len(), expected, "{mode}");
    }
    all
}
