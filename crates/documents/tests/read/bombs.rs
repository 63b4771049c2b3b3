//! Packages, archives and messages that exceed the budget: each gives its own error, and costs no other file.

use ken_documents::ReadError;
use ken_testing::cases;

use crate::files::packages::{docx, odf, package, paragraph, tar, xlsx, zip};
use crate::files::packed::gzip;
use crate::folder;
use crate::hostile::{SMALL, read_within};

/// The ids of the documents of a file within a small budget, and the kinds and messages of its errors.
fn outcome(name: &str, contents: &[u8]) -> (Vec<String>, Vec<String>) {
    let dir = folder(&[(name, contents)]);
    let place = format!("{}/", dir.path().display());
    let mut messages = Vec::new();
    let mut reported = |error: ReadError| {
        assert!(error.remedy().is_some(), "{error}");
        messages.push(error.to_string().replace(&place, ""));
        error.kind().to_owned()
    };
    let found = read_within(SMALL, &dir.path().join(name))
        .into_iter()
        .map(|read| read.map_or_else(&mut reported, |document| document.id))
        .collect();
    (found, messages)
}

fn zeros(bytes: u64) -> Vec<u8> {
    vec![b'0'; bytes as usize]
}

#[test]
fn a_file_that_expands_costs_itself() {
    let large = zeros(SMALL + 1);
    let files: [(&str, &[u8]); 3] = [("a.txt", b"a"), ("b.txt", &large), ("c.txt", b"c")];
    for (name, contents) in [
        ("f.zip", zip(&files)),
        ("f.tar", tar(&files)),
        ("f.tar.gz", gzip(&tar(&files))),
    ] {
        let (found, messages) = outcome(name, &contents);
        let id = |file: &str| format!("{name}/{file}");
        assert_eq!(
            found,
            [id("a.txt"), "document_too_large".to_owned(), id("c.txt")]
        );
        let expected = format!("{name}/b.txt: the document has more than 65536 bytes");
        assert_eq!(messages, [expected]);
    }
}

#[test]
fn an_archive_that_expands_without_end_ends() {
    let member = zeros(SMALL - 100);
    let names: Vec<String> = (0..40).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), &member[..]))
        .collect();
    let (found, messages) = outcome("f.zip", &zip(&files));
    assert_eq!(found.len(), 17);
    assert_eq!(found[16], "archive_too_large");
    let expected = format!(
        "f.zip holds more than {} bytes after decompression",
        16 * SMALL
    );
    assert_eq!(messages, [expected]);
    // An entry that is not read is skipped, up to a bound.
    let much = zeros(17 * SMALL);
    let packed = gzip(&tar(&[("a.png", &much), ("b.txt", b"b")]));
    assert_eq!(outcome("f.tar.gz", &packed).0, ["document_too_large"]);
    let some = zeros(15 * SMALL);
    let packed = gzip(&tar(&[("a.png", &some), ("b.txt", b"b")]));
    assert_eq!(outcome("f.tar.gz", &packed).0, ["f.tar.gz/b.txt"]);
}

#[test]
fn parts_that_expand_are_refused() {
    let body = paragraph("", &"0".repeat(SMALL as usize));
    let (found, messages) = outcome("w.docx", &docx(&body));
    assert_eq!(found, ["document_too_large"]);
    let expected = "w.docx/word/document.xml: the document has more than 65536 bytes";
    assert_eq!(messages, [expected]);
    let chapters = "<itemref idref=\"a\"/>".repeat(100);
    let chapter = format!("<p>{}", " ".repeat(SMALL as usize / 4));
    let book = package(&cases![
        "META-INF/container.xml" => "<c><rootfile full-path=\"b.opf\"/></c>";
        "b.opf" => &format!("<p><item id=\"a\" href=\"a.html\"/>{chapters}</p>");
        "a.html" => &chapter;
    ]);
    assert_eq!(outcome("b.epub", &book).0, ["archive_too_large"]);
    // Each entry of a directory takes memory, even if it is not read.
    let names: Vec<String> = (0..1500).map(|number| format!("{number}.png")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let (found, messages) = outcome("f.zip", &zip(&files));
    assert_eq!(found, ["archive_too_large"]);
    assert!(messages[0].contains("bytes of directory"), "{messages:?}");
}

#[test]
fn texts_that_are_repeated_count_each_time() {
    let label = "l".repeat(1000);
    let cell = format!("<c t=\"inlineStr\"><is><t>{label}</t></is></c>");
    let shared = "<c t=\"s\"><v>1</v></c>".repeat(2000);
    let sheet = format!("<row>{cell}{cell}</row><row>{shared}</row>");
    assert_eq!(outcome("b.xlsx", &xlsx(&sheet)).0, ["b.xlsx"]);
    let repeated = format!(
        "<o:spreadsheet><t:table><t:table-row t:number-rows-repeated=\"900\"><t:table-cell t:number-columns-repeated=\"900\"><p>{label}</p>\
         </t:table-cell></t:table-row></t:table></o:spreadsheet>"
    );
    assert_eq!(outcome("s.ods", &odf(&repeated)).0, ["document_too_large"]);
    let rows = "<t:table-row t:number-rows-repeated=\"1000\"><t:table-cell><p>ab</p></t:table-cell></t:table-row>".repeat(100);
    let rows = format!("<o:spreadsheet><t:table>{rows}</t:table></o:spreadsheet>");
    assert_eq!(outcome("s.ods", &odf(&rows)).0, ["too_many_parts"]);
}

#[test]
fn depth_is_bounded() {
    let deep = "<w:p>".repeat(200);
    assert_eq!(outcome("w.docx", &docx(&deep)).0, ["too_deep"]);
    let groups = format!("{{\\rtf1 {}", "{".repeat(200));
    assert_eq!(outcome("t.rtf", groups.as_bytes()).0, ["too_deep"]);
    let inner = "Content-Type: message/rfc822\n\n".repeat(600);
    assert_eq!(outcome("m.eml", inner.as_bytes()).0, ["too_many_parts"]);
    let people = format!("Subject: a\nTo: {}\n\nb", "a@b,".repeat(2000));
    assert_eq!(outcome("m.eml", people.as_bytes()).0, ["too_many_parts"]);
}

#[test]
fn a_message_or_record_that_is_too_large_is_left_out_alone() {
    let large = "x".repeat(SMALL as usize);
    for text in [large.clone(), "x\n".repeat(SMALL as usize)] {
        let mailbox = format!(
            "From a\nSubject: a\n\na\n\nFrom b\nSubject: b\n\n{text}\n\nFrom c\nSubject: c\n\nc\n"
        );
        let (found, messages) = outcome("m.mbox", mailbox.as_bytes());
        assert_eq!(found, ["m.mbox/1", "document_too_large", "m.mbox/2"]);
        assert_eq!(
            messages,
            ["m.mbox:6: the document has more than 65536 bytes"]
        );
    }
    let records = format!(
        "[{{\"id\":\"a\",\"text\":\"x\"}},\n{{\"id\":\"b\",\"text\":\"{large}\"}},\n{{\"id\":\"c\",\"text\":\"x\"}}]"
    );
    let (found, messages) = outcome("r.json", records.as_bytes());
    assert_eq!(found, ["a", "document_too_large", "c"]);
    assert_eq!(
        messages,
        ["r.json:2: the document has more than 65536 bytes"]
    );
}
