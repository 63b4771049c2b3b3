//! Collections that take turns behind an alias, so that searches go on while a corpus is pushed.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Corpus, Passage};
use ken_milvus::{MilvusError, Progress, PushJob, Pushed, VectorIndex, push, push_and_switch};

use crate::invented::{numbered, publish};
use crate::milvus_lite::MilvusLite;
use crate::{assert_same, job, live, opened, pushed, started};

fn switched(
    dir: &Path,
    address: &str,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    let corpus = Corpus::open(dir).unwrap();
    let address = address.parse().unwrap();
    push_and_switch(job(&corpus, &address), progress, stop)
}

/// Switches to the corpus in a folder, and checks that until then what is there is searched.
fn switched_behind_searches(dir: &Path, address: &str) -> Pushed {
    let before = opened(address).unwrap();
    let mut searched = 0;
    let pushed = switched(
        dir,
        address,
        &mut |_| {
            let now = opened(address).unwrap();
            assert_eq!(now.fingerprint(), before.fingerprint());
            assert_eq!(
                crate::held(address).len(),
                before.passage_count(),
                "all of it is searched"
            );
            searched += 1;
        },
        &AtomicBool::new(false),
    );
    assert!(searched > 0);
    assert_same(dir, address);
    pushed.unwrap()
}

fn exists(server: &MilvusLite, collection: &str) -> bool {
    match opened(&server.address(collection)) {
        Ok(_) => true,
        Err(error) if error.kind() == "push_unfinished" => true,
        Err(error) => {
            assert_eq!(error.kind(), "collection_missing");
            false
        }
    }
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn searches_go_on_while_a_corpus_is_pushed() {
    let (server, address, dir) = started("notes", 300);
    let dir = dir.path();
    let all = || Corpus::open(dir).unwrap().passage_count() as u64;
    // A collection of the address's own name makes room for the alias.
    pushed(dir, &address).unwrap();
    for (round, turn) in [(1, "notes__1"), (2, "notes__2"), (3, "notes__1")] {
        publish(dir, &[numbered(300 + round)]);
        let pushed = switched_behind_searches(dir, &address);
        assert_eq!((pushed.sent, pushed.kept), (all(), 0), "round {round}");
        for other in ["notes__1", "notes__2"] {
            assert_eq!(exists(&server, other), other == turn, "round {round}");
        }
    }
    // One that was opened before goes on by the alias, too.
    let collection = opened(&address).unwrap();
    publish(dir, &[numbered(400)]);
    switched_behind_searches(dir, &address);
    let id = format!("{}#0", numbered(400).0.id);
    assert!(collection.find(&id).unwrap().is_some());
    let renewed = collection.renewed().unwrap().unwrap();
    assert_eq!(renewed.passage_count() as u64, all());
    assert!(collection.passage_count() < renewed.passage_count());
    assert!(renewed.renewed().unwrap().is_none());

    // Without changes, nothing is sent; without switching, only the changes.
    let again = switched(dir, &address, &mut |_| (), &AtomicBool::new(false)).unwrap();
    assert_eq!((again.sent, again.kept), (0, all()));
    publish(dir, &[numbered(401)]);
    let changed = pushed(dir, &address).unwrap();
    assert_eq!(changed.sent, numbered(401).1.len() as u64);
    assert_same(dir, &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn an_interrupted_push_changes_no_search_and_resumes() {
    let (server, address, dir) = started("stopped", 600);
    let dir = dir.path();
    let quiet = AtomicBool::new(false);
    switched(dir, &address, &mut |_| (), &quiet).unwrap();
    let before = opened(&address).unwrap().fingerprint();
    publish(dir, &(600..800).map(numbered).collect::<Vec<_>>());
    let stop = AtomicBool::new(false);
    let mut halt = |step: Progress| stop.store(step.passages > 300, Ordering::Relaxed);
    let stopped = switched(dir, &address, &mut halt, &stop).unwrap();
    assert!(stopped.interrupted && stopped.sent > 300, "{stopped:?}");
    assert_eq!(opened(&address).unwrap().fingerprint(), before);
    assert!(exists(&server, "stopped__2"));

    // The corpus may have changed meanwhile.
    publish(dir, &[numbered(900)]);
    let rest = switched(dir, &address, &mut |_| (), &quiet).unwrap();
    assert_eq!(rest.kept, stopped.sent);
    assert_same(dir, &address);
    assert!(!exists(&server, "stopped__1"));
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_collection_stays_as_it_was_opened_until_the_push_is_over() {
    let (_server, address, dir) = started("changing", 10);
    let dir = dir.path();
    pushed(dir, &address).unwrap();
    let collection = opened(&address).unwrap();
    publish(dir, &(10..400).map(numbered).collect::<Vec<_>>());
    let corpus = Corpus::open(dir).unwrap();
    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(false));
    let mut halt = |_: Progress| stop.store(true, Ordering::Relaxed);
    let stopped = push(job(&corpus, &to), &mut halt, &stop).unwrap();
    assert!(stopped.interrupted);
    assert!(collection.renewed().unwrap().is_none());
    pushed(dir, &address).unwrap();
    let renewed = collection.renewed().unwrap().unwrap();
    assert_eq!(renewed.passage_count(), corpus.passage_count());
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn what_is_left_of_a_push_with_another_index_gives_way() {
    let (_server, address, dir) = started("left", 400);
    let stop = AtomicBool::new(false);
    let mut halt = |_: Progress| stop.store(true, Ordering::Relaxed);
    let stopped = switched(dir.path(), &address, &mut halt, &stop).unwrap();
    assert!(stopped.interrupted);
    let corpus = Corpus::open(dir.path()).unwrap();
    let to = address.parse().unwrap();
    let indexed = PushJob {
        index: Some(VectorIndex::default()),
        ..job(&corpus, &to)
    };
    let quiet = AtomicBool::new(false);
    let pushed = push_and_switch(indexed, &mut |_| (), &quiet).unwrap();
    assert_eq!(pushed.kept, 0);
    let mut held = Vec::new();
    let read = &mut |passage: Passage| held.push(passage);
    opened(&address).unwrap().sample(None, 0, read).unwrap();
    held.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(held, live(&corpus));
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_new_collection_has_the_index_of_the_old_one() {
    let (_server, address, dir) = started("same", 10);
    let all = pushed(dir.path(), &address).unwrap().sent;
    let corpus = Corpus::open(dir.path()).unwrap();
    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(false));
    let unspecified = PushJob {
        index: None,
        ..job(&corpus, &to)
    };
    for sent in [all, 0] {
        let switched = push_and_switch(unspecified, &mut |_| (), &stop).unwrap();
        assert_eq!(switched.sent, sent);
        let fingerprint = opened(&address).unwrap().fingerprint();
        assert!(fingerprint.contains("by hnsw,"), "{fingerprint}");
    }
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_collection_in_the_way_is_left_alone() {
    let server = MilvusLite::start();
    let dir = tempfile::tempdir().unwrap();
    publish(dir.path(), &(0..10).map(numbered).collect::<Vec<_>>());
    let theirs = server.address("notes__1");
    pushed(dir.path(), &theirs).unwrap();
    let address = server.address("notes");
    let error = switched(dir.path(), &address, &mut |_| (), &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.kind(), "collection_in_the_way");
    assert!(error.to_string().contains("notes__1"), "{error}");
    assert_same(dir.path(), &theirs);

    // Nor is one dropped that only has such a name.
    let theirs = server.address("own__2");
    pushed(dir.path(), &theirs).unwrap();
    let own = server.address("own");
    switched(dir.path(), &own, &mut |_| (), &AtomicBool::new(false)).unwrap();
    assert_same(dir.path(), &own);
    assert_same(dir.path(), &theirs);
}
