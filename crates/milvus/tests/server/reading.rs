//! Reading through a collection: all of it, and samples.

use ken_corpus::{Active, Corpus, Filter, Passage};
use ken_milvus::Collection;

use crate::invented::{numbered, prune, publish};
use crate::milvus_lite::MilvusLite;
use crate::{live, opened, pushed};

fn sampled(collection: &Collection, limit: Option<usize>, seed: u64) -> Vec<Passage> {
    let mut passages = Vec::new();
    let read = &mut |passage: Passage| passages.push(passage);
    collection.sample(limit, seed, read).unwrap();
    passages
}

fn sorted(mut passages: Vec<Passage>) -> Vec<Passage> {
    passages.sort_by(|one, other| one.id.cmp(&other.id));
    passages
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn all_live_passages_are_read_once() {
    let server = MilvusLite::start();
    let address = server.address("read");
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    // More than a query returns, in every partition.
    publish(dir, &(0..3500).map(numbered).collect::<Vec<_>>());
    prune(dir, &[format!("{}#0", numbered(7).0.id)]);
    pushed(dir, &address).unwrap();
    let corpus = Corpus::open(dir).unwrap();
    let collection = opened(&address).unwrap();
    assert_eq!(sorted(sampled(&collection, None, 1)), live(&corpus));
    assert_eq!(collection.content(), corpus.fingerprint());

    let last = Active::Last(1);
    let shard = Collection::open(&address.parse().unwrap(), None, last).unwrap();
    let of_shard = live(&Corpus::open_shards(dir, last).unwrap());
    assert_eq!(sorted(sampled(&shard, None, 1)), of_shard);
    assert_ne!(shard.content(), collection.content());

    let english: Filter = "lang=en".parse().unwrap();
    let narrowed = collection.within(std::slice::from_ref(&english)).unwrap();
    let mut fitting = live(&corpus);
    fitting.retain(|passage| english.matches(&passage.metadata));
    assert!(!fitting.is_empty());
    assert_eq!(sorted(sampled(&narrowed, None, 1)), fitting);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_smaller_sample_begins_a_larger_one() {
    let server = MilvusLite::start();
    let address = server.address("sampled");
    let dir = tempfile::tempdir().unwrap();
    publish(dir.path(), &(0..200).map(numbered).collect::<Vec<_>>());
    pushed(dir.path(), &address).unwrap();
    let collection = opened(&address).unwrap();
    let all = sampled(&collection, None, 5);
    for limit in [0, 1, 40, all.len()] {
        assert_eq!(sampled(&collection, Some(limit), 5), all[..limit]);
    }
    assert_ne!(sampled(&collection, Some(40), 6), all[..40]);
}
