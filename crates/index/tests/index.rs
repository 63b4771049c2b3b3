//! The index of a whole corpus: several generations and segments, replaced documents, threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;

use ken_corpus::{Corpus, Document, EmbedderIdentity, Selection, Settings, Sharding, Writer};
use ken_index::{DenseLayout, Hit, Index, Mode, Query, SegmentWriter};
use ken_testing::{has, with};
use tempfile::TempDir;

const MODES: [Mode; 3] = [Mode::Dense, Mode::Lexical, Mode::Hybrid];
const TIDE: Query<'static> = Query {
    text: "who drives the tide",
    vector: Some(&[1.0, 0.0]),
};

fn settings() -> Settings {
    Settings {
        embedder: EmbedderIdentity::new("test", "test", 2),
        segmentation: "whole".to_owned(),
        sharding: Sharding::default(),
        dense: "auto".into(),
    }
}

/// Publishes one generation of documents, each of one passage, or of none if the text is empty:
/// id, text, vector. Their number in the generation is `n` in their metadata.
fn publish(dir: &Path, documents: &[(&str, &str, [f32; 2])]) {
    publish_as(dir, documents, DenseLayout::default());
}

fn publish_as(dir: &Path, documents: &[(&str, &str, [f32; 2])], layout: DenseLayout) {
    let mut writer = Writer::create(dir, settings()).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let mut passages = Vec::new();
    let mut vectors = Vec::new();
    for (number, &(id, text, vector)) in documents.iter().enumerate() {
        let document = with!(Document::default(), id: id.to_owned(), title: String::new(),
            text: text.to_owned(),
            metadata: serde_json::Map::from_iter([("n".to_owned(), number.into())]), record: true);
        if text.is_empty() {
            staged.push(&document, &[]).unwrap();
        } else {
            passages.extend(staged.push(&document, &[text.into()]).unwrap());
            vectors.extend(vector);
        }
    }
    let mut index = SegmentWriter::create(staged.dir(), 2, layout).unwrap();
    for (passage, vector) in passages.iter().zip(vectors.chunks(2)) {
        index.push(passage, vector).unwrap();
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();
}

fn open(dir: &Path) -> Index {
    Index::open(Arc::new(Corpus::open(dir).unwrap())).unwrap()
}

fn two_segments() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    publish(
        dir.path(),
        &[
            ("moon", "the moon drives the tide", [1.0, 0.0]),
            ("fox", "a fox runs", [0.0, 1.0]),
        ],
    );
    publish(dir.path(), &[("wind", "wind drives waves", [0.6, 0.8])]);
    dir
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.passage.id.as_str()).collect()
}

#[test]
fn finds_passages_of_all_segments() {
    let dir = two_segments();
    let index = open(dir.path());
    let dense = index.search(&TIDE, Mode::Dense, 10, None).unwrap();
    assert_eq!(ids(&dense), ["moon#0", "wind#0", "fox#0"]);
    assert_eq!(dense[0].passage.text, "the moon drives the tide");
    assert!((dense[1].score - 0.6).abs() < 1e-6);
    let lexical = index.search(&TIDE, Mode::Lexical, 10, None).unwrap();
    assert_eq!(ids(&lexical), ["moon#0", "wind#0"]);
    let hybrid = index.search(&TIDE, Mode::Hybrid, 2, None).unwrap();
    assert_eq!(ids(&hybrid), ["moon#0", "wind#0"]);
    assert!(hybrid[0].score > hybrid[1].score);
}

#[test]
fn hybrid_search_tells_the_cosine_that_dense_search_finds() {
    let dir = tempfile::tempdir().unwrap();
    let words: Vec<&str> = TIDE.text.split(' ').chain(["fox", "waves"]).collect();
    for half in 0..2 {
        let numbers = half * 60..(half + 1) * 60;
        let documents = numbers.map(|number: usize| {
            let text = [words[number % 6], words[number / 6 % 6]].join(" ");
            let (sin, cos) = (number as f32 * 2.4).sin_cos();
            (number.to_string(), text, [cos, sin])
        });
        let documents: Vec<(String, String, [f32; 2])> = documents.collect();
        let borrowed = documents.iter();
        let borrowed = borrowed.map(|(id, text, vector)| (id.as_str(), text.as_str(), *vector));
        publish(dir.path(), &borrowed.collect::<Vec<_>>());
    }
    let index = open(dir.path());
    for turn in 0..40 {
        let (sin, cos) = (turn as f32 * 0.7).sin_cos();
        let vector = [cos, sin];
        let query = Query::new(TIDE.text, Some(&vector));
        // From turn 30 on it leaves nothing.
        let filter = format!("n>={}", 2 * turn).parse().unwrap();
        let selection = Selection::new(index.corpus(), &[filter]).unwrap();
        for selection in [None, Some(&selection)] {
            let best = index.search(&query, Mode::Dense, 10, selection).unwrap();
            let best = best.first().map(|hit| hit.score);
            assert_eq!(best.is_some(), selection.is_none() || turn < 30);
            let nearest = |mode| {
                let found = index.search_with_nearest(&query, mode, 1, selection);
                found.unwrap().1
            };
            assert_eq!(MODES.map(nearest), [best, None, best], "{turn}");
        }
    }
}

#[test]
fn a_replaced_document_is_found_no_more() {
    let dir = two_segments();
    publish(dir.path(), &[("moon", "cheese", [-1.0, 0.0])]);
    let index = open(dir.path());
    for mode in MODES {
        let hits = index.search(&TIDE, mode, 10, None).unwrap();
        assert_eq!(hits[0].passage.id.as_str(), "wind#0", "{mode}");
        let gone = "the moon drives the tide";
        assert!(hits.iter().all(|hit| hit.passage.text != gone), "{mode}");
    }
}

#[test]
fn threads_share_an_index() {
    let dir = two_segments();
    let index = open(dir.path());
    let expected = index.search(&TIDE, Mode::Hybrid, 3, None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let hits = index.search(&TIDE, Mode::Hybrid, 3, None).unwrap();
                    assert_eq!(hits, expected);
                }
            });
        }
    });
}

#[test]
fn a_generation_without_passages_gives_none() {
    let dir = tempfile::tempdir().unwrap();
    publish(dir.path(), &[("empty", "", [0.0; 2])]);
    let index = open(dir.path());
    for mode in MODES {
        assert!(index.search(&TIDE, mode, 10, None).unwrap().is_empty());
    }
}

#[test]
fn a_missing_or_cut_vectors_file_is_named() {
    let dir = two_segments();
    let corpus = Arc::new(Corpus::open(dir.path()).unwrap());
    let vectors = corpus.segments()[1].dir().join("vectors.f32");
    std::fs::write(&vectors, [0; 7]).unwrap();
    let error = Index::open(corpus.clone()).err().unwrap();
    assert_eq!(error.kind(), "vectors_size");
    assert!(error.to_string().contains("it has 7 bytes"), "{error}");
    std::fs::remove_file(&vectors).unwrap();
    let error = Index::open(corpus).err().unwrap();
    assert_eq!(error.kind(), "vectors_missing");
    assert!(error.to_string().contains("vectors.f32"), "{error}");
    assert!(error.remedy().is_some());
}

/// Small files are held in memory, so nothing that happens to them reaches an open index.
#[test]
fn an_open_index_outlives_its_files() {
    for layout in ["exact", "graph", "disk:int8"] {
        let dir = tempfile::tempdir().unwrap();
        let documents: Vec<(String, [f32; 2])> = (0..200)
            .map(|n| (n.to_string(), (n as f32).sin_cos().into()))
            .collect();
        let documents: Vec<(&str, &str, [f32; 2])> = documents
            .iter()
            .map(|(id, vector)| (id.as_str(), "the moon drives the tide", *vector))
            .collect();
        publish_as(dir.path(), &documents, layout.parse().unwrap());
        let index = open(dir.path());
        let search = || MODES.map(|mode| index.places(&TIDE, mode, 10, None).unwrap());
        let expected = search();
        let segment = index.corpus().segments()[0].dir().to_owned();
        let mut files = Vec::new();
        for folder in [segment.join("lexical"), segment] {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                // The properties of documents and passages come from the corpus.
                let is_other = name.starts_with("documents") || name.starts_with("passages");
                if path.is_file() && !is_other {
                    files.push(path);
                }
            }
        }
        assert!(files.len() > 6, "{files:?}");
        for path in files {
            let length = std::fs::metadata(&path).unwrap().len();
            for length in [length / 2, 0] {
                let file = std::fs::File::options().write(true).open(&path);
                file.unwrap().set_len(length).unwrap();
                assert_eq!(search(), expected, "{layout} {}", path.display());
            }
        }
    }
}

/// The fewest passages that a segment needs to get a graph.
#[test]
fn a_large_segment_has_a_graph_that_filters_and_checks_hold_for() {
    let passages = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let mut index = SegmentWriter::create(staged.dir(), 2, DenseLayout::default()).unwrap();
    let mut vectors = Vec::new();
    for n in 0..passages {
        let (sin, cos) = (n as f32 * 2.4).sin_cos();
        let document = with!(Document::default(), id: n.to_string(), title: String::new(),
            text: "text".to_owned(), metadata: serde_json::Map::from_iter([("n".to_owned(), n.into())]),
            record: true);
        let cut = staged.push(&document, &["text".into()]).unwrap();
        index.push(&cut[0], &[cos, sin]).unwrap();
        vectors.push([cos, sin]);
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();

    let corpus = Arc::new(Corpus::open(dir.path()).unwrap());
    let index = Index::open(corpus.clone()).unwrap();
    for first in [0, 5000, 19_980, passages] {
        let filter = format!("n>={first}").parse().unwrap();
        let selection = Selection::new(&corpus, &[filter]).unwrap();
        let hits = index
            .search(&TIDE, Mode::Dense, 10, Some(&selection))
            .unwrap();
        let mut expected: Vec<f32> = vectors[first..].iter().map(|vector| vector[0]).collect();
        expected.sort_by(|one, other| other.total_cmp(one));
        expected.truncate(10);
        assert_eq!(hits.len(), expected.len());
        for (hit, score) in hits.iter().zip(expected) {
            assert!(hit.passage.doc_id.parse::<usize>().unwrap() >= first);
            assert!((hit.score - score).abs() < 1e-5, "{first}");
        }
    }

    let graph = corpus.segments()[0].dir().join("vectors.graph");
    let mut bytes = std::fs::read(&graph).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&graph, bytes).unwrap();
    let damages = ken_corpus::verify(dir.path(), &mut |_| ()).unwrap();
    assert_eq!(damages.len(), 1);
    assert_eq!(damages[0].file, graph);
}

#[test]
fn vectors_that_do_not_fit_are_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let document = with!(Document::default(), id: "a".to_owned(), title: String::new(),
        text: "text".to_owned(), record: true);
    let passages = staged.push(&document, &["text".into()]).unwrap();
    let mut index = SegmentWriter::create(staged.dir(), 2, DenseLayout::default()).unwrap();
    let error = index.push(&passages[0], &[1.0]).unwrap_err();
    has!(error, to_string(): "the vector of passage a#0 has 1 dimensions, not 2");
    let error = index.push(&passages[0], &[f32::NAN, 0.0]).unwrap_err();
    has!(error, to_string(): "the vector of passage a#0 holds a number that is not finite");
    index.push(&passages[0], &[1.0, 0.0]).unwrap();
    index.finish().unwrap();
}
