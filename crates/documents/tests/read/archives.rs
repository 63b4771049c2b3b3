//! Archives, mailboxes, and other files that hold several documents.

use ken_documents::read_documents;

use crate::files::packages::{docx, paragraph, tar, zip};
use crate::files::packed::gzip;
use crate::{documents_of, error_of, folder, owned};

#[test]
fn files_in_archives_are_read_by_their_own_readers() {
    let word = docx(&paragraph("H2", "Valves"));
    let long = format!("{}/page.html", "deep".repeat(30));
    let inner = zip(&[("x.txt", b"x")]);
    let files: [(&str, &[u8]); 8] = [
        ("a/notes.md", b"# Notes\n\nNoted."),
        ("a/word.docx", &word),
        ("a/records.jsonl", b"{\"id\":\"r1\",\"text\":\"x\"}"),
        (&long, b"<title>Page</title><p>Seen."),
        ("../up.txt.gz", &gzip(b"Up.")),
        ("inner.zip", &inner),
        ("picture.png", b"x"),
        (".hidden/x.txt", b"x"),
    ];
    for (name, contents) in [
        ("f.zip", zip(&files)),
        ("f.tar", tar(&files)),
        ("f.tgz", gzip(&tar(&files))),
    ] {
        let dir = folder(&[(name, &contents)]);
        let mut documents = read_documents(&[dir.path().to_owned()]).unwrap();
        let texts: Vec<(String, String)> = documents
            .by_ref()
            .map(Result::unwrap)
            .map(|document| (document.id, document.title))
            .collect();
        let id = |file: &str| format!("{name}/{file}");
        let expected = [
            (id("a/notes.md"), "Notes"),
            (id("a/word.docx"), "On & on"),
            ("r1".to_owned(), ""),
            (id(&long), "Page"),
            (id("up.txt.gz"), "up"),
        ];
        let expected = expected.map(|(id, title)| (id, title.to_owned()));
        assert_eq!(texts, expected);
        assert_eq!(documents.unread().to_string(), "1 .png, 1 .zip");
        let progress = documents.progress();
        assert_eq!(Some(progress.bytes_read), progress.bytes_total);
    }
}

#[test]
fn a_broken_file_in_an_archive_costs_itself() {
    let files: [(&str, &[u8]); 3] = [("a.txt", b"a"), ("b.docx", b"no"), ("c.txt", b"c")];
    for (name, contents) in [("f.zip", zip(&files)), ("f.tar", tar(&files))] {
        let (kind, message) = error_of(name, &contents);
        assert_eq!(kind, "broken_file");
        assert!(
            message.starts_with(&format!("{name}/b.docx is a broken docx file")),
            "{message}"
        );
    }
    let (kind, message) = error_of("f.tar", &tar(&files)[..1500]);
    assert_eq!(kind, "broken_file", "{message}");
    assert_eq!(error_of("f.zip", &zip(&files)[..100]).0, "broken_file");
}

#[test]
fn files_that_are_not_read_are_counted() {
    let dir = folder(&[
        ("a.txt", b"a"),
        ("pom.xml", b"<project/>"),
        ("package.json", b"{\"name\": \"x\"}"),
        ("b.doc", b"x"),
        ("c/d.doc", b"x"),
    ]);
    let mut documents = read_documents(&[dir.path().to_owned()]).unwrap();
    assert_eq!(documents.by_ref().map(Result::unwrap).count(), 1);
    let unread = documents.unread();
    assert_eq!(unread.to_string(), "2 .doc, 1 .json, 1 .xml");
    assert_eq!(unread.kinds()[0].example, dir.path().join("b.doc"));
}

#[test]
fn arrays_of_records() {
    let records = b" [ {\"id\": 1, \"text\": \"a ] } \\\" b\"},\n{\"id\":\"x\",\"title\":\"T\",\"text\":\"c\"} ] ";
    assert_eq!(
        documents_of("r.json", records),
        owned(&[("1", "", "a ] } \" b", "{}"), ("x", "T", "c", "{}")])
    );
    let lines = b"{\"id\":1,\"text\":\"a\"}\n{\"id\":2,\"text\":\"b\"}\n";
    assert_eq!(documents_of("r.json", lines).len(), 2);
    assert_eq!(documents_of("r.json", b"[]").len(), 0);
    let (kind, message) = error_of("r.json", b"[{\"id\":1,\"text\":\"a\"},\n{\"id\":2}]");
    assert_eq!(kind, "missing_field");
    assert!(message.starts_with("r.json:2: "), "{message}");
    assert_eq!(error_of("r.json", b"{\"a\": 1}").0, "unknown_format");
    assert_eq!(
        error_of("r.json", b"[{\"id\":1,\"text\":\"a\"}").0,
        "broken_file"
    );
}

const MESSAGE: &str = "From: Ito <ito@example.org>\r\nTo: b@example.org\r\nSubject: =?utf-8?q?High_w=C3=A4ter?=\r\n\
    Date: Thu, 29 Feb 2024 10:00:00 +0100\r\nMessage-ID: <m1@example.org>\r\nMIME-Version: 1.0\r\n\
    Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
    Content-Transfer-Encoding: quoted-printable\r\n\r\nIt rises at caf=E9.\r\n--B\r\nContent-Type: application/pdf; name=table.pdf\r\n\
    Content-Disposition: attachment; filename=table.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n--B--\r\n";

#[test]
fn messages_and_mailboxes() {
    let text = "From: Ito <ito@example.org>\nTo: b@example.org\nDate: 2024-02-29T10:00:00+01:00\nSubject: High wäter\n\n\
                It rises at café.\n\nAttachment: table.pdf";
    let metadata = r#"{"from":"Ito <ito@example.org>","to":"b@example.org","date":"2024-02-29T10:00:00+01:00"}"#;
    assert_eq!(
        documents_of("m.eml", MESSAGE.as_bytes()),
        owned(&[("m.eml", "High wäter", text, metadata)])
    );
    let page = "From: a@example.org\nSubject: Page\nContent-Type: text/html\n\n<p>It <b>falls</b>.</p>\n>From here on\n";
    let mailbox = format!(
        "From ito@example.org Thu Feb 29 10:00:00 2024\n{MESSAGE}\nFrom a Thu Feb 29\n{page}\nFrom ito@example.org\n{MESSAGE}"
    );
    let documents = documents_of("m.mbox", mailbox.as_bytes());
    let ids: Vec<&str> = documents
        .iter()
        .map(|document| document.0.as_str())
        .collect();
    assert_eq!(ids, ["m.mbox/m1@example.org", "m.mbox/2", "m.mbox/3"]);
    assert_eq!(documents[0].2, text);
    assert_eq!(
        documents[1].2,
        "From: a@example.org\nSubject: Page\n\nIt falls.\n\nFrom here on"
    );
    assert_eq!(error_of("m.eml", b"\n\nno headers").0, "broken_file");
    let chinese = b"Subject: =?gb2312?B?xOO6ww==?=\nContent-Type: text/plain; charset=gbk\nContent-Transfer-Encoding: base64\n\nxOO6ww==\n";
    let documents = documents_of("m.eml", chinese);
    assert_eq!(documents[0].1, "\u{4f60}\u{597d}");
    assert!(documents[0].2.ends_with("\n\n\u{4f60}\u{597d}"));
}

#[test]
fn texts_and_pages_that_are_attached_are_read() {
    let message = "Subject: a\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/plain\n\nRead them.\n\
                   --B\nContent-Type: text/html; name=p.html\nContent-Disposition: attachment; filename=p.html\n\n<p>It <b>falls</b>.</p>\n\
                   --B\nContent-Type: text/csv; name=t.csv\nContent-Disposition: attachment; filename=t.csv\n\nPump,9\n--B--\n";
    let text = "Subject: a\n\nRead them.\n\nAttachment: p.html\n\nIt falls.\n\nAttachment: t.csv\n\nPump,9";
    assert_eq!(documents_of("m.eml", message.as_bytes())[0].2, text);
}

#[test]
fn files_of_known_kinds_that_are_attached_are_read() {
    let part = |kind: &str, name: &str, hex: &str| {
        format!(
            "--B\nContent-Type: {kind}\nContent-Disposition: attachment{name}\nContent-Transfer-Encoding: quoted-printable\n\n{hex}\n"
        )
    };
    let hex = |bytes: &[u8]| {
        let bytes = bytes.iter().map(|byte| format!("={byte:02X}"));
        bytes.collect::<Vec<_>>().join("=\n")
    };
    let word = hex(&docx(&paragraph("H2", "Pump seven")));
    let parts = [
        part("application/octet-stream", "; filename=w.docx", &word),
        part(
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "",
            &word,
        ),
        part("application/rtf", "; filename=a.rtf", "{\\rtf1 It opens.}"),
        part("application/octet-stream", "; filename=n.md", "It *falls*."),
        part("application/octet-stream", "; filename=w.docx", "no zip"),
        part("application/octet-stream", "; filename=x.bin", "x"),
    ];
    let message = format!(
        "Subject: a\nContent-Type: multipart/mixed; boundary=B\n\n{}--B--\n",
        parts.concat()
    );
    let (kind, pump) = (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "## Pump seven\n\nA note.",
    );
    let text = format!(
        "Subject: a\n\nAttachment: w.docx\n\n{pump}\n\nAttachment: {kind}\n\n{pump}\n\nAttachment: a.rtf\n\nIt opens.\n\n\
         Attachment: n.md\n\nIt falls.\n\nAttachment: w.docx\n\nAttachment: x.bin"
    );
    assert_eq!(documents_of("m.eml", message.as_bytes())[0].2, text);
    let mailbox = format!("From ito@example.org\n{message}");
    assert_eq!(documents_of("m.mbox", mailbox.as_bytes())[0].2, text);
}

#[test]
fn a_message_whose_parts_end_wrongly_loses_no_other() {
    let broken = "From: a\nMessage-ID: <f@g>\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: message/rfc822\n\n\
                  i\n--B\nContent-Type: message/rfc822\n\nSubject: j\n\nk\n--B--\n";
    let mailbox = format!("From a\n{broken}\nFrom ito@example.org\n{MESSAGE}");
    let dir = folder(&[("m.mbox", mailbox.as_bytes())]);
    let read: Vec<_> = read_documents(&[dir.path().to_owned()]).unwrap().collect();
    assert_eq!(read.len(), 2);
    assert_eq!(read[1].as_ref().unwrap().id, "m.mbox/m1@example.org");
    assert_eq!(read.len(), 2);
}

#[test]
fn code_keeps_its_lines() {
    let code = b"fn main() {\n    open(7);\n}\n";
    assert_eq!(
        documents_of("main.rs", code),
        owned(&[("main.rs", "main.rs", "fn main() {\n    open(7);\n}\n", "{}")])
    );
}
