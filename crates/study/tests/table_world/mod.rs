//! A pipeline around a model with a known boundary, over a corpus that is searched by words.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::Policy;
use ken_answer::{AnswerSettings, Pipeline, Retriever};
use ken_corpus::Corpus;
use ken_documents::read_documents;
use ken_index::{Index, Mode};
use ken_ingest::{Cut, Ingest, ingest};
use ken_language::{LanguageModel, Sampling};
use ken_testing::FnEmbedder;
use serde_json::json;
use tempfile::TempDir;

pub(crate) fn answering() -> AnswerSettings {
    AnswerSettings {
        policy: Policy::Always,
        mode: Mode::Lexical,
        k: 1,
        evidence_tokens: 500,
        max_tokens: 16,
        sampling: Sampling::Greedy,
        samples: 10,
        seed: 3,
        verbalize: false,
    }
}

/// The model with a corpus of passages, each under its document's id.
pub(crate) fn with_corpus(
    folder: &TempDir,
    model: impl LanguageModel + 'static,
    passages: &[(&str, &str)],
    embedder: FnEmbedder,
) -> Pipeline {
    let documents = folder.path().join("documents.jsonl");
    let lines: Vec<String> = passages
        .iter()
        .map(|(id, text)| json!({"id": id, "contents": text}).to_string())
        .collect();
    fs::write(&documents, lines.join("\n")).unwrap();
    let corpus = folder.path().join("corpus");
    let work = Ingest {
        documents: read_documents(&[documents]).unwrap(),
        corpus: &corpus,
        cut: Cut::Auto,
        embedder: &embedder,
        embedder_reference: "words",
        sharding: None,
        dense: None,
        only_shard: None,
        on_broken: None,
    };
    ingest(work, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let index = Index::open(Corpus::open(&corpus).unwrap().into()).unwrap();
    let retriever = Retriever::new(index, Box::new(embedder)).unwrap();
    Pipeline::new(Arc::new(model), Some(retriever), answering())
}
