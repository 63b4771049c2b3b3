//! Files that other programs read.

use std::fs;
use std::path::Path;

use ken_corpus::Document;
use ken_documents::{Budget, Converters, ReadError, ReadOptions, read_documents_with};
use ken_testing::cases;

use crate::folder;

fn converted(
    root: &Path,
    converter: &str,
    kept: Option<&Path>,
) -> Vec<Result<Document, ReadError>> {
    let options = ReadOptions {
        converters: Converters {
            converters: vec![converter.parse().unwrap()],
            kept: kept.map(Path::to_owned),
        },
        budget: Budget {
            document_bytes: 10_000,
        },
        ..ReadOptions::default()
    };
    read_documents_with(&[root.to_owned()], options)
        .unwrap()
        .collect()
}

#[test]
fn a_command_reads_files_of_its_names_only() {
    let dir = folder(&[
        ("scan.png", b"Pump nine"),
        ("deep/a b;c.png", b"Pump ten"),
        ("plain.txt", b"Pump eleven"),
        ("other.gif", b"no text"),
    ]);
    let documents = converted(dir.path(), "*.png=sed 's/^/- /' {} | tr -d ';'", None);
    let texts: Vec<(String, String)> = documents
        .into_iter()
        .map(|document| {
            document
                .map(|document| (document.id, document.text))
                .unwrap()
        })
        .collect();
    let owned = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    assert_eq!(
        texts,
        [
            owned("deep/a b;c.png", "Pump ten"),
            owned("plain.txt", "Pump eleven"),
            owned("scan.png", "Pump nine"),
        ]
    );
}

#[test]
fn a_path_is_one_argument_in_quotes_or_without() {
    let dir = folder(&[("a b$(x);.png", b"Pump")]);
    for converter in ["*.png=cat {}", "*.png=cat \"{}\"", "*.png=cat '{}'"] {
        let document = converted(dir.path(), converter, None).remove(0);
        assert_eq!(document.unwrap().text, "Pump", "{converter}");
    }
}

#[test]
fn what_a_command_wrote_is_kept_by_the_contents() {
    let dir = folder(&[("docs/scan.png", b"Pump nine"), ("runs", b"")]);
    let script = dir.path().join("convert.sh");
    let runs = dir.path().join("runs");
    fs::write(
        &script,
        format!("echo x >> '{}'; cat \"$1\"\n", runs.display()),
    )
    .unwrap();
    let converter = format!("*.png=sh '{}' {{}}", script.display());
    let kept = dir.path().join("kept");
    let docs = dir.path().join("docs");
    let text = || {
        converted(&docs, &converter, Some(&kept))
            .remove(0)
            .unwrap()
            .text
    };
    assert_eq!(
        (text(), text()),
        ("Pump nine".to_owned(), "Pump nine".to_owned())
    );
    assert_eq!(fs::read_to_string(&runs).unwrap(), "x\n");
    fs::write(docs.join("scan.png"), "Pump ten").unwrap();
    assert_eq!(text(), "Pump ten");
    assert_eq!(fs::read_to_string(&runs).unwrap(), "x\nx\n");
}

#[test]
fn a_command_that_fails_costs_its_file() {
    let dir = folder(&[("a.png", b"\xff\xfe"), ("b.txt", b"Pump")]);
    for (converter, kind, told) in cases![
        "*.png=test -e {}; exit 3" => "converter_failed", "could not be converted";
        "*.png=no-such-program-here {}" => "converter_failed", "no-such-program-here";
        "*.png=cat {}" => "converter_failed", "no UTF-8";
        "*.png=yes {} | head -c 20000" => "document_too_large", "a.png";
    ] {
        let documents = converted(dir.path(), converter, None);
        let error = documents[0].as_ref().unwrap_err();
        assert_eq!(error.kind(), kind, "{converter}: {error}");
        assert!(error.to_string().contains(told), "{error}");
        assert_eq!(documents[1].as_ref().unwrap().text, "Pump");
    }
}
