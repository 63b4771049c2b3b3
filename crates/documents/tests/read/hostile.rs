//! Files that exceed the budget of a document: each gives an error that says so, and the files after
//! it are read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ken_corpus::Document;
use ken_documents::{Budget, ReadError, ReadOptions, read_documents_with};
use ken_testing::{cases, with};

use crate::files::hostile::records::{drawing, lines, one_page, zstd_with_window};
use crate::files::packed::{bzip2, gzip, zstd};
use crate::files::pages::{pdf, stream};
use crate::files::table::two_columns;
use crate::{folder, read};

pub(crate) const SMALL: u64 = 64 << 10;

pub(crate) fn read_within(bytes: u64, path: &Path) -> Vec<Result<Document, ReadError>> {
    let options = with!(ReadOptions::default(), budget: Budget { document_bytes: bytes });
    read_documents_with(&[path.to_owned()], options)
        .unwrap()
        .collect()
}

/// The ids of the documents of a file, and the kinds and places of its errors.
fn outcome(bytes: u64, name: &str, contents: &[u8]) -> Vec<String> {
    let dir = folder(&[(name, contents)]);
    let place = format!("{}/", dir.path().display());
    let reported = |error: ReadError| {
        assert!(error.remedy().is_some(), "{error}");
        let message = error.to_string().replace(&place, "");
        let place = message.split(": ").next().unwrap_or_default();
        format!("{} at {place}", error.kind())
    };
    read_within(bytes, &dir.path().join(name))
        .into_iter()
        .map(|read| read.map_or_else(reported, |document| document.id))
        .collect()
}

#[test]
fn a_document_that_is_too_large_is_left_out_alone() {
    let long = "x".repeat(SMALL as usize);
    let three = |before: &str, row: &dyn Fn(&str, &str) -> String, after: &str| {
        let rows = [row("a", "x"), row("b", &long), row("c", "x")];
        format!("{before}{}{after}", rows.concat()).into_bytes()
    };
    let records = three(
        "",
        &|id, text| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n"),
        "",
    );
    for (name, contents) in [
        ("c.jsonl", records.clone()),
        ("c.jsonl.gz", gzip(&records)),
        ("c.jsonl.zst", zstd(&records)),
        ("c.jsonl.bz2", bzip2(&records)),
    ] {
        let error = format!("document_too_large at {name}:2");
        assert_eq!(outcome(SMALL, name, &contents), ["a", &error, "c"]);
    }
    let records = three("id,text\n", &|id, text| format!("{id},\"{text}\n\"\n"), "");
    assert_eq!(
        outcome(SMALL, "c.csv", &records),
        ["a", "document_too_large at c.csv:4", "c"]
    );
    let page = |id: &str, text: &str| {
        format!("<page><ns>0</ns><id>{id}</id><revision><text>{text}</text></revision></page>\n")
    };
    let pages = three("<mediawiki>\n", &page, "</mediawiki>");
    assert_eq!(
        outcome(SMALL, "d.xml", &pages),
        ["a", "document_too_large at d.xml:3", "c"]
    );
    let rows = [("a", "x"), ("b", long.as_str()), ("c", "x")];
    let rows = two_columns(["id", "text"], &rows);
    // A page of the file holds all three rows.
    assert_eq!(
        outcome(SMALL, "c.parquet", &rows),
        ["document_too_large at c.parquet"]
    );
    for name in ["t.txt", "t.md", "t.html", "p.pdf"] {
        let dir = folder(&[(name, format!("{long}.").as_bytes()), ("u.txt", b"x")]);
        let outcomes = read_within(SMALL, dir.path());
        assert_eq!(outcomes.len(), 2);
        let error = outcomes[0].as_ref().unwrap_err();
        assert_eq!(error.kind(), "document_too_large", "{name}");
        assert_eq!(outcomes[1].as_ref().unwrap().id, "u.txt");
    }
}

#[test]
fn a_page_that_is_too_large_loses_no_other_one() {
    let page = |id: u32, bytes: usize| {
        let text = "x".repeat(bytes);
        format!("<page><ns>0</ns><id>{id}</id><revision><text>{text}</text></revision></page>")
    };
    // The budget ends at every place of a page's end and of the next one's start.
    let frame = page(1, 0).len();
    for over in 0..frame + 20 {
        let bytes = SMALL as usize - frame + over;
        let pages = format!(
            "<mediawiki>{}{}{}</mediawiki>",
            page(1, bytes),
            page(2, 9),
            page(3, 9)
        );
        let outcomes = outcome(SMALL, "d.xml", pages.as_bytes());
        assert_eq!(
            outcomes[outcomes.len() - 2..],
            ["2", "3"],
            "{over}: {outcomes:?}"
        );
    }
}

#[test]
fn what_has_no_end_ends_its_file() {
    let end = |name: &str| vec![format!("document_too_large at {name}")];
    let much = 17 * SMALL as usize;
    assert_eq!(
        outcome(SMALL, "c.jsonl", &vec![b'x'; much + 9]),
        end("c.jsonl:1")
    );
    assert_eq!(
        outcome(
            SMALL,
            "c.csv",
            &["id,text\na,\"".as_bytes(), &vec![b'x'; much]].concat()
        ),
        end("c.csv:2")
    );
    let page = one_page(&"x".repeat(much));
    assert_eq!(outcome(SMALL, "d.xml", page.as_bytes()), end("d.xml:1"));
    for (name, record) in [("c.jsonl", "{\"id\":1,\"text\":\"x\"}"), ("c.csv", "1,x\n")] {
        let head = if name == "c.csv" { "id,text\n" } else { "" };
        let blank = "\n".repeat(much);
        let outcomes = outcome(SMALL, name, format!("{head}{blank}{record}").as_bytes());
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        assert!(
            outcomes[0].starts_with("document_too_large at"),
            "{outcomes:?}"
        );
    }
}

#[test]
fn a_window_of_zstandard_is_bounded() {
    let file = zstd_with_window(1 << 20, 31);
    assert!(file.len() < 4096);
    assert_eq!(
        outcome(Budget::DEFAULT_DOCUMENT_BYTES, "z.txt.zst", &file),
        ["window_too_large at z.txt.zst is compressed with a window of more than 134217728 bytes"]
    );
    assert_eq!(outcome(1 << 30, "z.txt.zst", &file), ["z.txt.zst"]);
    let usual = zstd_with_window(1 << 20, 27);
    assert_eq!(
        outcome(Budget::DEFAULT_DOCUMENT_BYTES, "z.txt.zst", &usual),
        ["z.txt.zst"]
    );
}

#[test]
fn many_parts_and_deep_ones_are_refused() {
    let before_a_good_one = |value: &str| {
        format!("{{\"id\":1,\"text\":\"x\",\"a\":{value}}}\n{{\"id\":2,\"text\":\"x\"}}\n")
    };
    let values = format!("[{}0]", "0,".repeat(2000));
    for (name, contents, expected) in cases![
        "c.jsonl" => before_a_good_one(&values), &["too_many_parts at c.jsonl:1", "2"][..];
        "c.jsonl" => before_a_good_one(&"[".repeat(500)), &["broken_json at c.jsonl:1", "2"];
        "c.jsonl" => format!("{{\"id\":1,\"text\":\"{}\"}}\n", "a, [\\\"".repeat(2000)), &["1"];
        "c.csv" => format!("id,text\n1,x{}\n2,x\n", ",".repeat(2000)), &["too_many_parts at c.csv:2", "2"];
        "t.md" => format!("---\nk:\n{}---\ntext", "- a\n".repeat(2000)), &["too_many_parts at t.md"];
        "t.md" => format!("{}x", "> ".repeat(200)), &["too_deep at t.md"];
    ] {
        assert_eq!(outcome(SMALL, name, contents.as_bytes()), expected);
    }
    let words = drawing(&"0 ".repeat(6000), "");
    assert_eq!(outcome(SMALL, "p.pdf", &words), ["too_many_parts at p.pdf"]);
}

/// A Parquet file of a footer only.
fn footer(footer: &[u8]) -> Vec<u8> {
    let mut file = b"PAR1".to_vec();
    file.extend(footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}

/// The number of a schema's elements, in Thrift's compact protocol.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The footer of a file whose schema is a chain of nested groups.
fn chain(depth: u64) -> Vec<u8> {
    // Version 1, then a list of structures.
    let mut bytes = vec![0x15, 0x02, 0x19, 0xfc];
    bytes.extend(varint(depth + 1));
    for _ in 0..depth {
        // Required, named "a", one child.
        bytes.extend([0x35, 0x00, 0x18, 0x01, b'a', 0x15, 0x02, 0x00]);
    }
    // A leaf of bytes.
    bytes.extend([0x15, 0x0c, 0x25, 0x00, 0x18, 0x01, b'a', 0x00]);
    // No rows in no groups.
    bytes.extend([0x16, 0x00, 0x19, 0x0c, 0x00]);
    bytes
}

#[test]
fn what_parquet_claims_is_held_against_the_file() {
    let all = Budget::DEFAULT_DOCUMENT_BYTES;
    assert_eq!(
        outcome(all, "p.parquet", &footer(&chain(100_000))),
        ["too_deep at p.parquet"]
    );
    assert_eq!(outcome(all, "p.parquet", &footer(&chain(3))), [""; 0]);
    let claiming =
        |before: &[u8], number: u64, after: &[u8]| [before, &varint(number), after].concat();
    for (what, claim) in cases![
        "children" => claiming(&[0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, b'a', 0x15], u64::from(u32::MAX) - 1, &[0, 0]);
        "elements" => claiming(&[0x15, 0x02, 0x19, 0xfc], u64::from(u32::MAX >> 1), &[0; 40]);
        "key values" => claiming(&[0x59, 0xfc], 1 << 40, &[0; 40]);
        "bytes" => claiming(&[0x68], u64::MAX, &[0; 40]);
        "nothing" => Vec::new();
    ] {
        let outcomes = outcome(all, "p.parquet", &footer(&claim));
        assert_eq!(outcomes, ["broken_parquet at p.parquet"], "{what}");
    }
    let mut long = footer(&[0; 40]);
    let at = long.len() - 8;
    long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(
        outcome(all, "p.parquet", &long),
        ["document_too_large at p.parquet"]
    );
}

#[test]
fn a_form_that_is_drawn_often_costs_its_budget_and_no_more() {
    let text = "BT /F 12 Tf 72 700 Td (a) Tj ET ";
    let form = "q Q ".repeat(1000);
    let often = drawing(&format!("{text}{}", "/Form Do ".repeat(500)), &form);
    assert_eq!(outcome(SMALL, "p.pdf", &often), ["too_much_work at p.pdf"]);
    assert_eq!(outcome(2 << 20, "p.pdf", &often), ["p.pdf"]);
    // More than the 2,000 that a page could draw at all once.
    let many = drawing(&format!("{}{text}", "/Form Do ".repeat(3000)), "q Q");
    assert_eq!(outcome(1 << 20, "p.pdf", &many), ["p.pdf"]);
}

#[test]
fn streams_of_objects_that_unpack_to_too_many_are_refused() {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"9 0 ").unwrap();
    encoder.write_all(&b"[0 ".repeat(1 << 20)).unwrap();
    let packed = encoder.finish().unwrap();
    let mut file = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [] /Count 0 >>".to_owned(),
        stream(
            &format!(
                "/Type /Obj#53tm /N 1 /First 4 /Filter /FlateDecode /Pad ({})",
                "p".repeat(packed.len())
            ),
            "",
        ),
    ]);
    // The stream's bytes are no text, so they take the place of as many others.
    let text = format!("/Pad ({})", "p".repeat(packed.len()));
    let place = |file: &[u8], text: &str| {
        let mut windows = file.windows(text.len());
        let at = windows
            .position(|window| window == text.as_bytes())
            .unwrap();
        at..at + text.len()
    };
    let spaces = " ".repeat(text.len() - packed.len());
    file.splice(place(&file, &text), spaces.bytes());
    let number = format!("/Length {}", packed.len());
    file.splice(place(&file, "/Length 0"), number.bytes());
    let end = place(&file, "stream\n\n").end - 1;
    file.splice(end..end, packed);
    assert_eq!(
        outcome(8 << 20, "p.pdf", &file),
        ["too_many_parts at p.pdf"]
    );
}

/// How long the reading of a folder continues after it is stopped.
fn stopped_within(name: &str, contents: &[u8]) -> Duration {
    let dir = folder(&[(name, contents)]);
    let stop = Arc::new(AtomicBool::new(false));
    let budget = Budget {
        document_bytes: 1 << 40,
    };
    let options = with!(ReadOptions::default(), budget: budget, stop: Arc::clone(&stop));
    let documents = read_documents_with(&[dir.path().to_owned()], options).unwrap();
    thread::scope(|scope| {
        let reader = scope.spawn(move || documents.filter_map(Result::err).last());
        thread::sleep(Duration::from_millis(200));
        let begun = Instant::now();
        stop.store(true, Ordering::Relaxed);
        let last = reader.join().unwrap();
        // Documents read before the stop are complete.
        assert!(last.is_none_or(|error| error.kind() == "stopped"), "{name}");
        begun.elapsed()
    })
}

#[test]
fn reading_stops_within_a_document() {
    let form = "q Q ".repeat(250_000);
    let often = drawing(&"/Form Do ".repeat(100_000), &form);
    let bomb = gzip(&vec![b'x'; 64 << 20]).repeat(200);
    for (name, contents) in [
        ("p.pdf", often),
        ("b.jsonl.gz", bomb.clone()),
        ("b.txt.gz", bomb),
        ("l.jsonl", lines(32 << 20, "x")),
        ("s.html", "<svg></p>".repeat(4 << 20).into()),
    ] {
        let taken = stopped_within(name, &contents);
        assert!(taken < Duration::from_secs(2), "{name}: {taken:?}");
    }
}

#[test]
fn a_stopped_reading_says_so_and_nothing_else() {
    let dir = folder(&[("t.txt", b"x")]);
    let options = with!(ReadOptions::default(), stop: Arc::new(AtomicBool::new(true)));
    let mut documents = read_documents_with(&[dir.path().to_owned()], options).unwrap();
    assert_eq!(documents.next().unwrap().unwrap_err().kind(), "stopped");
    assert_eq!(read(dir.path()).len(), 1);
}

/// Found by fuzzing: a header claims more than the file holds, and the decoder skips it byte by byte.
#[test]
fn what_is_skipped_past_the_end_of_a_file_costs_no_steps() {
    let claims = include_bytes!("skips_past_the_end.parquet");
    let started = Instant::now();
    let outcomes = outcome(Budget::DEFAULT_DOCUMENT_BYTES, "p.parquet", claims);
    assert_eq!(outcomes, ["broken_parquet at p.parquet, row 1"]);
    // It took a minute.
    assert!(started.elapsed() < Duration::from_secs(10));
}
