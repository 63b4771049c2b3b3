//! Corpora of single shards become one.

use ken_corpus::{CorpusInfo, join};
use ken_testing::{cases, has};

use super::*;

fn part(dir: &Path, count: u32, shard: u32, generations: usize) {
    let mut writer = Writer::create(dir, sharded(count)).unwrap();
    for n in 0..generations {
        let mut staged = writer.stage(shard).unwrap();
        let document = document(&format!("s{shard} d{n}"), "one two");
        staged.push(&document, &cut(&document)).unwrap();
        writer.publish(vec![staged]).unwrap();
    }
    writer.prune(vec![mark(&format!("s{shard} d0#1"))]).unwrap();
}

#[test]
fn parts_become_one_corpus_and_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    part(&at("p0"), 3, 0, 2);
    part(&at("p2"), 3, 2, 1);
    let mut done = 0;
    join(&at("whole"), &[at("p0"), at("p2")], false, &mut |step| {
        done = step.bytes;
    })
    .unwrap();
    assert!(done > 0);
    let mut expected = contents(&at("p0"));
    expected.extend(contents(&at("p2")));
    assert_eq!(contents(&at("whole")), expected);
    let info = CorpusInfo::read(&at("whole")).unwrap();
    let documents: Vec<u64> = info.shards.iter().map(|shard| shard.documents).collect();
    assert_eq!((documents, info.pruned), (vec![2, 0, 1], 2));

    part(&at("p1"), 3, 1, 1);
    join(&at("whole"), &[at("p1")][..], false, &mut |_| {}).unwrap();
    expected.extend(contents(&at("p1")));
    assert_eq!(contents(&at("whole")), expected);
    // The parts do not need each other.
    fs::remove_dir_all(at("p0")).unwrap();
    assert_eq!(contents(&at("whole")), expected);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    part(&at("p0"), 2, 0, 1);
    part(&at("again"), 2, 0, 1);
    part(&at("other"), 3, 1, 1);
    let error = join(&at("whole"), &[at("p0"), at("again")], false, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), "shard_twice");
    let error = join(&at("whole"), &[at("p0"), at("other")], false, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), "other_sharding");
    assert!(!Corpus::exists(&at("whole")));
    join(&at("whole"), &[at("p0")], false, &mut |_| {}).unwrap();
    assert_eq!(
        join(&at("whole"), &[at("p0")], false, &mut |_| {})
            .unwrap_err()
            .kind(),
        "shard_twice"
    );
}

#[test]
fn a_whole_corpus_is_joined_from_the_parts_of_all_shards() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    part(&at("p0"), 3, 0, 1);
    part(&at("p2"), 3, 2, 1);
    // A shard without documents.
    let mut empty = Writer::create(&at("p1"), sharded(3)).unwrap();
    for _ in 0..2 {
        assert_eq!(empty.publish_empty().unwrap(), 1);
    }
    for (parts, message) in cases![
        &[at("p0"), at("p2")][..] => "1 of 3 shards missing: no part holds 1";
        &[at("p1")] => "2 of 3 shards missing: no part holds 0, 1, 2";
    ] {
        let error = join(&at("whole"), parts, true, &mut |_| {}).unwrap_err();
        has!(error, kind(): "shards_missing", to_string().as_str(): message);
        assert!(!Corpus::exists(&at("whole")));
    }
    let twice = [at("p0"), at("p0"), at("p1"), at("p2")];
    let error = join(&at("whole"), &twice, true, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), "shard_twice");
    join(&at("whole"), &twice[1..], true, &mut |_| {}).unwrap();
    let mut expected = contents(&at("p0"));
    expected.extend(contents(&at("p2")));
    assert_eq!(contents(&at("whole")), expected);

    // What is there already counts.
    join(&at("later"), &[at("p0")], false, &mut |_| {}).unwrap();
    join(&at("later"), &[at("p2"), at("p1")], true, &mut |_| {}).unwrap();
    assert_eq!(contents(&at("later")), expected);
}
