//! Reading through a collection: all of it, and samples.

use ken_corpus::{Active, Corpus, Filter, Passage, PassageId};
use ken_milvus::Collection;

use crate::invented::{numbered, prune, vector};
use crate::{live, opened, pushed, started};

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
    // More than a query returns, in every partition.
    let (_server, address, dir) = started("read", 3500);
    let dir = dir.path();
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
    let (_server, address, dir) = started("sampled", 200);
    pushed(dir.path(), &address).unwrap();
    let collection = opened(&address).unwrap();
    let all = sampled(&collection, None, 5);
    for limit in [0, 1, 40, all.len()] {
        assert_eq!(sampled(&collection, Some(limit), 5), all[..limit]);
    }
    assert_ne!(sampled(&collection, Some(40), 6), all[..40]);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn passages_are_read_by_their_ids_with_their_vectors() {
    let (_server, address, dir) = started("stored", 300);
    let dir = dir.path();
    let all = live(&Corpus::open(dir).unwrap());
    // Pruned passages are read, too, and counted no more.
    prune(dir, &[all[5].id.to_string()]);
    pushed(dir, &address).unwrap();
    let collection = opened(&address).unwrap();
    let mut ids: Vec<PassageId> = all.iter().map(|passage| passage.id.clone()).collect();
    ids.push(PassageId("docs/none.md#0".to_owned()));
    let mut stored = collection.stored(&ids).unwrap();
    stored.sort_by(|one, other| one.0.id.cmp(&other.0.id));
    assert_eq!(stored.len(), all.len());
    for ((passage, numbers), expected) in stored.iter().zip(&all) {
        assert_eq!(passage, expected);
        assert_eq!(*numbers, vector(&expected.id));
    }
    let english: Filter = "lang=en".parse().unwrap();
    for active in [
        Active::First(1),
        Active::First(2),
        Active::Last(2),
        Active::All,
    ] {
        let shards = Collection::open(&address.parse().unwrap(), None, active).unwrap();
        let held = live(&Corpus::open_shards(dir, active).unwrap());
        assert_eq!(sorted(sampled(&shards, None, 1)), held, "{active}");
        assert_eq!(shards.matching_count().unwrap(), held.len() as u64);
        let fitting = held
            .iter()
            .filter(|passage| english.matches(&passage.metadata));
        let narrowed = shards.within(std::slice::from_ref(&english)).unwrap();
        assert_eq!(
            narrowed.matching_count().unwrap(),
            fitting.count() as u64,
            "{active}"
        );
    }
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn neighbors_are_found_of_many_vectors_at_once() {
    let (_server, address, dir) = started("neighbors", 30);
    pushed(dir.path(), &address).unwrap();
    let collection = opened(&address).unwrap();
    let ids = collection.ids().unwrap();
    let vectors: Vec<Vec<f32>> = ids.iter().map(vector).collect();
    let rankings = collection.nearest(&vectors, 4).unwrap();
    assert_eq!(rankings.len(), ids.len());
    for (of, ranking) in vectors.iter().zip(rankings) {
        let cosine = |other: &[f32]| of.iter().zip(other).map(|(a, b)| a * b).sum::<f32>();
        let mut nearest: Vec<f32> = vectors.iter().map(|other| cosine(other)).collect();
        nearest.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(ranking.len(), 4);
        for ((id, score), expected) in ranking.iter().zip(nearest) {
            assert!((score - expected).abs() < 1e-5, "{score} of {expected}");
            assert!((score - cosine(&vector(id))).abs() < 1e-5, "{id}");
        }
    }
    assert!(collection.nearest(&[], 4).unwrap().is_empty());
}
