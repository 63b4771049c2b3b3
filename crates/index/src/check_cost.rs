//! What checking blocks costs a search, measured: the same index opened with and without its
//! checksums, by turns. It asserts nothing.

use std::time::Instant;

use ken_corpus::{Corpus, Document, EmbedderIdentity, Settings, Sharding, Writer};
use ken_storage::CheckedFolder;

use crate::search::Rankings;
use crate::{DenseLayout, Mode, Query, Recall, SegmentWriter};

const DIMENSIONS: usize = 384;
const QUERIES: usize = 100;
const TURNS: usize = 12;

/// Numbers that look random, from -1 to 1.
struct Numbers(u64);

impl Numbers {
    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1);
        (self.0 >> 33) as u32
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

/// The corpus in the folder `KEN_BENCH_INDEX`, made on the first run, of `KEN_BENCH_COUNT` passages
/// and with the layout `KEN_BENCH_DENSE`. Prints, for each kind of search, the time of a turn with
/// checks as a multiple of one without, and what the first turn after opening takes.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stderr)]
fn of_searches() {
    let setting = |name: &str| std::env::var(name).unwrap();
    let dir = std::path::PathBuf::from(setting("KEN_BENCH_INDEX"));
    if !Corpus::exists(&dir) {
        let layout: DenseLayout = setting("KEN_BENCH_DENSE").parse().unwrap();
        make(&dir, setting("KEN_BENCH_COUNT").parse().unwrap(), layout);
    }
    let started = Instant::now();
    let corpus = Corpus::open(&dir).unwrap();
    eprintln!("opening the corpus: {:?}", started.elapsed());
    let segment = &corpus.segments()[0];
    let count = segment.passage_count();
    let open = |folder: CheckedFolder| Rankings::open(&[(&folder, count)], DIMENSIONS).unwrap();
    let mut random = Numbers(7);
    let vectors: Vec<Vec<f32>> = (0..QUERIES).map(|_| random.vector()).collect();
    let texts: Vec<String> = (0..QUERIES).map(|_| random.words(6)).collect();
    let turn = |rankings: &Rankings, mode| {
        let started = Instant::now();
        for (vector, text) in vectors.iter().zip(&texts) {
            let vector = Some(vector.as_slice());
            let query = Query { text, vector };
            rankings
                .rank(&query, mode, 10, &|_| true, &|_| count)
                .unwrap();
        }
        started.elapsed().as_secs_f64()
    };
    for (name, mode, recall) in [
        ("graph", Mode::Dense, Recall::default()),
        ("scan", Mode::Dense, Recall::EXACT),
        ("lexical", Mode::Lexical, Recall::default()),
        ("hybrid", Mode::Hybrid, Recall::default()),
    ] {
        // Everything is in memory, for both.
        let fresh = Corpus::open(&dir).unwrap();
        let mut plain = open(segment.dir().into());
        plain.recall = recall;
        turn(&plain, mode);
        let started = Instant::now();
        let mut checked = open(fresh.segments()[0].files().clone());
        checked.recall = recall;
        let opened_s = started.elapsed().as_secs_f64();
        let first_s = turn(&checked, mode);
        let (mut with, mut without, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..TURNS {
            // Whoever is second finds warmer caches, so they change places.
            let (one, other) = match number % 2 {
                0 => (turn(&checked, mode), turn(&plain, mode)),
                _ => {
                    let plain = turn(&plain, mode);
                    (turn(&checked, mode), plain)
                }
            };
            with.push(one);
            without.push(other);
            ratios.push(one / other);
        }
        ratios.sort_by(f64::total_cmp);
        let least = |times: &[f64]| times.iter().copied().fold(f64::MAX, f64::min);
        let per_query = |seconds: f64| seconds * 1e3 / QUERIES as f64;
        eprintln!(
            "{name}: {:.3} ms a query with checks, {:.3} without, ratio {:.4} of the best, median {:.4}, \
             from {:.3} to {:.3}; index opened in {:.1} ms; first {QUERIES} queries {:.1} ms more",
            per_query(least(&with)),
            per_query(least(&without)),
            least(&with) / least(&without),
            ratios[TURNS / 2],
            ratios[0],
            ratios[TURNS - 1],
            opened_s * 1e3,
            (first_s - least(&with)) * 1e3,
        );
    }
}

/// Opening a corpus of `KEN_BENCH_COUNT` small segments, and reading and hashing all of its files,
/// which is what checking them adds.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stderr)]
fn of_opening() {
    let dir = tempfile::tempdir().unwrap();
    let segments: usize = std::env::var("KEN_BENCH_COUNT").unwrap().parse().unwrap();
    for _ in 0..segments {
        make(dir.path(), 100, DenseLayout::default());
    }
    let (mut open_s, mut hash_s) = (f64::MAX, f64::MAX);
    for _ in 0..20 {
        let started = Instant::now();
        let corpus = std::sync::Arc::new(Corpus::open(dir.path()).unwrap());
        let index = crate::Index::open(corpus).unwrap();
        open_s = open_s.min(started.elapsed().as_secs_f64());
        drop(index);
        let started = Instant::now();
        assert_eq!(ken_corpus::verify(dir.path(), &mut |_| {}).unwrap(), []);
        hash_s = hash_s.min(started.elapsed().as_secs_f64());
    }
    let corpus = Corpus::open(dir.path()).unwrap();
    eprintln!(
        "{} segments, {} bytes: opened in {:.2} ms, of which checks at most {:.2} ms",
        corpus.segments().len(),
        corpus.bytes(),
        open_s * 1e3,
        hash_s * 1e3
    );
}

fn make(dir: &std::path::Path, count: usize, layout: DenseLayout) {
    let settings = Settings {
        embedder: EmbedderIdentity {
            reference: "test".to_owned(),
            fingerprint: "test".to_owned(),
            dimensions: DIMENSIONS,
        },
        segmentation: "whole".to_owned(),
        sharding: Sharding::default(),
        dense: layout.to_string(),
    };
    let mut random = Numbers(1);
    let mut writer = Writer::create(dir, settings).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let mut index = SegmentWriter::create(staged.dir(), DIMENSIONS, layout).unwrap();
    for number in 0..count {
        let document = Document {
            id: format!("d{}", writer.generation() as usize * count + number),
            title: String::new(),
            text: random.words(60),
            metadata: Default::default(),
            record: true,
        };
        let passages = staged.push(&document, &[document.text.clone()]).unwrap();
        index.push(&passages[0], &random.vector()).unwrap();
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();
}
