//! Pushing to and searching on a real server, which dies when it should not: milvus-lite, which `cargo xtask test`
//! sets up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod faults;
#[path = "../support/invented.rs"]
mod invented;
mod marking;
#[path = "../support/milvus_lite.rs"]
mod milvus_lite;
mod parts;
#[path = "../support/proxy.rs"]
mod proxy;
mod pushing;
mod ranking;
mod reading;
mod switching;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_corpus::{Active, Corpus, Passage};
use ken_index::{Mode, Query, VectorType};
use ken_milvus::{
    Collection, IndexKind, MilvusAddress, MilvusError, PushJob, Pushed, VectorIndex, push,
};
use tempfile::TempDir;

use crate::invented::{numbered, publish};
use crate::milvus_lite::MilvusLite;

/// The index of a new collection: one whose search width follows the number of passages requested,
/// so that all of them can be found.
const INDEX: VectorIndex = VectorIndex {
    kind: IndexKind::Hnsw,
    numbers: VectorType::F32,
};

/// A push to a collection with [`INDEX`].
fn job<'a>(corpus: &'a Corpus, address: &'a MilvusAddress) -> PushJob<'a> {
    PushJob {
        corpus,
        address,
        token: None,
        index: Some(INDEX),
        part: None,
    }
}

/// A running server, an address there, and a folder with a corpus of `count` documents.
fn started(name: &str, count: usize) -> (MilvusLite, String, TempDir) {
    let server = MilvusLite::start();
    let address = server.address(name);
    let dir = tempfile::tempdir().unwrap();
    publish(dir.path(), &(0..count).map(numbered).collect::<Vec<_>>());
    (server, address, dir)
}

/// Pushes the corpus in a folder as it is.
fn pushed(dir: &Path, address: &str) -> Result<Pushed, MilvusError> {
    let corpus = Corpus::open(dir).unwrap();
    let address = address.parse().unwrap();
    let stop = AtomicBool::new(false);
    push(job(&corpus, &address), &mut |_| (), &stop)
}

fn opened(address: &str) -> Result<Collection, MilvusError> {
    Collection::open(&address.parse().unwrap(), None, Active::All)
}

/// All passages of a collection, by id.
fn held(address: &str) -> Vec<Passage> {
    nearest(address, 5000)
}

/// The passages of a collection that are nearest to some vector, by id.
fn nearest(address: &str, k: usize) -> Vec<Passage> {
    let query = Query {
        text: "",
        vector: Some(&invented::Dice::new(1).vector()),
    };
    let hits = opened(address).unwrap().search(&query, Mode::Dense, k);
    let mut passages: Vec<Passage> = hits.unwrap().into_iter().map(|hit| hit.passage).collect();
    passages.sort_by(|one, other| one.id.cmp(&other.id));
    passages
}

/// The live passages of a corpus, by id.
fn live(corpus: &Corpus) -> Vec<Passage> {
    let mut passages: Vec<Passage> = corpus.passages().map(Result::unwrap).collect();
    passages.sort_by(|one, other| one.id.cmp(&other.id));
    passages
}

/// Checks that a collection holds what the corpus in a folder does.
fn assert_same(dir: &Path, address: &str) {
    let expected = live(&Corpus::open(dir).unwrap());
    let passages = held(address);
    assert_eq!(passages.len(), expected.len());
    for (passage, expected) in passages.iter().zip(&expected) {
        assert_eq!(passage, expected);
    }
}
