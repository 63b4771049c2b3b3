//! The time to open and search a corpus, including its checksums: blocks are checked when they are first
//! read.
//!
//! `cargo bench -p ken-index --bench checked -- PASSAGES LAYOUT`, such as `100000 graph`

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ken_corpus::{Corpus, Document, EmbedderIdentity, Settings, Sharding, Writer};
use ken_index::{DenseLayout, Index, Mode, Query, Recall, SegmentWriter};
use ken_testing::with;

const DIMENSIONS: usize = 384;
const QUERIES: usize = 100;
const TURNS: usize = 20;
/// Small segments of a corpus that is opened.
const SEGMENTS: usize = 100;

/// Numbers that look random, from -1 to 1.
struct Numbers(u64);

impl Numbers {
    fn bits(&mut self) -> u32 {
        (ken_random::next(&mut self.0) >> 33) as u32
    }

    fn vector(&mut self) -> Vec<f32> {
        let numbers: Vec<f32> = (0..DIMENSIONS)
            .map(|_| (self.bits() as f32) / (1u32 << 30) as f32 - 1.0)
            .collect();
        let length = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
        numbers.iter().map(|x| x / length).collect()
    }

    fn words(&mut self, count: usize) -> String {
        let words = (0..count).map(|_| {
            // A few words are frequent, many are rare.
            let rank = self.bits() % 1000 * (self.bits() % 50 + 1);
            format!("w{rank}")
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

fn main() {
    // Cargo adds `--bench`.
    let given: Vec<String> = std::env::args().filter(|word| word != "--bench").collect();
    let passages = given.get(1).map_or(20_000, |count| count.parse().unwrap());
    let layout = given
        .get(2)
        .map_or_else(DenseLayout::default, |name| name.parse().unwrap());
    searches(passages, layout);
    opening();
}

/// The time of a query of each kind once all blocks are checked, and the extra time of the first queries.
fn searches(passages: usize, layout: DenseLayout) {
    let folder = tempfile::tempdir().unwrap();
    add_segment(folder.path(), passages, layout);
    let mut random = Numbers(7);
    let vectors: Vec<Vec<f32>> = (0..QUERIES).map(|_| random.vector()).collect();
    let texts: Vec<String> = (0..QUERIES).map(|_| random.words(6)).collect();
    for (name, mode, recall) in [
        ("graph", Mode::Dense, Recall::default()),
        ("scan", Mode::Dense, Recall::EXACT),
        ("lexical", Mode::Lexical, Recall::default()),
        ("hybrid", Mode::Hybrid, Recall::default()),
    ] {
        let started = Instant::now();
        let corpus = Arc::new(Corpus::open(folder.path()).unwrap());
        let index = Index::open(corpus).unwrap().with_recall(recall);
        let opened_ms = started.elapsed().as_secs_f64() * 1e3;
        let ms = |number: usize| {
            let (vector, text) = (Some(vectors[number].as_slice()), texts[number].as_str());
            let started = Instant::now();
            index
                .places(&Query { text, vector }, mode, 10, None)
                .unwrap();
            started.elapsed().as_secs_f64() * 1e3
        };
        let first_ms: f64 = (0..QUERIES).map(ms).sum();
        // The shortest time of each query counts, since the machine may be busy.
        let least_ms: f64 = (0..QUERIES)
            .map(|number| (0..TURNS).map(|_| ms(number)).fold(f64::MAX, f64::min))
            .sum();
        println!(
            "{name}: opened in {opened_ms:.1} ms; {:.4} ms a query; the first {QUERIES} took {:.1} ms more",
            least_ms / QUERIES as f64,
            first_ms - least_ms,
        );
    }
}

/// Opening a corpus of many small segments, and reading and hashing all of its files, which is what checking them adds.
fn opening() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..SEGMENTS {
        add_segment(folder.path(), 100, DenseLayout::default());
    }
    let (mut open_s, mut hash_s) = (f64::MAX, f64::MAX);
    for _ in 0..TURNS {
        let started = Instant::now();
        let corpus = Arc::new(Corpus::open(folder.path()).unwrap());
        let index = Index::open(corpus).unwrap();
        open_s = open_s.min(started.elapsed().as_secs_f64());
        drop(index);
        let started = Instant::now();
        assert_eq!(ken_corpus::verify(folder.path(), &mut |_| {}).unwrap(), []);
        hash_s = hash_s.min(started.elapsed().as_secs_f64());
    }
    println!(
        "{SEGMENTS} segments: opened in {:.2} ms, of which checks at most {:.2} ms",
        open_s * 1e3,
        hash_s * 1e3
    );
}

fn add_segment(corpus: &Path, passages: usize, layout: DenseLayout) {
    let settings = Settings {
        embedder: EmbedderIdentity::new("test", "test", DIMENSIONS),
        segmentation: "whole".to_owned(),
        sharding: Sharding::default(),
        dense: layout.to_string(),
    };
    let mut random = Numbers(1);
    let mut writer = Writer::create(corpus, settings).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let mut index = SegmentWriter::create(staged.dir(), DIMENSIONS, layout).unwrap();
    for number in 0..passages {
        let document = with!(Document::default(),
            id: format!("d{}", writer.generation() as usize * passages + number), title: String::new(),
            text: random.words(60), record: true);
        let passages = staged
            .push(&document, &[document.text.as_str().into()])
            .unwrap();
        index.push(&passages[0], &random.vector()).unwrap();
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();
}
