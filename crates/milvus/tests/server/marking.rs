//! Marks and scores that are set in a collection itself.

use std::sync::atomic::AtomicBool;

use ken_corpus::{
    Corpus, CorpusInfo, Filter, Passage, PassageId, PruneMark, Writer, score_in_metadata,
};
use ken_milvus::{Mark, MilvusError, Missing, mark, score};
use serde_json::json;

use crate::invented::{document, numbered, publish, vector};
use crate::milvus_lite::MilvusLite;
use crate::{assert_same, held, live, nearest, opened, pushed, started};

pub(crate) fn marked(
    address: &str,
    what: Mark<'_>,
    passages: &[PruneMark],
) -> Result<CorpusInfo, MilvusError> {
    let address = address.parse().unwrap();
    let stop = AtomicBool::new(false);
    let (missing, quiet) = (Missing::Refused, &mut |_, _| ());
    let info = mark(&address, None, what, passages, missing, quiet, &stop)?;
    Ok(info.expect("nothing stopped it"))
}

/// The mark of the first passage of the `n`th document.
pub(crate) fn first_of(n: usize, score: f64) -> PruneMark {
    PruneMark::new(PassageId(format!("{}#0", numbered(n).0.id)), score, "")
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn passages_are_pruned_until_the_next_push() {
    let (_server, address, dir) = started("pruned", 60);
    let corpus = Corpus::open(dir.path()).unwrap();
    let all = pushed(dir.path(), &address).unwrap().sent;

    let marks: Vec<PruneMark> = (0..10).map(|n| first_of(n, 1.0)).collect();
    let info = marked(&address, Mark::Prune, &marks).unwrap();
    assert_eq!((info.pruned, info.passages), (10, all - 10));
    let mut expected = live(&corpus);
    expected.retain(|passage| marks.iter().all(|mark| mark.passage_id != passage.id));
    assert_eq!(held(&address), expected);
    let collection = opened(&address).unwrap();
    assert_eq!(collection.info(), &info);
    assert_eq!(collection.passage_count(), expected.len());
    assert_ne!(collection.content(), corpus.fingerprint());

    // Marking them again changes nothing.
    assert_eq!(marked(&address, Mark::Prune, &marks).unwrap(), info);
    assert_eq!(
        opened(&address).unwrap().fingerprint(),
        collection.fingerprint()
    );

    // The corpus does not have the marks, and its push takes them back.
    let back = pushed(dir.path(), &address).unwrap();
    assert_eq!((back.sent, back.kept), (10, all - 10));
    assert_same(dir.path(), &address);
    assert_eq!(opened(&address).unwrap().content(), corpus.fingerprint());
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn what_the_corpus_lost_is_deleted_by_the_push_after_a_mark() {
    let (_server, address, dir) = started("lost", 60);
    pushed(dir.path(), &address).unwrap();
    marked(&address, Mark::Prune, &[first_of(1, 1.0)]).unwrap();
    // They are in two shards.
    let gone = [3, 4].map(|n| numbered(n).0.id);
    let deleted: usize = [3, 4].map(|n| numbered(n).1.len()).iter().sum();
    Writer::open(dir.path()).unwrap().delete(&gone).unwrap();
    let back = pushed(dir.path(), &address).unwrap();
    assert_eq!((back.sent, back.deleted), (1, deleted as u64));
    assert_same(dir.path(), &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn scores_are_read_by_filters() {
    let (_server, address, dir) = started("scored", 60);
    pushed(dir.path(), &address).unwrap();
    let mut scores: Vec<PruneMark> = (20..30).map(|n| first_of(n, n as f64 / 64.0)).collect();
    let info = marked(&address, Mark::Score("mastery"), &scores).unwrap();
    assert_eq!(Vec::from_iter(&info.scores), ["mastery"]);
    let above = |threshold: &str| {
        let filter: Filter = format!("mastery>={threshold}").parse().unwrap();
        let collection = opened(&address).unwrap().within(&[filter]).unwrap();
        let mut ids = Vec::new();
        let read = &mut |passage: Passage| ids.push(passage.id);
        collection.sample(None, 0, read).unwrap();
        ids.sort();
        ids
    };
    let of = |numbers: std::ops::Range<usize>| {
        let mut ids: Vec<PassageId> = numbers.map(|n| first_of(n, 0.0).passage_id).collect();
        ids.sort();
        ids
    };
    assert_eq!(above("0"), of(20..30));
    assert_eq!(above("0.40625"), of(26..30));

    // Later scores replace those of the passages that they name, and what is not finite as an `f32` takes a score back.
    scores.truncate(3);
    scores[0].score = 0.75;
    scores[1].score = f64::NAN;
    scores[2].score = 1e39;
    marked(&address, Mark::Score("mastery"), &scores).unwrap();
    assert_eq!(above("0.75"), of(20..21));
    assert_eq!(above("0").len(), 8);
    for taken in &scores[1..] {
        let passage = opened(&address).unwrap().find(taken.passage_id.as_str());
        assert!(!passage.unwrap().unwrap().metadata.contains_key("mastery"));
    }
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn every_passage_is_scored_by_its_vector() {
    let (_server, address, dir) = started("predicted", 200);
    let all = pushed(dir.path(), &address).unwrap().sent as usize;
    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(false));
    let mut last = 0_usize;
    let mut progress = |done: usize, total: usize| {
        assert!(done > last && done <= total && total == all);
        last = done;
    };
    let first = |_: &PassageId, vector: &[f32]| f64::from(vector[0]);
    score(&to, None, "first", &first, &mut progress, &stop).unwrap();
    assert_eq!(last, all);
    let mut read = 0;
    let check = &mut |passage: Passage| {
        let expected = score_in_metadata(vector(&passage.id)[0]);
        assert_eq!(passage.metadata["first"], expected, "{}", passage.id);
        read += 1;
    };
    opened(&address).unwrap().sample(None, 0, check).unwrap();
    assert_eq!(read, all);

    let stopped = AtomicBool::new(true);
    let other = |_: &PassageId, _: &[f32]| 0.5;
    let stopped = score(&to, None, "first", &other, &mut |_, _| (), &stopped).unwrap();
    assert_eq!(stopped, None);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn passages_that_exceed_an_answer_together_are_scored() {
    let server = MilvusLite::start();
    let address = server.address("long");
    let dir = tempfile::tempdir().unwrap();
    let long = document("long.md", "", &json!({"note": "n".repeat(20_000)}));
    // Of one partition, and together more than the 4 MiB that the client takes.
    publish(dir.path(), &[(long, vec!["word ".repeat(12_000); 64])]);
    pushed(dir.path(), &address).unwrap();
    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(false));
    let first = |_: &PassageId, vector: &[f32]| f64::from(vector[0]);
    score(&to, None, "first", &first, &mut |_, _| (), &stop).unwrap();
    let passages = nearest(&address, 20);
    assert_eq!(passages.len(), 20);
    for passage in passages {
        let expected = score_in_metadata(vector(&passage.id)[0]);
        assert_eq!(passage.metadata["first"], expected, "{}", passage.id);
    }
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn what_the_collection_does_not_have_is_refused_before_anything_changes() {
    let (_server, address, dir) = started("unknown", 10);
    let missing = marked(&address, Mark::Prune, &[first_of(1, 1.0)]).unwrap_err();
    assert_eq!(missing.kind(), "collection_missing");
    pushed(dir.path(), &address).unwrap();
    let marks = [first_of(1, 1.0), first_of(11, 1.0)];
    let error = marked(&address, Mark::Prune, &marks).unwrap_err();
    assert_eq!(error.kind(), "unknown_passage");
    assert!(error.to_string().contains("docs/11.md#0"), "{error}");
    let error = marked(&address, Mark::Score("A B"), &marks[..1]).unwrap_err();
    assert_eq!(error.kind(), "bad_score_name");
    assert_same(dir.path(), &address);

    // To be skipped, it is no error.
    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(false));
    let (skipped, quiet) = (Missing::Skipped, &mut |_, _| ());
    let info = mark(&to, None, Mark::Prune, &marks, skipped, quiet, &stop).unwrap();
    assert_eq!(info.unwrap().pruned, 1);
}
