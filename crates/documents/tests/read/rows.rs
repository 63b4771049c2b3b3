//! Tables and lists of records that have no ids or no texts: each row is a document.

use ken_corpus::FieldName;
use ken_documents::{ReadOptions, read_documents, read_documents_with};
use ken_testing::{cases, with};

use crate::encodings::utf16;
use crate::files::table::two_columns;
use crate::{documents_of, error_of, folder, owned, read};

#[test]
fn a_row_tells_its_columns() {
    let file = "name,price,description\nPump,9.50,\"Moves water,\nfast.\"\n\nHose,3.20,\n";
    let full = r#"{"name":"Pump","price":"9.50","description":"Moves water,\nfast."}"#;
    let short = r#"{"name":"Hose","price":"3.20","description":""}"#;
    let text = "name: Pump; price: 9.50; description: Moves water, fast.";
    let expected = [
        ("products.csv:2", "products", text, full),
        (
            "products.csv:5",
            "products",
            "name: Hose; price: 3.20",
            short,
        ),
    ];
    assert_eq!(
        documents_of("products.csv", file.as_bytes()),
        owned(&expected)
    );
    let dir = folder(&[("shop/products.csv", file.as_bytes())]);
    let documents = read(dir.path()).into_iter().map(Result::unwrap);
    let ids: Vec<_> = documents.map(|row| (row.id, row.record)).collect();
    let expected = ["shop/products.csv:2", "shop/products.csv:5"];
    assert_eq!(ids, expected.map(|id| (id.to_owned(), true)));
}

#[test]
fn a_table_is_the_same_however_it_is_written() {
    let wide = utf16(
        "\u{feff}name\tprice\tnote\r\nPump\t9,50\t\"a, \"\"b\"\"\"\r\nHose\t3,20\t\r\n",
        false,
    );
    let quoted = "name;price;note\nPump;9,50;\"a, \"\"b\"\"\"\nHose;3,20;\n";
    for (file, lines) in cases![
        quoted.as_bytes().to_vec() => [2, 3];
        format!("\u{feff}{quoted}").into_bytes() => [2, 3];
        format!("sep=;\r\n{}", quoted.replace('\n', "\r\n")).into_bytes() => [3, 4];
        format!("\u{feff}\"sep=;\"\n{quoted}").into_bytes() => [3, 4];
        quoted.replace('\n', "\r").into_bytes() => [2, 3];
        format!("\r\n\r\n{quoted}").into_bytes() => [4, 5];
        format!("{quoted};;\n ; ;\n").into_bytes() => [2, 3];
        quoted.replace('\n', ";\n").into_bytes() => [2, 3];
        quoted.replace("3,20;", "3,20").into_bytes() => [2, 3];
        wide => [2, 3];
    ] {
        for name in ["c.csv", "c.tsv"] {
            let [first, second] = lines.map(|line| format!("{name}:{line}"));
            let pump = "name: Pump; price: 9,50; note: a, \"b\"";
            let expected = [
                (first, pump.to_owned()),
                (second, "name: Hose; price: 3,20".to_owned()),
            ];
            let rows = documents_of(name, &file).into_iter();
            let rows: Vec<_> = rows.map(|(id, _, text, _)| (id, text)).collect();
            assert_eq!(rows, expected, "{}", String::from_utf8_lossy(&file));
        }
    }
    let known = [("1", "", "a,b", "{}")];
    for file in ["\u{feff}id;text\n1;a,b\n", "sep=;\nid;text\n1;a,b\n"] {
        assert_eq!(documents_of("c.csv", file.as_bytes()), owned(&known));
    }
}

#[test]
fn a_column_with_the_text_stands_below_the_others() {
    for (file, title, text) in cases![
        "Frage;Antwort\nWas, wann?;Nichts.\n" => "c", "Frage: Was, wann?; Antwort: Nichts.";
        "Datum;Text;Betrag\n1.2.;Markt, Ort;9,50\n" => "c", "Datum: 1.2.; Betrag: 9,50\nMarkt, Ort";
        "Datum;Text\n1.2.;\n" => "c", "Datum: 1.2.";
        "title,body\nT,\"x\ny\"\n" => "T", "x\ny";
        "title,year\nT,1999\n" => "T", "year: 1999";
        "content\nx\n" => "", "x";
        "id,name\n7,Pump\n" => "c", "id: 7; name: Pump";
        ",name\n0,Pump\n" => "c", "0; name: Pump";
    ] {
        let rows = documents_of("c.csv", file.as_bytes()).into_iter();
        let rows: Vec<_> = rows.map(|(id, title, text, _)| (id, title, text)).collect();
        let expected = ("c.csv:2".to_owned(), title.to_owned(), text.to_owned());
        assert_eq!(rows, [expected], "{file}");
    }
}

#[test]
fn a_first_row_with_numbers_is_no_header() {
    let expected = [
        (
            "c.csv:1",
            "c",
            "Pump | 9,50 | a",
            r#"{"1":"Pump","2":"9,50","3":"a"}"#,
        ),
        (
            "c.csv:2",
            "c",
            "Hose | b | c | d",
            r#"{"1":"Hose","2":"b","3":"c"}"#,
        ),
    ];
    let file = b"Pump;9,50;a\nHose;b;c;d\n";
    assert_eq!(documents_of("c.csv", file), owned(&expected));
    let rows = documents_of("c.csv", b"name,2023,2024\noil,4,5\n");
    assert_eq!(rows[0].2, "name: oil; 2023: 4; 2024: 5");
}

#[test]
fn columns_of_one_name_keep_their_cells() {
    let metadata = r#"{"name":"Ito","phone":"1","phone (column 3)":"2"}"#;
    let expected = [("c.csv:2", "c", "name: Ito; phone: 1; phone: 2", metadata)];
    let file = b"name,phone,phone\nIto,1,2\n";
    assert_eq!(documents_of("c.csv", file), owned(&expected));
}

#[test]
fn cells_beyond_the_header_are_told() {
    let error = error_of("c.csv", b"name,price\nPump,9\nHose,3,20\nPipe\n");
    let message = "c.csv:3: the record has 3 fields, but the header 2";
    assert_eq!(error, ("field_count".to_owned(), message.to_owned()));
}

#[test]
fn a_long_cell_is_one_row() {
    let file = format!("name;note\nPump;\"{}\"\nHose;x\n", "a,\n".repeat(100_000));
    let rows = documents_of("c.csv", file.as_bytes());
    let expected = format!("name: Pump; note: {}", "a, ".repeat(100_000));
    assert_eq!(rows.len(), 2);
    assert!(rows[0].2 == expected.trim_end());
    assert_eq!(rows[1].0, "c.csv:100003");
}

#[test]
fn a_table_without_rows_has_no_documents() {
    for (file, notices) in cases![
        "name;price" => vec![];
        "sep=;\nname;price\n" => vec![];
        "" => vec!["c.csv has no text"];
        "\n\r\n" => vec!["c.csv has no text"];
    ] {
        let dir = folder(&[("c.csv", file.as_bytes())]);
        let mut documents = read_documents(&[dir.path().to_owned()]).unwrap();
        assert!(documents.next().is_none(), "{file}");
        let place = format!("{}/", dir.path().display());
        let found = documents.notices().take().into_iter();
        let found: Vec<_> = found
            .map(|notice| notice.to_string().replace(&place, ""))
            .collect();
        assert_eq!(found, notices, "{file}");
    }
}

#[test]
fn records_of_json_without_ids_are_rows() {
    let expected = |name: &str, lines: [u64; 2]| {
        let [first, second] = lines.map(|line| format!("{name}:{line}"));
        let text = "name: Pump; size.bar: 9.5; tags: a, b";
        let metadata = r#"{"name":"Pump","size":{"bar":9.5},"tags":["a","b"]}"#;
        owned(&[
            (first.as_str(), "r", text, metadata),
            (second.as_str(), "r", "name: Hose", r#"{"name":"Hose"}"#),
        ])
    };
    let (pump, hose) = (
        r#"{"name":"Pump","size":{"bar":9.5},"tags":["a","b"]}"#,
        r#"{"name":"Hose"}"#,
    );
    for (name, file, lines) in cases![
        "r.json" => format!("[{pump},{hose}]"), [1, 2];
        "r.json" => format!("[\n\n{pump},\n\n{hose}\n]"), [1, 2];
        "r.jsonl" => format!("{pump}\n\n{hose}\n"), [1, 3];
    ] {
        let dir = folder(&[(name, file.as_bytes())]);
        assert_eq!(documents_of(name, file.as_bytes()), expected(name, lines));
        assert_eq!(read(dir.path()).len(), 2);
    }
    // Settings are no table.
    for file in [pump, "[1, 2]", "[{}]"] {
        let dir = folder(&[("r.json", file.as_bytes()), ("t.txt", b"x")]);
        assert_eq!(read(dir.path()).len(), 1, "{file}");
    }
}

#[test]
fn a_list_that_an_object_wraps_is_read_like_an_array() {
    let (pump, hose) = (r#"{"name":"Pump","bar":9}"#, r#"{"name":"Hose","bar":7}"#);
    let rows = |file: &str| -> Vec<(String, String)> {
        let documents = documents_of("r.json", file.as_bytes()).into_iter();
        documents.map(|(id, _, text, _)| (id, text)).collect()
    };
    let expected = [
        ("r.json:1".to_owned(), "name: Pump; bar: 9".to_owned()),
        ("r.json:2".to_owned(), "name: Hose; bar: 7".to_owned()),
    ];
    for file in [
        format!(r#"{{"data": [{pump},{hose}], "count": 2}}"#),
        format!("\u{feff}{{\"results\": {{\"items\":\n[ {pump},\n{hose}]}}}}\n"),
        format!(r#"{{"links": [{{"a": "]"}}], "rows": [{pump},{hose}]}}"#),
    ] {
        assert_eq!(rows(&file), expected, "{file}");
    }
    // Known fields are those of a text.
    let file = br#"{"next": null, "docs": [{"id": "a", "text": "x"}]}"#;
    assert_eq!(documents_of("r.json", file), owned(&[("a", "", "x", "{}")]));
    // A record is none of these, and neither are settings with a short list or several objects.
    let record = r#"{"id":"a","text":"x","by":[{"name":"Ito"},{"name":"Bee"}]}"#;
    assert_eq!(rows(record), [("a".to_owned(), "x".to_owned())]);
    let settings = format!(r#"{{"by":[{pump}],"about":"{}"}}"#, "x".repeat(60));
    let several = format!("{{\"by\":[{pump}]}}\n{{\"by\":[{hose}]}}");
    for file in [settings, several] {
        assert_eq!(error_of("r.json", file.as_bytes()).0, "unknown_format");
    }
}

#[test]
fn errors_in_a_wrapped_list_name_its_lines() {
    let file = b"{\n\"docs\": [\n{\"id\": 1, \"text\": \"a\"},\n{\"id\": 2}]}";
    let (kind, message) = error_of("r.json", file);
    assert_eq!(kind, "missing_field");
    assert!(message.starts_with("r.json:4: "), "{message}");
}

#[test]
fn names_that_are_given_hold() {
    for (given, name, file, expected) in cases![
        &["text=body"][..] => "c.csv", "name,body\nPump,x\n", "c.csv:2||x";
        &["id=nr"] => "c.csv", "nr,name\n7,Pump\n", "7|c|nr: 7; name: Pump";
        &["id="] => "r.json", r#"[{"by":"Ito","text":"x"}]"#, "r.json:1||x";
        &["text=2"] => "c.csv", "7;x\n", "c.csv:1||x";
    ] {
        let dir = folder(&[(name, file.as_bytes())]);
        let names = given.iter().map(|name| name.parse::<FieldName>().unwrap());
        let options = with!(ReadOptions::default(), fields: names.collect());
        let documents = read_documents_with(&[dir.path().to_owned()], options).unwrap();
        let shown: Vec<String> = documents
            .map(Result::unwrap)
            .map(|row| format!("{}|{}|{}", row.id, row.title, row.text))
            .collect();
        assert_eq!(shown, [expected]);
    }
}

#[test]
fn rows_of_parquet_without_ids() {
    let file = two_columns(["name", "text"], &[("a", "x"), ("b", "y")]);
    let expected = [
        ("p.parquet:1", "p", "name: a\nx", r#"{"name":"a"}"#),
        ("p.parquet:2", "p", "name: b\ny", r#"{"name":"b"}"#),
    ];
    assert_eq!(documents_of("p.parquet", &file), owned(&expected));
    let file = two_columns(["id", "words"], &[("a", "x")]);
    let metadata = r#"{"id":"a","words":"x"}"#;
    let expected = [("p.parquet:1", "p", "id: a; words: x", metadata)];
    assert_eq!(documents_of("p.parquet", &file), owned(&expected));
}
