//! Files in encodings other than UTF-8, and files that are not text.

use std::path::Path;

use ken_documents::{Notice, ReadOptions, read_documents_with};
use ken_testing::with;

use crate::files::packed::gzip;
use crate::folder;

/// Texts, errors and notices of a folder.
fn outcome(dir: &Path, encoding: Option<&str>) -> (Vec<String>, Vec<String>) {
    let options =
        with!(ReadOptions::default(), encoding: encoding.map(|name| name.parse().unwrap()));
    let documents = read_documents_with(&[dir.to_owned()], options).unwrap();
    let notices = documents.notices();
    let place = format!("{}/", dir.display());
    let read = documents.map(|document| match document {
        Ok(document) => document.text,
        Err(error) => error.to_string().replace(&place, ""),
    });
    let read = read.collect();
    let kept = notices.take();
    assert!(notices.take().is_empty());
    let kept = kept.iter().map(Notice::to_string);
    (
        read,
        kept.map(|notice| notice.replace(&place, "")).collect(),
    )
}

pub(crate) fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    let bytes = |unit: u16| match big_endian {
        true => unit.to_be_bytes(),
        false => unit.to_le_bytes(),
    };
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn files_of_other_encodings_are_decoded_with_a_notice() {
    let text = "Pump nine opens.\n";
    let marked = utf16(&format!("\u{feff}{text}"), true);
    let latin = b"Gr\xf6\xdfere Br\xfccken f\xfchren \xfcber den Flu\xdf.";
    let table = b"id;text\n9;Gr\xf6\xdfere Br\xfccken f\xfchren \xfcber den Flu\xdf.\n";
    let line = utf16(
        "{\"id\":1,\"text\":\"line\"}\n{\"id\":2,\"text\":\"more\"}\n",
        false,
    );
    let dir = folder(&[
        ("a.txt", &utf16(text, false)),
        ("b.md.gz", &gzip(&marked)),
        ("c.txt", latin),
        ("d.html", b"<meta charset=windows-1253><p>\xe1\xe2\xe3"),
        ("e.csv", table),
        ("f.jsonl", &line),
        ("g.txt", "plain ü".as_bytes()),
    ]);
    let german = "Größere Brücken führen über den Fluß.";
    let (read, told) = outcome(dir.path(), None);
    let pump = "Pump nine opens.";
    assert_eq!(
        read,
        [
            "Pump nine opens.\n",
            pump,
            german,
            "αβγ",
            german,
            "line",
            "more",
            "plain ü"
        ]
    );
    assert_eq!(
        told,
        [
            "a.txt was read as UTF-16LE",
            "b.md.gz was read as UTF-16BE",
            "c.txt was read as windows-1252",
            "d.html was read as windows-1253",
            "e.csv was read as windows-1252",
            "f.jsonl was read as UTF-16LE",
        ]
    );
}

#[test]
fn an_encoding_that_is_given_is_not_guessed() {
    let dir = folder(&[("a.txt", b"\xce\xfc"), ("b.csv", b"id,text\n1,\xce\xfc\n")]);
    let (read, told) = outcome(dir.path(), Some("koi8-r"));
    assert_eq!(read, ["нЭ", "нЭ"]);
    assert!(told.is_empty());
}

#[test]
fn what_is_no_text_is_refused_by_name() {
    let image = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(),
        &[0; 99],
        b"\xff\xd8",
    ]
    .concat();
    let few = [b"log\0".as_slice(), &[b'x'; 200]].concat();
    let page = b"<title>App</title><div id=root></div><script>start();</script>";
    let dir = folder(&[
        ("a.txt", &image),
        ("b.txt", b"next"),
        ("c.txt", &few),
        ("d.html", page),
    ]);
    let (read, told) = outcome(dir.path(), None);
    assert_eq!(read[..2], ["a.txt is no text", "next"]);
    assert!(read[2].starts_with("logxx"), "{}", read[2]);
    assert_eq!(
        told,
        [
            "c.txt was read without its 1 NUL bytes",
            "d.html has no text"
        ]
    );
}
