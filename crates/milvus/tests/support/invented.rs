//! An invented corpus: documents with vectors and metadata, published in a folder, and as a plain list.

use std::path::Path;

use ken_corpus::{
    Document, EmbedderIdentity, Location, PassageId, Piece, PruneMark, Settings, Sharding, Writer,
};
use ken_index::{DenseLayout, SegmentWriter};
use serde_json::{Map, Value, json};

/// Numbers per vector.
pub(crate) const DIMENSIONS: usize = 16;

/// Shards of the corpus.
pub(crate) const SHARDS: u32 = 3;

/// Pseudorandom numbers from a fixed seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `below`.
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    /// A vector of length 1.
    pub(crate) fn vector(&mut self) -> Vec<f32> {
        let numbers: Vec<f32> = (0..DIMENSIONS)
            .map(|_| self.roll(2001) as f32 / 1000.0 - 1.0)
            .collect();
        let length = numbers.iter().map(|n| n * n).sum::<f32>().sqrt();
        numbers.iter().map(|n| n / length.max(1e-6)).collect()
    }
}

const WORDS: [&str; 12] = [
    "moon", "tide", "harbour", "lantern", "copper", "willow", "engine", "winter", "bread",
    "violin", "北京", "Größe",
];

/// A document with one passage for each text.
pub(crate) fn document(id: &str, title: &str, metadata: &Value) -> Document {
    Document {
        id: id.to_owned(),
        title: title.to_owned(),
        text: String::new(),
        metadata: metadata.as_object().cloned().unwrap_or_default(),
        record: true,
        ..Document::default()
    }
}

/// The `n`th document of a corpus: in each a few common words and one of its own.
pub(crate) fn numbered(n: usize) -> (Document, Vec<String>) {
    let mut dice = Dice::new(n as u64 + 1);
    let metadata = match n % 7 {
        0 => json!({}),
        1 => json!({"year": 1990 + n % 40, "lang": "de", "tags": ["Red", n % 10]}),
        2 => json!({"year": format!("{}", 1990 + n % 40), "lang": "en", "tags": []}),
        3 => json!({"year": 1990.5 + (n % 40) as f64, "lang": "zh", "ok": true}),
        4 => json!({"year": null, "lang": "x\" or true or \"", "tags": ["a", "b\\"]}),
        5 => json!({"year": "unknown", "lang": "北京", "deep": {"a": 1}}),
        _ => json!({"year": [1990 + n % 40, 2050], "lang": "EN", "k\"] == 1": n}),
    };
    let text = |dice: &mut Dice, part: usize| {
        let words: Vec<&str> = (0..6).map(|_| WORDS[dice.roll(WORDS.len())]).collect();
        format!("{} own{n}part{part}", words.join(" "))
    };
    let texts = (0..1 + n % 3).map(|part| text(&mut dice, part)).collect();
    let id = match n % 50 {
        0 => format!("odd \"{n}\" \\ it's\n\t北.md"),
        _ => format!("docs/{n}.md"),
    };
    (document(&id, &format!("Paper {n}"), &metadata), texts)
}

/// The vector of a passage. A few are equal, so that some scores are.
pub(crate) fn vector(id: &PassageId) -> Vec<f32> {
    let hash = id.as_str().bytes().fold(7_u64, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    Dice::new(hash % 250).vector()
}

fn settings(fingerprint: &str, layout: DenseLayout) -> Settings {
    Settings {
        embedder: EmbedderIdentity::new("test:embedder", fingerprint, DIMENSIONS),
        segmentation: "whole".to_owned(),
        sharding: Sharding {
            count: SHARDS,
            seed: 0,
        },
        dense: layout.to_string(),
    }
}

/// Publishes documents, new ones and replacements, as one generation.
#[allow(dead_code)] // Not every test leaves the layout open.
pub(crate) fn publish(dir: &Path, documents: &[(Document, Vec<String>)]) {
    publish_with(dir, "f1", DenseLayout::default(), documents);
}

/// As [`publish`], with the embedder of this fingerprint, for search by this layout.
pub(crate) fn publish_with(
    dir: &Path,
    fingerprint: &str,
    layout: DenseLayout,
    documents: &[(Document, Vec<String>)],
) {
    let mut writer = Writer::create(dir, settings(fingerprint, layout)).unwrap();
    let shards: Vec<u32> = (documents.iter())
        .map(|(document, _)| document.id.bytes().map(u32::from).sum::<u32>() % SHARDS)
        .collect();
    let mut staged_segments = Vec::new();
    for shard in 0..SHARDS {
        let mut staged = writer.stage(shard).unwrap();
        let mut index = SegmentWriter::create(staged.dir(), DIMENSIONS, layout).unwrap();
        let of_shard = documents
            .iter()
            .zip(&shards)
            .filter(|(_, of)| **of == shard);
        for ((document, texts), _) in of_shard {
            let located = |(page, text): (u32, &String)| Piece {
                text: text.clone(),
                location: Location {
                    heading: format!("Part {page}"),
                    page: Some(page),
                    ..Location::default()
                },
            };
            let pieces: Vec<Piece> = (1..).zip(texts).map(located).collect();
            for passage in staged.push(document, &pieces).unwrap() {
                index.push(&passage, &vector(&passage.id)).unwrap();
            }
        }
        index.finish().unwrap();
        staged_segments.push(staged);
    }
    writer.publish(staged_segments).unwrap();
}

/// Prunes passages.
pub(crate) fn prune(dir: &Path, ids: &[String]) {
    let marks = ids
        .iter()
        .map(|id| PruneMark::new(PassageId(id.clone()), 1.0, "known"));
    let marks = marks.collect();
    Writer::open(dir).unwrap().prune(marks).unwrap();
}

/// Keeps scores of passages as their mastery.
#[allow(dead_code)] // Not every test has scores.
pub(crate) fn score(dir: &Path, scores: &[(String, f64)]) {
    let marks = scores
        .iter()
        .map(|(id, score)| PruneMark::new(PassageId(id.clone()), *score, ""));
    let mut writer = Writer::open(dir).unwrap();
    let places = writer.places(&marks.collect::<Vec<_>>()).unwrap();
    writer.score("mastery", &places).unwrap();
}

/// Metadata without anything.
pub(crate) fn no_metadata() -> Value {
    Value::Object(Map::new())
}
