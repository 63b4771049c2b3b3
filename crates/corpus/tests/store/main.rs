//! The store: publishing, crashes, locks and damage; what makes and unmakes generations; shards;
//! and any sequence of changes against a plain model.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backups;
mod checksums;
mod crash;
mod damage;
mod generations;
mod joining;
#[cfg(unix)]
mod links;
mod model;
mod moved;
mod names;
mod publish;
mod readers;
mod recovery;
mod scores;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ken_corpus::{
    Corpus, Document, DocumentState, EmbedderIdentity, Filter, PassageId, Piece, PruneMark,
    Selection, Settings, Sharding, Writer,
};
use ken_testing::with;

fn settings() -> Settings {
    Settings {
        embedder: EmbedderIdentity::new("local:tiny", "f0", 4),
        segmentation: "words:2".into(),
        sharding: Sharding::default(),
        dense: "auto".into(),
    }
}

/// The same for several shards.
fn sharded(count: u32) -> Settings {
    with!(settings(), sharding: Sharding { count, seed: 0 })
}

fn document(id: &str, text: &str) -> Document {
    with!(Document::default(), id: id.into(), title: format!("Title of {id}"), text: text.into(),
        metadata: serde_json::Map::new())
}

/// The passages of a test's document: its words.
fn cut(document: &Document) -> Vec<Piece> {
    document
        .text
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(Piece::from)
        .collect()
}

/// Publishes new and changed documents, as an ingest does.
fn ingest(writer: &mut Writer, documents: &[Document]) -> u64 {
    let mut staged = writer.stage(0).unwrap();
    for document in documents {
        let state = writer.known().state_of(document).unwrap();
        if !matches!(state, DocumentState::Unchanged(_)) {
            let passages = staged.push(document, &cut(document)).unwrap();
            assert_eq!(passages.len(), cut(document).len());
        }
    }
    writer.publish(vec![staged]).unwrap()
}

/// Passage id to text, as a reader sees them.
fn contents(dir: &Path) -> BTreeMap<String, String> {
    let corpus = Corpus::open(dir).unwrap();
    let mut all = BTreeMap::new();
    for passage in corpus.passages() {
        let passage = passage.unwrap();
        assert_eq!(corpus.find(&passage.id).unwrap().as_ref(), Some(&passage));
        assert_eq!(passage.title, format!("Title of {}", passage.doc_id));
        assert_eq!(all.insert(passage.id.0, passage.text), None);
    }
    assert_eq!(corpus.passage_count(), all.len());
    all
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|&(id, text)| (id.to_owned(), text.to_owned()))
        .collect()
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

/// Keeps scores of passages, by their ids.
fn score(writer: &mut Writer, name: &str, scores: &BTreeMap<String, f32>) -> u64 {
    let marks = scores
        .iter()
        .map(|(id, score)| with!(mark(id), score: f64::from(*score)));
    let places = writer.places(&marks.collect::<Vec<_>>()).unwrap();
    writer.score(name, &places).unwrap()
}

/// Passage id to what its metadata has under a name, as a reader sees it.
fn scores(dir: &Path, name: &str) -> BTreeMap<String, serde_json::Value> {
    let corpus = Corpus::open(dir).unwrap();
    let passages = corpus.passages().map(Result::unwrap);
    let scored = passages.filter_map(|mut passage| {
        let score = passage.metadata.remove(name)?;
        Some((passage.id.0, score))
    });
    scored.collect()
}

/// How many passages fit a filter.
fn selected(corpus: &Corpus, filter: &str) -> usize {
    let filter: Filter = filter.parse().unwrap();
    Selection::new(corpus, &[filter]).unwrap().total()
}

/// The folder of a shard's first segment of a generation.
fn segment(dir: &Path, name: &str) -> std::path::PathBuf {
    dir.join("segments").join(name)
}

/// Every file below a folder with its contents.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().display().to_string();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn mark(id: &str) -> PruneMark {
    PruneMark::new(PassageId(id.to_owned()), 0.5, "known")
}
