//! Readers beside a writer, and beside a program that damages their files.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Change, CorpusInfo, Pruned, history, verify};

use super::*;

/// Merges all segments into one, and forgets the history.
fn compact(writer: &mut Writer) {
    let segments = writer.known().segments();
    let ids: Vec<String> = segments.iter().map(|s| s.id().to_owned()).collect();
    let mut staged = writer.stage(0).unwrap();
    for segment in &segments {
        let copied =
            staged.copy::<ken_corpus::CorpusError>(segment, Pruned::Dropped, |_, _| Ok(()));
        copied.unwrap();
    }
    writer.replace(Change::Compact, &ids, vec![staged]).unwrap();
    writer.forget_history().unwrap();
}

#[test]
fn checks_and_histories_beside_compactions_find_nothing_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    ingest(
        &mut Writer::create(dir, settings()).unwrap(),
        &[document("a", "one two")],
    );
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking: Vec<_> = (0..3)
            .map(|looker| {
                let done = &done;
                scope.spawn(move || {
                    let mut looks = 0;
                    while !done.load(Ordering::Relaxed) {
                        match looker {
                            0 => assert_eq!(verify(dir, &mut |_| {}).unwrap(), []),
                            1 => assert!(history(dir).unwrap().last().unwrap().current),
                            _ => assert!(CorpusInfo::read(dir).unwrap().documents > 0),
                        }
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        for round in 0..60 {
            let mut writer = Writer::create(dir, settings()).unwrap();
            ingest(&mut writer, &[document("a", &format!("text {round}"))]);
            compact(&mut writer);
        }
        done.store(true, Ordering::Relaxed);
        for looks in looking {
            assert!(looks.join().unwrap() > 10);
        }
    });
}

#[test]
fn a_file_that_is_cut_short_under_a_reader_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let long = "word ".repeat(30_000);
    let mut writer = Writer::create(dir, settings()).unwrap();
    let mut staged = writer.stage(0).unwrap();
    for n in 0..20 {
        let document = document(&n.to_string(), "");
        staged.push(&document, &[long.as_str().into()]).unwrap();
    }
    writer.publish(vec![staged]).unwrap();
    drop(writer);
    let corpus = Corpus::open(dir).unwrap();
    let path = dir.join("segments/00000001-000/passages.jsonl");
    assert!(fs::metadata(&path).unwrap().len() > 1 << 21);
    fs::write(&path, "").unwrap();
    let error = corpus.passages().find_map(Result::err).unwrap();
    assert_eq!(error.kind(), "corpus_damaged", "{error}");
    assert!(error.to_string().contains("passages.jsonl"), "{error}");
}
