//! What checking blocks costs a search, measured: the same index opened with and without its
//! checksums, by turns. It asserts nothing.

use std::time::Instant;

use ken_corpus::{Corpus, Document, EmbedderIdentity, Settings, Sharding, Writer};
use ken_storage::CheckedFolder;

use crate::search::Rankings;
use crate::{DenseLayout, Mode, Query, Recall, SegmentWriter};

const DIMENSIONS: usize = 384;
const QUERIES: usize = 100;
const TURNS: usize = 20;

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
/// and with the layout `KEN_BENCH_DENSE`. Prints, for each kind of search, the time of a query with
/// checks as a multiple of one without, and what the first queries after opening take.
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
    let one = |rankings: &Rankings, mode, number: usize| {
        let (vector, text) = (Some(vectors[number].as_slice()), texts[number].as_str());
        let query = Query { text, vector };
        let started = Instant::now();
        rankings
            .rank(&query, mode, 10, &|_| true, &|_| count)
            .unwrap();
        started.elapsed().as_secs_f64() * 1e3
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
        let sum = |rankings: &Rankings| (0..QUERIES).map(|n| one(rankings, mode, n)).sum::<f64>();
        sum(&plain);
        let started = Instant::now();
        let mut checked = open(fresh.segments()[0].files().clone());
        checked.recall = recall;
        let opened_ms = started.elapsed().as_secs_f64() * 1e3;
        let first_ms = sum(&checked);
        // The shortest time of each query counts: on a busy machine it is what it takes.
        let mut least = [[f64::MAX; 2]; QUERIES];
        for turn in 0..TURNS {
            for (number, least) in least.iter_mut().enumerate() {
                // Whoever is second finds warmer caches, so they change places.
                for which in [turn % 2, (turn + 1) % 2] {
                    let ms = one([&checked, &plain][which], mode, number);
                    least[which] = least[which].min(ms);
                }
            }
        }
        let [with, without] =
            [0, 1].map(|which| least.iter().map(|least| least[which]).sum::<f64>());
        let queries = QUERIES as f64;
        eprintln!(
            "{name}: {:.4} ms a query with checks, {:.4} without, ratio {:.4}; index opened in \
             {opened_ms:.1} ms; the first {QUERIES} queries took {:.1} ms more",
            with / queries,
            without / queries,
            with / without,
            first_ms - with,
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
        let passages = staged
            .push(&document, std::slice::from_ref(&document.text))
            .unwrap();
        index.push(&passages[0], &random.vector()).unwrap();
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();
}
