//! Large files whose contents change while their sizes stay: searches answer as before, or name the
//! file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_corpus::{Corpus, Document, EmbedderIdentity, Settings, Sharding, Writer, verify};
use ken_index::{DenseLayout, Index, Mode, Query, Recall, SegmentWriter};
use ken_testing::cases;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const DIMENSIONS: usize = 64;
const DOCUMENTS: usize = 7000;

/// What is taken out of order and out of place: a page.
const PAGE: usize = 4096;

/// A vector that has neighbors, so that a graph is walked and not given up for a scan.
fn vector(random: &mut StdRng) -> Vec<f32> {
    let waves: [f32; 3] = std::array::from_fn(|_| random.random());
    let numbers: Vec<f32> = (0..DIMENSIONS)
        .map(|at| {
            waves
                .iter()
                .map(|wave| (wave * at as f32 / 8.0).cos())
                .sum()
        })
        .collect();
    let length = numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
    numbers.iter().map(|x| x / length).collect()
}

/// Publishes a segment whose texts, vectors, graph and terms take more than a MiB each.
fn publish(dir: &Path, layout: &str) {
    let mut random = StdRng::seed_from_u64(1);
    let layout: DenseLayout = layout.parse().unwrap();
    let settings = Settings {
        embedder: EmbedderIdentity::new("test", "test", DIMENSIONS),
        segmentation: "whole".to_owned(),
        sharding: Sharding::default(),
        dense: layout.to_string(),
    };
    let mut writer = Writer::create(dir, settings).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let mut index = SegmentWriter::create(staged.dir(), DIMENSIONS, layout).unwrap();
    for number in 0..DOCUMENTS {
        let words: Vec<String> = (0..25)
            .map(|_| format!("w{:x}", random.random::<u32>()))
            .collect();
        let document = Document {
            id: format!("document {number:05}"),
            title: format!(
                "The title of document {number}, which is as long as titles of documents are"
            ),
            text: format!("common {}", words.join(" ")),
            record: true,
            ..Document::default()
        };
        let passages = staged
            .push(&document, &[document.text.as_str().into()])
            .unwrap();
        index.push(&passages[0], &vector(&mut random)).unwrap();
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();
}

/// Everything that can be read and found.
fn answers(dir: &Path) -> Result<Vec<String>, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let corpus = Arc::new(Corpus::open(dir).map_err(|error| said(&error))?);
    let mut random = StdRng::seed_from_u64(2);
    let mut all = Vec::new();
    for recall in [Recall::default(), Recall::EXACT] {
        let index = Index::open(corpus.clone()).map_err(|error| said(&error))?;
        let index = index.with_recall(recall);
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
            let vector = vector(&mut random);
            let query = Query::new("common title 17", Some(&vector));
            let hits = index.search(&query, mode, 20, None);
            let hits = hits.map_err(|error| {
                assert!(error.remedy().is_some(), "{error}");
                said(&error)
            })?;
            all.push(format!("{hits:?}"));
        }
    }
    for passage in corpus.passages() {
        all.push(format!("{:?}", passage.map_err(|error| said(&error))?));
    }
    Ok(all)
}

/// The files above a MiB in the one segment.
fn large_files(dir: &Path) -> Vec<PathBuf> {
    let segment = dir.join("segments").join("00000001-000");
    let mut files = Vec::new();
    for folder in [segment.clone(), segment.join("lexical")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && path.metadata().unwrap().len() > 1 << 20 {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The same bytes with damage that keeps their number.
fn damages(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes.to_vec();
        change(&mut changed);
        all.push((what, changed));
    };
    let mut random = StdRng::seed_from_u64(bytes.len() as u64);
    let last = bytes.len() - 1;
    let places = (0..6).map(|_| random.random_range(0..last));
    for place in places.chain([0, last]) {
        add(format!("bit at {place}"), &move |bytes| bytes[place] ^= 4);
    }
    let page = bytes.len() / 2 / PAGE * PAGE;
    add("zeroed page".to_owned(), &move |bytes| {
        bytes[page..page + PAGE].fill(0);
    });
    add("exchanged pages".to_owned(), &move |bytes| {
        bytes[page - PAGE..page + PAGE].rotate_left(PAGE);
    });
    add("zeroed".to_owned(), &|bytes| bytes.fill(0));
    all
}

#[test]
fn damage_of_the_same_size_changes_no_answer_and_is_named() {
    for (layout, whole_reads) in cases![
        "graph" => ["documents.jsonl", "passages.jsonl", "vectors.f32"];
        "disk" => ["documents.jsonl", "passages.jsonl", "vectors.f32"];
    ] {
        let dir = tempfile::tempdir().unwrap();
        publish(dir.path(), layout);
        let expected = answers(dir.path()).unwrap();
        let mut named: BTreeMap<String, usize> = BTreeMap::new();
        for path in large_files(dir.path()) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let bytes = fs::read(&path).unwrap();
            for (what, changed) in damages(&bytes) {
                fs::write(&path, changed).unwrap();
                match answers(dir.path()) {
                    Ok(found) => {
                        assert!(found == expected, "{layout} {name} {what}: other answers");
                        assert!(!whole_reads.contains(&name), "{layout} {name} {what}");
                    }
                    Err(error) => {
                        assert!(error.contains(name), "{layout} {name} {what}: {error}");
                        *named.entry(name.to_owned()).or_default() += 1;
                    }
                }
            }
            fs::write(&path, &bytes).unwrap();
        }
        for name in whole_reads {
            assert_eq!(named[name], 11, "{named:?}");
        }
        assert!(
            named.keys().any(|name| name.ends_with(".term")),
            "{named:?}"
        );
        if layout == "graph" {
            assert!(named["vectors.graph"] >= 6, "{named:?}");
        }
        assert_eq!(answers(dir.path()).unwrap(), expected);
        assert_eq!(verify(dir.path(), &mut |_| {}).unwrap(), []);
    }
}
