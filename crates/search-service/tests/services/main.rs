//! Searching services that run: a PostgreSQL with pgvector, and Qdrant's own client library, which searches in memory, behind
//! Qdrant's HTTP API. `cargo xtask test` sets both up. The results are compared with plain loops over the same passages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../milvus/tests/support/invented.rs"]
#[allow(dead_code)] // No corpus is published here.
mod invented;
mod postgresql;
mod qdrant;
mod started;

use ken_corpus::{EmbedderIdentity, Filter};
use ken_index::{Hit, Mode, Query};
use ken_search_service::{SearchService, ServiceError};
use ken_testing::has;
use serde_json::{Map, Value};

use invented::{DIMENSIONS, Dice, numbered};

/// A passage as a service holds it.
struct Row {
    id: u64,
    title: String,
    text: String,
    metadata: Map<String, Value>,
    vector: Vec<f32>,
}

/// A few hundred passages.
fn rows() -> Vec<Row> {
    let rows = (0..200).map(|n| {
        let (document, texts) = numbered(n);
        Row {
            id: n as u64,
            title: document.title,
            text: texts.join(" "),
            metadata: document.metadata,
            vector: Dice::new(7000 + n as u64).vector(),
        }
    });
    rows.collect()
}

fn open(address: &str) -> Result<SearchService, ServiceError> {
    open_with(address, DIMENSIONS)
}

fn open_with(address: &str, dimensions: usize) -> Result<SearchService, ServiceError> {
    let embedder = EmbedderIdentity::new("minilm", "f1", dimensions);
    SearchService::open(&address.parse().unwrap(), None, embedder)
}

fn filters(texts: &[&str]) -> Vec<Filter> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn search(service: &SearchService, text: &str, mode: Mode, k: usize) -> Vec<Hit> {
    let vector = question();
    let query = Query::new(text, Some(&vector));
    service.search(&query, mode, k).unwrap()
}

/// The vector of every question.
fn question() -> Vec<f32> {
    Dice::new(31).vector()
}

/// Checks that dense search finds the nearest passages among those that match, with their cosines.
fn check_dense(service: &SearchService, rows: &[Row], filters: &[Filter], k: usize) {
    let narrowed = service.clone().within(filters).unwrap();
    let hits = search(&narrowed, "", Mode::Dense, k);
    let vector = question();
    let mut nearest: Vec<(f32, &Row)> = rows
        .iter()
        .filter(|row| filters.iter().all(|filter| filter.matches(&row.metadata)))
        .map(|row| {
            (
                row.vector.iter().zip(&vector).map(|(a, b)| a * b).sum(),
                row,
            )
        })
        .collect();
    nearest.sort_by(|one, other| other.0.total_cmp(&one.0));
    nearest.truncate(k);
    assert_eq!(hits.len(), nearest.len(), "{filters:?}");
    for (hit, (cosine, row)) in hits.iter().zip(nearest) {
        assert!(
            (hit.score - cosine).abs() < 1e-4,
            "{filters:?}: {} {cosine}",
            hit.score
        );
        assert_eq!(hit.passage.id.0, row.id.to_string(), "{filters:?}");
        has!(hit, passage.text: row.text, passage.title: row.title, passage.metadata: row.metadata);
        // It can be opened by its id now, but not through filters that exclude it.
        assert_eq!(service.find(&hit.passage.id.0), Some(hit.passage.clone()));
        let stranger = service
            .clone()
            .within(&self::filters(&["nothing=here"]))
            .unwrap();
        assert_eq!(stranger.find(&hit.passage.id.0), None);
    }
}
