//! Comma- and tab-separated files, good and bad.

use std::path::Path;

use ken_corpus::FieldName;
use ken_documents::{ReadOptions, read_documents_with};
use ken_testing::{cases, with};
use proptest::prelude::*;

use crate::{documents_of, error_of, folder, owned, read};

/// The ids of the documents that can be read.
fn ids(folder: &Path) -> Vec<String> {
    let documents = read(folder).into_iter().flatten();
    documents.map(|document| document.id).collect()
}

#[test]
fn a_file_of_dpr_passages() {
    let file = "id\ttext\ttitle\n1\t\"The \"\"Ring\"\" of\nbells, e.g.\ttwo\"\t\"A \"\"B\"\"\"\n2\tsaid \"x\", l'eau\t\n";
    let expected = [
        ("1", "A \"B\"", "The \"Ring\" of\nbells, e.g.\ttwo", "{}"),
        ("2", "", "said \"x\", l'eau", "{}"),
    ];
    assert_eq!(
        documents_of("psgs_w100.tsv", file.as_bytes()),
        owned(&expected)
    );
    let dir = folder(&[("p.tsv", file.as_bytes())]);
    assert!(
        read(dir.path())
            .iter()
            .all(|document| document.as_ref().unwrap().record)
    );
}

#[test]
fn other_columns_become_metadata() {
    let file = "\u{feff}year, doc_id ,passage,url\r\n\r\n1999,a,\"x, y\",http://a\r\n,b,z,\r\n";
    let expected = [
        ("a", "", "x, y", r#"{"year":"1999","url":"http://a"}"#),
        ("b", "", "z", r#"{"year":"","url":""}"#),
    ];
    assert_eq!(documents_of("c.csv", file.as_bytes()), owned(&expected));

    let file = b"_id,contents\n7,\"T\nx\"";
    assert_eq!(documents_of("c.csv", file), owned(&[("7", "T", "x", "{}")]));
    assert_eq!(documents_of("c.csv", b"id,text"), []);
}

#[test]
fn a_header_that_names_a_column_twice() {
    let error = error_of("c.tsv", b"id\ttext\turl\turl\n");
    let message = "c.tsv:1: the header names the column \"url\" twice";
    assert_eq!(error, ("column_twice".to_owned(), message.to_owned()));
}

#[test]
fn wrong_records_are_told_by_line_and_passed_over() {
    for (record, kind, message) in cases![
        "b" => "field_count", "c.csv:5: the record has 1 fields, but the header 2";
        "b,x,y" => "field_count", "c.csv:5: the record has 3 fields, but the header 2";
        ",x" => "missing_field", "c.csv:5: the record has no id, _id or doc_id";
        "a,x" => "duplicate_id", "c.csv:5: the document id \"a\" was read before";
    ] {
        // The line break in quotes counts, and so does the empty line.
        let file = format!("id,text\na,\"x\ny\"\n\n{record}\nc,z\n");
        let error = error_of("c.csv", file.as_bytes());
        assert_eq!(error, (kind.to_owned(), message.to_owned()));
        let dir = folder(&[("c.csv", file.as_bytes())]);
        assert_eq!(ids(dir.path()), ["a", "c"]);
    }
    let file = b"id,text\na,\"\xc3\xa4\xc3\xb6\"\nb,\"y\nz\xff\"\nc,z\n";
    let expected = "c.csv:4: invalid UTF-8 at byte 23 of the file";
    assert_eq!(
        error_of("c.csv", file),
        ("invalid_utf8".to_owned(), expected.to_owned())
    );

    let file = b"id,text\na,x\nb,\"y\nc,z\nd,z\n";
    let expected = "c.csv:3: a quote of this record is never closed";
    assert_eq!(
        error_of("c.csv", file),
        ("open_quote".to_owned(), expected.to_owned())
    );
}

#[test]
fn quotes_that_are_never_closed_swallow_no_rows() {
    let rows = "1\talpha\n2\t\"Eight bar\" is high\n3\t\"The gate was shut\n4\tdelta\n5\t\"The lock\" held\n6\tzeta\n";
    let documents = documents_of("c.tsv", format!("id\ttext\n{rows}").as_bytes());
    let texts: Vec<&str> = documents
        .iter()
        .map(|(_, _, text, _)| text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "alpha",
            "\"Eight bar\" is high",
            "\"The gate was shut",
            "delta",
            "\"The lock\" held",
            "zeta"
        ]
    );
    let last = documents_of("c.tsv", b"id\ttext\n1\t\"a\n2\tb\n3\t\"c");
    assert_eq!(last.len(), 3);
    assert_eq!((last[0].2.as_str(), last[2].2.as_str()), ("\"a", "\"c"));

    let file = format!("id,text\n{}", rows.replace('\t', ","));
    let expected = "c.csv:4: a quote of this record is never closed";
    assert_eq!(
        error_of("c.csv", file.as_bytes()),
        ("open_quote".to_owned(), expected.to_owned())
    );
    let dir = folder(&[("c.csv", file.as_bytes())]);
    assert_eq!(ids(dir.path()), ["1", "2", "4", "5", "6"]);

    // Spaces behind a quote, and a quote in the middle, are no breach.
    let file = b"id,text\n1,\"a,b\" \n2,c \"d\" e\n";
    let expected = [("1", "", "a,b", "{}"), ("2", "", "c \"d\" e", "{}")];
    assert_eq!(documents_of("c.csv", file), owned(&expected));
}

#[test]
fn separators_are_found() {
    let expected = [("1", "", "a,b", r#"{"year":"1999"}"#)];
    for file in [
        "id;text;year\n1;a,b;1999\n",
        "id\ttext\tyear\n1\ta,b\t1999\n",
        "\n\"id\"|\"text\"|year\n1|a,b|1999\n",
    ] {
        for name in ["c.csv", "c.tsv"] {
            assert_eq!(
                documents_of(name, file.as_bytes()),
                owned(&expected),
                "{file}"
            );
        }
    }
}

#[test]
fn columns_are_named_by_the_caller() {
    for (given, file, expected) in cases![
        &["text=Answer", "id=nr"][..] => "nr,text,answer\n1,a,b\n", vec!["1|b"];
        &["id="] => "text\nx\n\ny\n", vec!["c.csv:2|x", "c.csv:4|y"];
        &["id=2", "text=3"] => "x;1;a\ny;2;b\n", vec!["1|a", "2|b"];
        &["text=1", "id="] => "a\n\"b\nc\"\n", vec!["c.csv:1|a", "c.csv:2|b\nc"];
        &["text=body"] => "id,text\n1,a\n", vec!["c.csv:1: the header has no column \"body\""];
    ] {
        let dir = folder(&[("c.csv", file.as_bytes())]);
        let names = given.iter().map(|name| name.parse::<FieldName>().unwrap());
        let options = with!(ReadOptions::default(), fields: names.collect());
        let place = format!("{}/", dir.path().display());
        let texts: Vec<String> = read_documents_with(&[dir.path().to_owned()], options)
            .unwrap()
            .map(|document| match document {
                Ok(document) => format!("{}|{}", document.id, document.text),
                Err(error) => error.to_string().replace(&place, ""),
            })
            .collect();
        assert_eq!(texts, expected);
    }
}

/// A field in quotes.
fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_was_written_is_read(fields in prop::collection::vec(("[a-zé\",\t\r\n ]{0,40}", "[a-zé\",\t\r\n語 ]{0,3000}"), 1..8), tabs: bool) {
        let (name, separator) = if tabs { ("c.tsv", "\t") } else { ("c.csv", ",") };
        let mut file = ["id", "title", "text"].join(separator);
        for (n, (title, text)) in fields.iter().enumerate() {
            file += &format!("\n{n}{separator}{}{separator}{}", quoted(title), quoted(text));
        }
        let documents = documents_of(name, file.as_bytes());
        prop_assert_eq!(documents.len(), fields.len());
        for ((_, title, text, _), (given_title, given_text)) in documents.iter().zip(&fields) {
            let is_title_alone = given_text.trim().is_empty() && !given_title.trim().is_empty();
            let expected = if is_title_alone { ("", given_title) } else { (&**given_title, given_text) };
            prop_assert_eq!((&**title, text), expected);
        }
    }
}
