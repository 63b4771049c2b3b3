//! One suite for every back end: the same corpus and queries, and results that are compared with an exact, plain
//! reference. A back end is one line of [`back_ends`].
//! The Milvus server is milvus-lite, which `cargo xtask test` sets up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "../../../milvus/tests/support/invented.rs"]
mod invented;
#[path = "../../../milvus/tests/support/milvus_lite.rs"]
mod milvus_lite;
mod reference;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::BackEnd;
use ken_corpus::{Active, Corpus, Filter, Writer};
use ken_index::{DenseLayout, DenseSearch, Hit, Index, Mode, Query, fused_depth};
use ken_milvus::{Collection, IndexKind, PushJob};
use ken_testing::with;

use invented::{Dice, document, no_metadata, numbered, prune, publish_with, score};
use milvus_lite::MilvusLite;
use reference::Reference;
use tempfile::TempDir;

/// A back end of a search.
enum Place {
    Folder(TempDir),
    Milvus(String),
}

impl Place {
    fn open(&self, active: Active) -> BackEnd {
        match self {
            Self::Folder(dir) => {
                let corpus = Corpus::open_shards(dir.path(), active).unwrap();
                Index::open(Arc::new(corpus)).unwrap().into()
            }
            Self::Milvus(address) => Collection::open(&address.parse().unwrap(), None, active)
                .unwrap()
                .into(),
        }
    }
}

/// All back ends, by name, each with the same corpus.
fn back_ends(server: &MilvusLite) -> Vec<(&'static str, Place)> {
    vec![
        ("local exact", in_folder(DenseSearch::Exact)),
        ("local graph", in_folder(DenseSearch::Graph)),
        ("local disk", in_folder(DenseSearch::Disk)),
        ("milvus", in_milvus(server, IndexKind::Hnsw)),
    ]
}

fn in_folder(search: DenseSearch) -> Place {
    let dir = tempfile::tempdir().unwrap();
    make_corpus(dir.path(), search);
    Place::Folder(dir)
}

fn in_milvus(server: &MilvusLite, index: IndexKind) -> Place {
    let dir = tempfile::tempdir().unwrap();
    make_corpus(dir.path(), DenseSearch::Auto);
    let address = server.address(&format!("by_{index}"));
    let corpus = Corpus::open(dir.path()).unwrap();
    let stop = AtomicBool::new(false);
    let to = address.parse().unwrap();
    let job = PushJob {
        corpus: &corpus,
        address: &to,
        token: None,
        index: Some(index.into()),
        part: None,
    };
    let pushed = ken_milvus::push(job, &mut |_| (), &stop);
    assert!(!pushed.unwrap().interrupted);
    Place::Milvus(address)
}

/// A few hundred passages in shards of several segments, some replaced, deleted, pruned and scored.
fn make_corpus(dir: &Path, search: DenseSearch) {
    let layout = with!(DenseLayout::default(), search: search);
    let first: Vec<_> = (0..150).map(numbered).collect();
    publish_with(dir, "f1", layout, &first);
    let mut more: Vec<_> = (150..220).map(numbered).collect();
    let replaced = document(&numbered(10).0.id, "Anew", &no_metadata());
    more.push((replaced, vec!["the moon moved the tide".to_owned()]));
    publish_with(dir, "f1", layout, &more);
    let pruned: Vec<String> = (20..40)
        .map(|n| format!("{}#0", numbered(n).0.id))
        .collect();
    prune(dir, &pruned);
    let gone = [numbered(60).0.id];
    Writer::open(dir).unwrap().delete(&gone).unwrap();
    let scores = (80..160).map(|n| (format!("{}#0", numbered(n).0.id), n as f64 / 256.0));
    score(dir, &scores.collect::<Vec<_>>());
}

const FILTERS: [&[&str]; 19] = [
    &[],
    &["lang=en"],
    &["lang!=en"],
    &["year>=2000"],
    &["year<2000.5", "lang!=de"],
    &["year=2005.0"],
    &["year<=u"],
    &["year>unknown"],
    &["tags=Red"],
    &["tags!=Red"],
    &["tags<5"],
    &["tags=b\\"],
    &["ok=true"],
    &["lang=x\" or true or \""],
    &["lang=北京"],
    &["nothing=here"],
    &["mastery<0.5"],
    &["NOT mastery>=0.5"],
    &["mastery>=0.4375 AND lang!=de"],
];

const QUERIES: [&str; 6] = [
    "moon",
    "the harbour in winter",
    "北京",
    "groesse Größe",
    "own17part0 lantern",
    "nowhere to be found",
];

#[test]
#[ignore = "needs the test models and milvus-lite: run `cargo xtask test`"]
fn every_back_end_finds_what_the_reference_does() {
    let dir = tempfile::tempdir().unwrap();
    make_corpus(dir.path(), DenseSearch::Exact);
    let server = MilvusLite::start();
    // All shards with all filters, the others with some; the queries take turns.
    let all = FILTERS.map(|filters| (Active::All, filters));
    let some = [Active::First(1), Active::First(2), Active::Last(1)];
    let some = some
        .iter()
        .flat_map(|active| FILTERS[..3].iter().map(|f| (*active, *f)));
    let asked: Vec<(Active, &[&str])> = all.into_iter().chain(some).collect();
    for (name, place) in back_ends(&server) {
        for (turn, (active, filters)) in asked.iter().enumerate() {
            let parsed: Vec<Filter> = filters.iter().map(|f| f.parse().unwrap()).collect();
            let corpus = Corpus::open_shards(dir.path(), *active).unwrap();
            let reference = Reference::of(&corpus, &parsed);
            let back_end = place.open(*active).within(&parsed).unwrap();
            let place = format!("{name}, {active}, {filters:?}");
            assert_eq!(
                back_end.passage_count(),
                Some(corpus.passage_count()),
                "{place}"
            );
            for number in [turn % QUERIES.len(), (turn + 3) % QUERIES.len()] {
                let text = QUERIES[number];
                let vector = Dice::new(1000 + number as u64).vector();
                let query = Query::new(text, Some(&vector));
                check(&back_end, &reference, &query, &format!("{place}, {text}"));
            }
        }
    }
}

fn check(back_end: &BackEnd, reference: &Reference, query: &Query<'_>, place: &str) {
    let search = |mode, k| back_end.search(query, mode, k).unwrap().0;
    for k in [10, 1000] {
        let dense = search(Mode::Dense, k);
        reference.check_dense(&dense, query.vector.unwrap(), k, place);
    }
    reference.check_lexical(&search(Mode::Lexical, 1000), query.text, place);
    let some = search(Mode::Lexical, 5);
    assert_eq!(
        some.len(),
        5.min(search(Mode::Lexical, 1000).len()),
        "{place}"
    );

    let k = 10;
    let depth = fused_depth(k);
    let rankings = [search(Mode::Dense, depth), search(Mode::Lexical, depth)];
    let hybrid = search(Mode::Hybrid, k);
    reference.check_contents(&hybrid, place);
    reference::check_fused(&hybrid, &rankings, k, place);
    assert_eq!(search(Mode::Hybrid, 0), Vec::<Hit>::new());
}

#[test]
#[ignore = "needs the test models and milvus-lite: run `cargo xtask test`"]
fn every_back_end_refuses_what_it_cannot_answer() {
    let server = MilvusLite::start();
    for (name, place) in back_ends(&server) {
        let back_end = place.open(Active::All);
        let fail = |vector: Option<&[f32]>, mode| {
            let query = Query::new("moon", vector);
            back_end.search(&query, mode, 1).unwrap_err().kind()
        };
        assert_eq!(fail(None, Mode::Hybrid), "query_vector_missing", "{name}");
        assert_eq!(
            fail(Some(&[1.0]), Mode::Dense),
            "query_dimensions",
            "{name}"
        );
        let broken = [f32::NAN; invented::DIMENSIONS];
        assert_eq!(
            fail(Some(&broken), Mode::Dense),
            "query_not_finite",
            "{name}"
        );
    }
}
