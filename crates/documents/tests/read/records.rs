//! Records that do not come from a file.

use ken_corpus::FieldName;
use ken_documents::{Budget, ReadError, ReadOptions, read_records};
use ken_testing::with;

fn read(lines: &[&str], options: ReadOptions) -> Vec<Result<String, String>> {
    let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    let documents = read_records(lines.into_iter(), options);
    let shown = |error: ReadError| error.to_string();
    documents
        .map(|document| {
            document.map(|record| format!("{}|{}|{}", record.id, record.title, record.text))
        })
        .map(|document| document.map_err(shown))
        .collect()
}

#[test]
fn records_are_read_like_lines_of_a_file() {
    let lines = [
        r#"{"id": "a", "title": "T", "text": "One."}"#,
        r#"{"id": 7, "contents": "Two."}"#,
    ];
    let expected = [Ok("a|T|One.".to_owned()), Ok("7||Two.".to_owned())];
    assert_eq!(read(&lines, ReadOptions::default()), expected);
}

#[test]
fn an_error_names_the_record_and_the_next_one_is_read() {
    let lines = [
        "{",
        r#"{"id": "a", "text": "x"}"#,
        r#"{"id": "a", "text": "y"}"#,
    ];
    let [broken, good, twice] = &read(&lines, ReadOptions::default())[..] else {
        panic!("there are three records");
    };
    assert!(
        broken
            .as_ref()
            .unwrap_err()
            .starts_with("records, row 1: broken JSON")
    );
    assert_eq!(good, &Ok("a||x".to_owned()));
    assert!(twice.as_ref().unwrap_err().starts_with("records, row 3: "));
}

#[test]
fn options_hold_for_records() {
    let fields = ["id=", "text=body"].map(|field| field.parse::<FieldName>().unwrap());
    let options = with!(ReadOptions::default(), fields: fields.into_iter().collect(),
        budget: Budget { document_bytes: 20 });
    let long = format!(r#"{{"body": "{}"}}"#, "x".repeat(30));
    let [good, large] = &read(&[r#"{"body": "x"}"#, &long], options)[..] else {
        panic!("there are two records");
    };
    assert_eq!(good, &Ok("records:1||x".to_owned()));
    assert!(large.is_err());
}

#[test]
fn given_metadata_join_a_documents_own_and_win() {
    let given = serde_json::from_str(r#"{"year": 2020, "team": "north"}"#).unwrap();
    let options = with!(ReadOptions::default(), metadata: given);
    let line = r#"{"id": "a", "text": "x", "year": 1999, "town": "Quillby"}"#.to_owned();
    let mut documents = read_records(std::iter::once(line), options);
    let metadata = documents.next().unwrap().unwrap().metadata;
    let expected = r#"{"year": 2020, "town": "Quillby", "team": "north"}"#;
    assert_eq!(metadata, serde_json::from_str(expected).unwrap());
}
