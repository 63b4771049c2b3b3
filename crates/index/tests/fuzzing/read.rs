//! Arbitrary bytes in every place where the index reads some: one function for each place, for the tests beside
//! this file and for the fuzz targets. Reading them must end in a typed error or in
//! results within the passages.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use ken_corpus::{
    Corpus, Document, EmbedderIdentity, Filter, Passage, Selection, Settings, Sharding, Writer,
};
use ken_index::{
    Index, IndexError, Mode, Query, SegmentVectors, SegmentWriter, VectorSet, passage_terms,
    query_terms,
};
use ken_testing::with;
use tempfile::TempDir;

/// Numbers of a vector.
pub(crate) const DIMENSIONS: usize = 6;

/// Vectors of a segment, in groups of ten equal ones: with so few nodes, searches walk through the graph, which has
/// two layers.
pub(crate) const VECTORS: usize = 10 * NODES;
const NODES: usize = 70;

/// The most distinct terms of a query.
const QUERY_TERMS: usize = 512;

/// The folder of a small segment, of which every file is valid.
pub(crate) struct Segment(TempDir);

impl Segment {
    /// A segment in the layout of this name.
    pub(crate) fn new(layout: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let layout = layout.parse().unwrap();
        let mut writer = SegmentWriter::create(folder.path(), DIMENSIONS, layout).unwrap();
        for number in 0..VECTORS {
            let document = document(&number.to_string(), "text");
            let passage = Passage::of(&document, 0, document.text.as_str().into());
            writer.push(&passage, &vector(number % NODES)).unwrap();
        }
        writer.finish().unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Searches with `bytes` in place of the file of this name, and returns whether the index
    /// accepted them.
    pub(crate) fn search(&self, name: &str, bytes: &[u8]) -> bool {
        std::fs::write(self.file(name), bytes).unwrap();
        let folders = [(self.0.path().to_owned(), VECTORS)];
        // Mostly most vectors are live, so that the graph is walked; now and then few, which are
        // scanned.
        let sum = bytes.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte));
        let is_few = sum.is_multiple_of(8);
        let is_live = (0..VECTORS).map(|n| n % 100 == 7 || !is_few && n % 9 > 0);
        let is_live: Vec<bool> = is_live.collect();
        let set = match VectorSet::open(&folders, DIMENSIONS) {
            Ok(set) => set.with_live(is_live.clone()),
            Err(error) => return refused(&error),
        };
        let found = match set.nearest(&vector(usize::from(sum)), 10) {
            Ok(found) => found,
            Err(error) => return refused(&error),
        };
        assert!(found.len() <= 10);
        assert!(found.iter().all(|&(number, _)| is_live[number]));
        assert_eq!(
            found
                .iter()
                .map(|(number, _)| number)
                .collect::<HashSet<_>>()
                .len(),
            found.len()
        );
        match SegmentVectors::open(self.0.path(), VECTORS, DIMENSIONS) {
            Ok(vectors) => {
                let mut buffer = Default::default();
                for number in [0, VECTORS - 1, VECTORS, usize::MAX] {
                    let length = vectors.row(number, &mut buffer).unwrap().len();
                    assert_eq!(length, if number < VECTORS { DIMENSIONS } else { 0 });
                }
                true
            }
            Err(error) => refused(&error),
        }
    }
}

/// Refusals name the file that is damaged.
fn refused(error: &IndexError) -> bool {
    let kind = error.kind();
    let known = ["graph_damaged", "vectors_size", "vectors_missing"];
    assert!(known.contains(&kind), "{kind}: {error}");
    assert!(error.to_string().contains("vectors."), "{error}");
    false
}

/// The tables of a segment besides the graph: the vectors in each of their types, scanned, walked
/// through in memory, and on disk. The first byte chooses one, and whether the others are padded or cut
/// to the expected length.
pub(crate) struct Tables(Vec<(Segment, String)>);

/// The layouts by the first byte.
pub(crate) const TABLES: [&str; 5] = ["exact", "exact:f16", "exact:int8", "graph", "disk:int8"];

impl Tables {
    pub(crate) fn new() -> Self {
        let tables = TABLES.iter().map(|&layout| {
            let vectors = layout.split_once(':').map_or("f32", |(_, numbers)| numbers);
            (Segment::new(layout), format!("vectors.{vectors}"))
        });
        Self(tables.collect())
    }

    /// The first byte and the valid file of a layout.
    pub(crate) fn valid(&self, layout: u8) -> Vec<u8> {
        let (segment, file) = &self.0[usize::from(layout) % self.0.len()];
        let mut bytes = vec![layout];
        bytes.extend(std::fs::read(segment.file(file)).unwrap());
        bytes
    }

    pub(crate) fn search(&self, bytes: &[u8]) -> bool {
        let Some((&choice, bytes)) = bytes.split_first() else {
            return false;
        };
        let (segment, file) = &self.0[usize::from(choice & 0x7f) % self.0.len()];
        let mut bytes = bytes.to_vec();
        if choice & 0x80 != 0 {
            let number_bytes = match file.as_str() {
                "vectors.f32" => 4 * DIMENSIONS,
                "vectors.f16" => 2 * DIMENSIONS,
                _ => DIMENSIONS + 4,
            };
            bytes.resize(VECTORS * number_bytes, 0);
        }
        segment.search(file, &bytes)
    }
}

/// A small corpus for any query.
pub(crate) struct Asked {
    corpus: Arc<Corpus>,
    index: Index,
    _folder: TempDir,
}

impl Asked {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let settings = Settings {
            embedder: EmbedderIdentity::new("test", "test", DIMENSIONS),
            segmentation: "whole".to_owned(),
            sharding: Sharding::default(),
            dense: "exact".to_owned(),
        };
        let mut writer = Writer::create(folder.path(), settings).unwrap();
        let mut staged = writer.stage(0).unwrap();
        let layout = "exact".parse().unwrap();
        let mut index = SegmentWriter::create(staged.dir(), DIMENSIONS, layout).unwrap();
        for (number, text) in ["the moon drives the tide", "北京大学在中国", "ガイド 1,000"]
            .iter()
            .enumerate()
        {
            let document = document(&number.to_string(), text);
            for passage in staged.push(&document, &[(*text).into()]).unwrap() {
                index.push(&passage, &vector(number)).unwrap();
            }
        }
        index.finish().unwrap();
        writer.publish(vec![staged]).unwrap();
        let corpus = Arc::new(Corpus::open(folder.path()).unwrap());
        Self {
            index: Index::open(corpus.clone()).unwrap(),
            corpus,
            _folder: folder,
        }
    }

    /// The bytes as a query, as a passage and as a filter.
    pub(crate) fn ask(&self, bytes: &[u8]) {
        let text = &*String::from_utf8_lossy(bytes);
        let terms = query_terms(text);
        assert!(terms.len() <= QUERY_TERMS);
        assert_eq!(terms.iter().collect::<HashSet<_>>().len(), terms.len());
        let all = passage_terms("", text);
        assert!(all.iter().all(|term| (1..=512).contains(&term.len())));
        let selection = text.parse().ok().map(|filter: Filter| {
            assert_eq!(filter.to_string().parse::<Filter>().unwrap(), filter);
            Selection::new(&self.corpus, &[filter]).unwrap()
        });
        let query = Query { text, vector: None };
        let found = self
            .index
            .places(&query, Mode::Lexical, 5, selection.as_ref());
        for place in found.unwrap().0 {
            assert!(place.ordinal < 3 && place.score.is_finite());
        }
    }
}

fn document(id: &str, text: &str) -> Document {
    let metadata = serde_json::json!({"year": 1969, "lang": ["en", "zh"], "open": true});
    with!(Document::default(), id: id.to_owned(), title: String::new(), text: text.to_owned(),
        metadata: metadata.as_object().cloned().unwrap(), record: true)
}

fn vector(number: usize) -> Vec<f32> {
    let numbers = (0..DIMENSIONS).map(|at| ((number * 7 + at * at * 3 + 1) as f32).sin());
    numbers.collect()
}
