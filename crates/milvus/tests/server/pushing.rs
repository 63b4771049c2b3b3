//! What a push sends, deletes and keeps, and that the collection then holds what the corpus does.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Active, Corpus, Writer};
use ken_milvus::push;

use crate::invented::{document, no_metadata, numbered, prune, publish, score};
use crate::{assert_same, job, opened, pushed, started};

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_collection_follows_its_corpus() {
    let (_server, address, dir) = started("follows", 150);
    let dir = dir.path();

    // A new collection is sent everything.
    let all = Corpus::open(dir).unwrap().passage_count() as u64;
    let first = pushed(dir, &address).unwrap();
    assert_eq!((first.sent, first.deleted, first.kept), (all, 0, 0));
    assert_same(dir, &address);
    let collection = opened(&address).unwrap();
    assert_eq!(collection.info(), &Corpus::open(dir).unwrap().info());

    // A second push sends nothing.
    let again = pushed(dir, &address).unwrap();
    assert_eq!((again.sent, again.deleted, again.kept), (0, 0, all));

    // Documents are added, replaced by shorter ones and deleted; passages are pruned.
    let mut changes: Vec<_> = (150..170).map(numbered).collect();
    for n in [1, 2, 50] {
        let id = numbered(n).0.id;
        let replaced = document(&id, "Anew", &no_metadata());
        changes.push((replaced, vec!["new words".to_owned()]));
    }
    publish(dir, &changes);
    let gone = [3, 4, 100].map(|n| numbered(n).0.id);
    Writer::open(dir).unwrap().delete(&gone).unwrap();
    let pruned: Vec<String> = (5..15).map(|n| format!("{}#0", numbered(n).0.id)).collect();
    prune(dir, &pruned);
    let changed = pushed(dir, &address).unwrap();
    assert_same(dir, &address);
    let new: usize = (150..170).map(|n| numbered(n).1.len()).sum();
    assert_eq!(changed.sent, new as u64 + 3 + pruned.len() as u64);
    let shrunk: usize = [1, 2, 50].iter().map(|&n| numbered(n).1.len() - 1).sum();
    let deleted: usize = [3, 4, 100].iter().map(|&n| numbered(n).1.len()).sum();
    assert_eq!(changed.deleted, (shrunk + deleted) as u64);

    // Of passages that get scores, only these are sent.
    let scores = (20..30).map(|n| (format!("{}#0", numbered(n).0.id), n as f64 / 64.0));
    score(dir, &scores.collect::<Vec<_>>());
    let scored = pushed(dir, &address).unwrap();
    assert_eq!((scored.sent, scored.deleted), (10, 0));
    assert_same(dir, &address);

    // A rollback brings passages back: pruned, replaced and deleted ones.
    Writer::rollback(dir, 1).unwrap();
    let back = pushed(dir, &address).unwrap();
    assert_same(dir, &address);
    assert!(back.sent < all / 2, "{back:?}");

    // A copy with other segments but the same passages is sent nothing.
    let copy = tempfile::tempdir().unwrap();
    publish(copy.path(), &(0..150).map(numbered).collect::<Vec<_>>());
    let kept = pushed(copy.path(), &address).unwrap();
    assert_eq!((kept.sent, kept.deleted, kept.kept), (0, 0, all));
    assert_same(copy.path(), &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_push_that_was_stopped_goes_on() {
    let (_server, address, dir) = started("stopped", 800);
    let corpus = Corpus::open(dir.path()).unwrap();
    let total = corpus.passage_count() as u64;
    let stop = AtomicBool::new(false);
    let mut last = 0;
    let stopped = push(
        job(&corpus, &address.parse().unwrap()),
        &mut |step| {
            assert_eq!(step.passages_total, total);
            assert!(step.passages > last);
            last = step.passages;
            stop.store(step.passages > total / 2, Ordering::Relaxed);
        },
        &stop,
    )
    .unwrap();
    assert!(stopped.interrupted);
    let error = opened(&address).err().unwrap();
    assert_eq!(error.kind(), "push_unfinished");
    assert!(error.remedy().unwrap().mentions("PushCorpus("));

    let rest = pushed(dir.path(), &address).unwrap();
    assert_eq!(rest.kept, stopped.sent);
    assert_eq!(rest.sent + rest.kept, total);
    assert_same(dir.path(), &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_push_on_the_way_to_another_state_leaves_nothing_behind() {
    let (_server, address, dir) = started("detour", 100);
    pushed(dir.path(), &address).unwrap();
    let mut changes: Vec<_> = (100..700).map(numbered).collect();
    let replaced = document(&numbered(8).0.id, "Anew", &no_metadata());
    changes.insert(0, (replaced, vec!["new words".to_owned()]));
    publish(dir.path(), &changes);
    let stop = AtomicBool::new(false);
    let corpus = Corpus::open(dir.path()).unwrap();
    let kept = 150;
    let mut halt = |step: ken_milvus::Progress| {
        stop.store(step.passages > kept + 300, Ordering::Relaxed);
    };
    let address_of = address.parse().unwrap();
    let halted = push(job(&corpus, &address_of), &mut halt, &stop).unwrap();
    assert!(halted.interrupted && halted.sent > 100, "{halted:?}");

    Writer::rollback(dir.path(), 1).unwrap();
    pushed(dir.path(), &address).unwrap();
    assert_same(dir.path(), &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn shards_are_partitions() {
    let (_server, address, dir) = started("shards", 60);
    pushed(dir.path(), &address).unwrap();
    for active in [Active::First(1), Active::First(2), Active::Last(1)] {
        let collection =
            ken_milvus::Collection::open(&address.parse().unwrap(), None, active).unwrap();
        let corpus = Corpus::open_shards(dir.path(), active).unwrap();
        assert_eq!(collection.passage_count(), corpus.passage_count());
    }
    let too_many = ken_milvus::Collection::open(&address.parse().unwrap(), None, Active::First(4));
    assert_eq!(too_many.err().unwrap().kind(), "too_few_shards");
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_large_partition_is_gone_through_in_pieces() {
    let (_server, address, dir) = started("large", 3500);
    let all = pushed(dir.path(), &address).unwrap();
    assert!(
        all.sent > 6200,
        "three partitions of more than 2048 passages"
    );
    let gone: Vec<String> = (0..70).map(|n| numbered(n * 50).0.id).collect();
    let deleted: usize = (0..70).map(|n| numbered(n * 50).1.len()).sum();
    Writer::open(dir.path()).unwrap().delete(&gone).unwrap();
    let swept = pushed(dir.path(), &address).unwrap();
    assert_eq!((swept.sent, swept.deleted), (0, deleted as u64));
    let collection = opened(&address).unwrap();
    assert_eq!(collection.passage_count() as u64, all.sent - deleted as u64);
}
