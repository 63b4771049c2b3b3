//! The stages of an ingest against a sequential one; and each way in which
//! a stage can end early: the others end too, and published generations stay.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod plain;
mod sync;
mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ken_corpus::Corpus;
use ken_documents::read_documents;
use ken_index::{Index, Mode, Query};
use ken_ingest::{Cut, Ingest, IngestError, Progress, Report, ingest};
use ken_language::Embedder;
use ken_testing::FnEmbedder;
use serde_json::json;
use tempfile::TempDir;
use trouble::{Trouble, troubled};

const CUT: &str = "words:5";

/// A folder with a file of documents.
struct Files(TempDir);

impl Files {
    /// Documents of 0 to 40 words each.
    fn new(documents: usize) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let lengths = (0..documents).map(|n| (n, n * 7 % 41));
        files.write(
            "many.jsonl",
            &lines(lengths.map(|(n, words)| (n, text(n, words)))),
        );
        files
    }

    fn write(&self, name: &str, contents: &str) {
        fs::write(self.0.path().join(name), contents).unwrap();
    }

    fn corpus(&self) -> PathBuf {
        self.0.path().join("corpus")
    }

    fn inputs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.is_file());
        paths.sort();
        paths
    }

    fn ingest(&self, embedder: &dyn Embedder) -> Result<Report, IngestError> {
        self.watched(embedder, &mut |_| {}, &AtomicBool::new(false))
    }

    fn watched(
        &self,
        embedder: &dyn Embedder,
        progress: &mut dyn FnMut(Progress),
        cancel: &AtomicBool,
    ) -> Result<Report, IngestError> {
        let (documents, corpus) = (read_documents(&self.inputs()).unwrap(), self.corpus());
        let work = Ingest {
            cut: CUT.parse::<Cut>().unwrap(),
            embedder_reference: "hashing",
            ..Ingest::new(documents, &corpus, embedder)
        };
        ingest(work, progress, cancel)
    }

    /// Documents that are published.
    fn published(&self) -> usize {
        match Corpus::exists(&self.corpus()) {
            true => Corpus::open(&self.corpus()).unwrap().document_count(),
            false => 0,
        }
    }
}

fn text(document: usize, words: usize) -> String {
    let words: Vec<String> = (0..words)
        .map(|n| format!("w{}", document * 31 + n))
        .collect();
    words.join(" ")
}

fn lines(documents: impl Iterator<Item = (usize, String)>) -> String {
    documents
        .map(|(n, text)| {
            let title = if n % 3 == 0 { "" } else { "A title" };
            json!({"id": format!("d{n}"), "title": title, "contents": text}).to_string() + "\n"
        })
        .collect()
}

/// Every file of the segments except those of the lexical indexes, whose names are random.
fn segments(corpus: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for segment in fs::read_dir(corpus.join("segments")).unwrap() {
        for entry in fs::read_dir(segment.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(corpus).unwrap().to_owned();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

/// The passages that lexical search finds, with their scores.
fn found(corpus: &Path, words: &str) -> Vec<(String, f32)> {
    let index = Index::open(Arc::new(Corpus::open(corpus).unwrap())).unwrap();
    let query = Query::new(words, None);
    let hits = index.search(&query, Mode::Lexical, 20, None).unwrap();
    let hits = hits.into_iter();
    hits.map(|hit| (hit.passage.id.to_string(), hit.score))
        .collect()
}

#[test]
fn the_stages_make_the_corpus_that_one_after_the_other_makes() {
    let files = Files::new(3000);
    // Longer than a batch, and longer than a publication.
    files.write("long.txt", &text(1, 2000));
    files.write("longer.txt", &text(2, 25_000));
    let plain = files.0.path().join("plain");
    let check = |report: Report| {
        plain::ingest(&files.inputs(), &plain, 5);
        assert!(!report.interrupted);
        let (expected, made) = (Corpus::open(&plain).unwrap(), files.corpus());
        let made = Corpus::open(&made).unwrap();
        assert_eq!(made.generation(), expected.generation());
        assert_eq!(made.passage_count(), expected.passage_count());
        assert!(segments(&files.corpus()) == segments(&plain));
        for words in ["w35", "w100 w2000 w90000"] {
            assert_eq!(found(&files.corpus(), words), found(&plain, words));
        }
        report
    };
    let first = check(files.ingest(&FnEmbedder::hashing()).unwrap());
    assert_eq!((first.added, first.replaced, first.unchanged), (3002, 0, 0));
    assert!(first.generation > 3, "{first:?}");

    files.write("long.txt", &text(3, 900));
    let second = check(files.ingest(&FnEmbedder::hashing()).unwrap());
    assert_eq!(
        (second.added, second.replaced, second.unchanged),
        (0, 1, 3001)
    );

    let third = check(files.ingest(&FnEmbedder::hashing()).unwrap());
    assert_eq!(third.unchanged, 3002);
    assert_eq!(third.generation, second.generation);
}

#[test]
fn no_passage_is_longer_than_the_embedder_reads_with_its_title() {
    let files = Files::new(0);
    let long = "a-word-of-some-length";
    let texts = [format!("{long} {long} x y z"), "x y z".to_owned()];
    files.write("two.jsonl", &lines(texts.into_iter().enumerate()));
    let counting = |max: usize| FnEmbedder::hashing().max_tokens(max);
    let passages = |max: usize| {
        let report = files.ingest(&counting(max)).unwrap();
        assert_eq!(report.longer_than_embedder, 0);
        let corpus = Corpus::open(&files.corpus()).unwrap();
        let passages = corpus.passage_count();
        drop(corpus);
        fs::remove_dir_all(files.corpus()).unwrap();
        passages
    };
    assert_eq!(passages(5), 2);
    assert!(passages(4) > 2);
}

#[test]
fn progress_grows_to_the_report() {
    let files = Files::new(2000);
    let mut steps: Vec<Progress> = Vec::new();
    let cancel = AtomicBool::new(false);
    let report = files
        .watched(
            &FnEmbedder::hashing(),
            &mut |step| steps.push(step),
            &cancel,
        )
        .unwrap();
    assert!(steps.len() > 10, "{}", steps.len());
    let ascending = steps.windows(2).all(|pair| {
        pair[0].passages <= pair[1].passages
            && pair[0].documents <= pair[1].documents
            && pair[0].read.bytes_read <= pair[1].read.bytes_read
    });
    assert!(ascending, "{steps:?}");
    let last = steps.last().unwrap();
    assert_eq!((last.documents, last.passages), (2000, report.passages));
    assert_eq!(Some(last.read.bytes_read), last.read.bytes_total);
}

/// Ingests with an error at a document after the first publication, then without.
fn publishes_then_goes_on(expected: &str, trouble: Trouble) {
    let files = Files::new(2000);
    files.write(
        "rest.jsonl",
        &lines([(5000, "a fatal word".to_owned())].into_iter()),
    );
    let error = files.ingest(&troubled(trouble, "fatal")).unwrap_err();
    assert_eq!(error.kind(), expected, "{error}");
    let published = files.published();
    assert!((1..2000).contains(&published), "{published}");
    let report = files.ingest(&FnEmbedder::hashing()).unwrap();
    assert_eq!(report.unchanged, published);
    assert_eq!(report.added, 2001 - published);
    assert_eq!(files.published(), 2001);
}

#[test]
fn a_refused_text_ends_the_run_but_not_what_was_published() {
    publishes_then_goes_on(refusal_kind(), Trouble::Embedding);
}

#[test]
fn an_index_that_cannot_be_written_ends_the_run_but_not_what_was_published() {
    publishes_then_goes_on("vector_not_finite", Trouble::NotFinite);
}

/// The kind of the error of a tokenizer's refusal.
fn refusal_kind() -> &'static str {
    let refusing = troubled(Trouble::Counting, "x");
    refusing.token_spans("x").unwrap_err().kind()
}

#[test]
fn a_text_whose_tokens_cannot_be_counted_ends_the_run() {
    let files = Files::new(10);
    files.write("z.txt", &format!("fatal {}", text(1, 40)));
    let error = files
        .ingest(&troubled(Trouble::Counting, "fatal"))
        .unwrap_err();
    assert_eq!(error.kind(), refusal_kind());
    assert_eq!(files.ingest(&FnEmbedder::hashing()).unwrap().added, 11);
}

#[test]
fn what_cannot_be_read_ends_the_run_behind_what_was_read() {
    let files = Files::new(2000);
    files.write("rest.jsonl", "{\"id\": 1");
    let error = files.ingest(&FnEmbedder::hashing()).unwrap_err();
    assert!(matches!(error, IngestError::Read(_)), "{error}");
    let published = files.published();
    assert!((1..2000).contains(&published), "{published}");

    let repeated = lines([(7, "once more".to_owned())].into_iter());
    files.write("rest.jsonl", &repeated);
    let error = files.ingest(&FnEmbedder::hashing()).unwrap_err();
    assert_eq!(error.kind(), "duplicate_id", "{error}");

    fs::remove_file(files.0.path().join("rest.jsonl")).unwrap();
    assert_eq!(
        files.ingest(&FnEmbedder::hashing()).unwrap().unchanged,
        published
    );
    assert_eq!(files.published(), 2000);
}

#[test]
fn a_stage_that_panics_leaves_nothing_running() {
    for trouble in [Trouble::PanicEmbedding, Trouble::PanicCounting] {
        let files = Files::new(2000);
        files.write(
            "rest.jsonl",
            &lines([(5000, format!("fatal {}", text(1, 40)))].into_iter()),
        );
        let broken = troubled(trouble, "fatal");
        let run = catch_unwind(AssertUnwindSafe(|| files.ingest(&broken).is_ok()));
        assert!(run.is_err(), "{trouble:?}");
        // The lock is free again, and the rest can be ingested.
        let published = files.published();
        assert!(published >= 1, "{published}");
        assert_eq!(
            files.ingest(&FnEmbedder::hashing()).unwrap().unchanged,
            published
        );
        assert_eq!(files.published(), 2001);
    }
}

#[test]
fn a_panic_of_the_caller_leaves_nothing_running() {
    let files = Files::new(2000);
    let cancel = AtomicBool::new(false);
    let embedder = FnEmbedder::hashing();
    let run = catch_unwind(AssertUnwindSafe(|| {
        files
            .watched(&embedder, &mut |_| panic!("told to"), &cancel)
            .is_ok()
    }));
    assert!(run.is_err());
    assert_eq!(files.ingest(&FnEmbedder::hashing()).unwrap().added, 2000);
}

#[test]
fn a_stopped_run_publishes_what_it_has_and_is_gone_on_with() {
    let files = Files::new(2000);
    let cancel = AtomicBool::new(false);
    let mut batches = 0;
    let mut stop = |_| {
        batches += 1;
        cancel.store(batches >= 3, Ordering::Relaxed);
    };
    let report = files
        .watched(&FnEmbedder::hashing(), &mut stop, &cancel)
        .unwrap();
    assert!(report.interrupted);
    assert!((1..2000).contains(&report.added), "{report:?}");
    assert_eq!(files.published(), report.added);
    let rest = files.ingest(&FnEmbedder::hashing()).unwrap();
    assert!(!rest.interrupted);
    assert_eq!(rest.unchanged, report.added);
    assert_eq!(files.published(), 2000);
}

#[test]
fn a_run_that_is_stopped_before_it_begins_publishes_nothing() {
    let files = Files::new(500);
    let report = files
        .watched(&FnEmbedder::hashing(), &mut |_| {}, &AtomicBool::new(true))
        .unwrap();
    assert!(report.interrupted);
    assert_eq!((report.added, files.published()), (0, 0));
}

#[test]
fn a_run_is_stopped_within_a_document() {
    let files = Files::new(0);
    files.write("long.txt", &text(1, 100_000));
    // An embedder that cancels the run while it counts the tokens of a document.
    let (cancel, counted) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (told, seen) = (Arc::clone(&cancel), Arc::clone(&counted));
    let fine = FnEmbedder::hashing();
    let embedder = FnEmbedder::hashing().spans(move |text| {
        seen.fetch_add(1, Ordering::Relaxed);
        told.store(true, Ordering::Relaxed);
        fine.token_spans(text)
    });
    let report = files.watched(&embedder, &mut |_| {}, &cancel).unwrap();
    assert!(report.interrupted);
    assert_eq!((report.added, files.published()), (0, 0));
    assert_eq!(counted.load(Ordering::Relaxed), 1);
    assert_eq!(files.ingest(&FnEmbedder::hashing()).unwrap().added, 1);
}
