//! Reading documents from real files and folders, good and bad.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod archives;
mod bombs;
mod compressed;
#[cfg(unix)]
mod converters;
mod dumps;
mod encodings;
#[path = "../files/mod.rs"]
mod files;
mod hostile;
mod office;
mod outlines;
mod parquet;
mod pdf;
mod pdf_fonts;
mod pdf_pages;
mod records;
mod rows;
mod separated;
mod slides;
mod stdin;

use std::fs;
use std::path::{Path, PathBuf};

use files::packed::gzip;
use ken_corpus::Document;
use ken_documents::{ReadError, read_documents};
use ken_testing::cases;
use tempfile::TempDir;

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, contents) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }
    dir
}

fn read(path: &Path) -> Vec<Result<Document, ReadError>> {
    read_documents(&[path.to_owned()]).unwrap().collect()
}

/// Id, title, text and metadata of the documents of a file with these contents.
fn documents_of(name: &str, contents: &[u8]) -> Vec<(String, String, String, String)> {
    let dir = folder(&[(name, contents)]);
    read(&dir.path().join(name))
        .into_iter()
        .map(Result::unwrap)
        .map(|d| {
            (
                d.id,
                d.title,
                d.text,
                serde_json::to_string(&d.metadata).unwrap(),
            )
        })
        .collect()
}

/// The text of the only document of a file.
#[track_caller]
fn text_of(name: &str, contents: &[u8]) -> String {
    let documents = documents_of(name, contents);
    assert_eq!(documents.len(), 1);
    documents.into_iter().next().unwrap().2
}

fn owned(expected: &[(&str, &str, &str, &str)]) -> Vec<(String, String, String, String)> {
    expected
        .iter()
        .map(|(id, title, text, metadata)| {
            let text = (*text).to_owned();
            (
                (*id).to_owned(),
                (*title).to_owned(),
                text,
                (*metadata).to_owned(),
            )
        })
        .collect()
}

/// The only error of a file with these contents.
fn error_of(name: &str, contents: &[u8]) -> (String, String) {
    let dir = folder(&[(name, contents)]);
    let mut errors = read(&dir.path().join(name))
        .into_iter()
        .filter_map(Result::err);
    let error = errors.next().unwrap();
    assert!(errors.next().is_none());
    let place = format!("{}/", dir.path().display());
    (
        error.kind().to_owned(),
        error.to_string().replace(&place, ""),
    )
}

#[test]
fn a_folder_is_read_in_order_with_all_formats() {
    let dir = folder(&cases![
        "b.txt" => "\u{feff}Plain text.".as_bytes();
        "a/page.html" => b"<title>Page</title><p>Seen.</p>";
        "a/deep/notes.markdown" => b"# Notes\n\nNoted.";
        "a/records.jsonl.gz" =>
            &gzip(b"{\"id\":\"r1\",\"contents\":\"T\\nx\"}\n\n{\"_id\":\"r2\",\"text\":\"y\"}");
        "c.md.gz" => &gzip(b"No heading.");
        "ignored.doc" => b"x";
        "pom.xml" => b"<project/>";
        ".hidden.txt" => b"hidden";
        ".git/x.txt" => b"hidden";
        "old-corpus/CURRENT" => b"1";
        "old-corpus/passages.jsonl" => b"not for reading";
    ]);
    let records: Vec<(String, String, String, bool)> = read(dir.path())
        .into_iter()
        .map(Result::unwrap)
        .map(|d| (d.id, d.title, d.text, d.record))
        .collect();
    let expected = [
        ("a/deep/notes.markdown", "Notes", "Noted.", false),
        ("a/page.html", "Page", "Seen.", false),
        ("r1", "T", "x", true),
        ("r2", "", "y", true),
        ("b.txt", "b", "Plain text.", false),
        ("c.md.gz", "c", "No heading.", false),
    ];
    let expected = expected.map(|(id, title, text, record)| {
        (id.to_owned(), title.to_owned(), text.to_owned(), record)
    });
    assert_eq!(records, expected);

    let file = read(&dir.path().join("a/page.html"));
    assert_eq!(file[0].as_ref().unwrap().id, "page.html");
}

#[test]
fn progress_counts_bytes_on_disk() {
    let line = "{\"id\":\"#\",\"contents\":\"some words that repeat\"}\n";
    let lines: String = (0..20_000)
        .map(|n| line.replace('#', &n.to_string()))
        .collect();
    let packed = gzip(lines.as_bytes());
    let dir = folder(&[("a.jsonl.gz", &packed), ("b.txt", b"x")]);
    let mut documents = read_documents(&[dir.path().to_owned()]).unwrap();
    let total = packed.len() as u64 + 1;
    assert_eq!(documents.progress().bytes_total, Some(total));
    assert_eq!(documents.progress().bytes_read, 0);
    documents.next().unwrap().unwrap();
    let early = documents.progress().bytes_read;
    assert!(0 < early && early < total, "{early} of {total}");
    assert_eq!(documents.by_ref().count(), 20_000);
    assert_eq!(documents.progress().bytes_read, total);
}

#[test]
fn what_is_given_must_be_there_and_known() {
    let dir = folder(&[("empty/x.doc", b"x"), ("notes.doc", b"x")]);
    for (name, kind) in [
        ("nowhere", "missing_path"),
        ("empty", "no_documents"),
        ("notes.doc", "unknown_format"),
    ] {
        let path: PathBuf = dir.path().join(name);
        let error = read_documents(std::slice::from_ref(&path)).err().unwrap();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(&path.display().to_string()));
        assert!(error.remedy().is_some());
    }
}

#[test]
fn broken_contents_are_told_by_line() {
    let mut records: Vec<u8> = (1..=16)
        .flat_map(|n| format!("{{\"id\":{n},\"contents\":\"x\"}}\n").into_bytes())
        .collect();
    let start = records.len();
    let mut broken = records.clone();
    broken.extend(b"{\"id\":17,\"contents\n{\"id\":18,\"contents\":\"x\"}\n");
    let (kind, message) = error_of("c.jsonl", &broken);
    assert_eq!(kind, "broken_json");
    assert!(
        message.starts_with("c.jsonl:17: broken JSON: "),
        "{message}"
    );

    records.extend(b"{\"id\":\"\xff\"}\n{\"id\":18,\"contents\":\"x\"}\n");
    let (kind, message) = error_of("c.jsonl", &records);
    assert_eq!(kind, "invalid_utf8");
    let expected = format!(
        "c.jsonl:17: invalid UTF-8 at byte {} of the file",
        start + 7
    );
    assert_eq!(message, expected);

    let (_, message) = error_of("t.txt", b"\xc3\xa4\n\xc3\xb6\nab\xc3");
    assert_eq!(message, "t.txt:3: invalid UTF-8 at byte 8 of the file");

    let twice = b"{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"a\",\"text\":\"y\"}";
    let (kind, message) = error_of("c.jsonl", twice);
    assert_eq!(kind, "duplicate_id");
    assert_eq!(message, "c.jsonl:2: the document id \"a\" was read before");
}
