//! Pruning a collection by a ratio: what goes is what ranks highest, until another ratio replaces that or it is undone.

use std::cmp::Ordering;
use std::sync::atomic::AtomicBool;

use ken_corpus::{Corpus, Filter, Passage, PassageId, PruneMark};
use ken_milvus::{Mark, Ranked, Ranking, restore, score};

use crate::invented::vector;
use crate::marking::{first_of, marked};
use crate::{assert_same, held, live, opened, pushed, started};

fn ranked(address: &str, by: Ranking<'_>) -> Ranked {
    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(false));
    let ranked = Ranked::open(&to, None, by, &mut |_, _| (), &stop).unwrap();
    ranked.expect("nothing stopped it")
}

/// Prunes so many, and returns how many are pruned in the collection.
fn pruned(ranked: Ranked, count: usize) -> u64 {
    let stop = AtomicBool::new(false);
    let info = ranked.prune(count, &mut |_, _| (), &stop).unwrap();
    info.expect("nothing stopped it").pruned
}

fn first_number(_: &PassageId, vector: &[f32]) -> f64 {
    f64::from(vector[0])
}

/// Passages by the first number of their vectors, the highest first, equal ones by id.
fn in_order(mut passages: Vec<Passage>) -> Vec<PassageId> {
    let first = |passage: &Passage| vector(&passage.id)[0];
    passages.sort_by(|a, b| match first(b).total_cmp(&first(a)) {
        Ordering::Equal => a.id.cmp(&b.id),
        other => other,
    });
    passages.into_iter().map(|passage| passage.id).collect()
}

fn ids(passages: Vec<Passage>) -> Vec<PassageId> {
    passages.into_iter().map(|passage| passage.id).collect()
}

/// The given ids in their own order.
fn sorted(ids: &[PassageId]) -> Vec<PassageId> {
    let mut ids = ids.to_vec();
    ids.sort();
    ids
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn the_highest_go_until_that_is_replaced_or_undone() {
    let (_server, address, dir) = started("ratio", 120);
    pushed(dir.path(), &address).unwrap();
    // What a list names is no share of the ratio, and stays pruned.
    let listed = first_of(7, 1.0);
    marked(&address, Mark::Prune, std::slice::from_ref(&listed)).unwrap();
    let mut others = live(&Corpus::open(dir.path()).unwrap());
    others.retain(|passage| passage.id != listed.passage_id);
    let order = in_order(others);

    let by_vector = ranked(&address, Ranking::Vectors(&first_number));
    assert_eq!(by_vector.passages(), order.len());
    let first: Vec<PassageId> = by_vector
        .first(70)
        .unwrap()
        .into_iter()
        .map(|mark| mark.passage_id)
        .collect();
    assert_eq!(first, order[..70]);
    assert_eq!(pruned(by_vector, 70), 71);
    assert_eq!(ids(held(&address)), sorted(&order[70..]));
    let mut collection = opened(&address).unwrap();
    assert_eq!(collection.ids().unwrap(), sorted(&order[70..]));
    collection.undo_ratios();
    assert_eq!(collection.ids().unwrap(), sorted(&order));

    // Scores that are set meanwhile leave the marks as they are, and rank as what they were made of.
    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(false));
    score(&to, None, "first", &first_number, &mut |_, _| (), &stop).unwrap();
    let before = opened(&address).unwrap().content();
    let by_score = ranked(&address, Ranking::Kept("first"));
    assert_eq!(by_score.passages(), order.len());
    assert_eq!(pruned(by_score, 20), 21);
    assert_eq!(ids(held(&address)), sorted(&order[20..]));
    let after = opened(&address).unwrap().content();
    assert_ne!(after, before);
    // The same again changes nothing.
    assert_eq!(pruned(ranked(&address, Ranking::Kept("first")), 20), 21);
    assert_eq!(opened(&address).unwrap().content(), after);

    let info = restore(&to, None, &mut |_, _| (), &stop).unwrap();
    assert_eq!(info.unwrap().pruned, 1);
    assert_eq!(ids(held(&address)), sorted(&order));
    pushed(dir.path(), &address).unwrap();
    assert_same(dir.path(), &address);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn passages_without_a_score_are_not_pruned() {
    let (_server, address, dir) = started("few", 60);
    pushed(dir.path(), &address).unwrap();
    let scores: Vec<_> = (20..30).map(|n| first_of(n, n as f64 / 64.0)).collect();
    marked(&address, Mark::Score("mastery"), &scores).unwrap();
    let before = held(&address);
    let by_score = ranked(&address, Ranking::Kept("mastery"));
    let error = by_score.first(11).unwrap_err();
    assert_eq!(error.kind(), "too_few_scores");
    assert!(error.to_string().contains("and 10 of"), "{error}");
    assert_eq!(by_score.first(10).unwrap().len(), 10);
    assert_eq!(by_score.scored(), 10);
    assert_eq!(held(&address), before);

    let (to, stop) = (address.parse().unwrap(), AtomicBool::new(true));
    let by = Ranking::Kept("mastery");
    let stopped = Ranked::open(&to, None, by, &mut |_, _| (), &stop).unwrap();
    assert!(stopped.is_none());
    assert!(by_score.prune(5, &mut |_, _| (), &stop).unwrap().is_none());
    assert_eq!(held(&address), before);
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_threshold_takes_passages_of_one_score_together() {
    let (_server, address, dir) = started("threshold", 40);
    pushed(dir.path(), &address).unwrap();
    // Four passages of each score from 0 to 0.4; the others have none.
    let scores: Vec<PruneMark> = (0..20)
        .map(|n| first_of(n, (n / 4) as f64 / 10.0))
        .collect();
    marked(&address, Mark::Score("mastery"), &scores).unwrap();
    let by_score = ranked(&address, Ranking::Kept("mastery"));
    assert_eq!(by_score.threshold(0).unwrap(), None);
    for (count, threshold) in [(3, (0.4, 4)), (4, (0.4, 4)), (5, (0.3, 8)), (20, (0.0, 20))] {
        assert_eq!(
            by_score.threshold(count).unwrap(),
            Some(threshold),
            "{count}"
        );
    }
    let error = by_score.threshold(21).unwrap_err();
    assert_eq!(error.kind(), "too_few_scores");
    let filter: Filter = "NOT mastery>=0.3".parse().unwrap();
    let left = opened(&address).unwrap().within(&[filter]).unwrap();
    assert_eq!(
        left.matching_count().unwrap() as usize,
        by_score.passages() - 8
    );

    assert_eq!(by_score.pruned(), 0);
    assert_eq!(pruned(by_score, 3), 3);
    assert_eq!(ranked(&address, Ranking::Kept("mastery")).pruned(), 3);
}
