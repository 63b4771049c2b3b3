//! JSON Lines: one record a line.

use serde_json::{Map, Value};

use super::documents::Record;
use super::error::ReadError;
use super::fields;
use super::place::Place;
use super::source::Source;
use crate::document::Document;

/// The records of a file. After a broken line it goes on with the next one.
pub(super) fn records(
    mut source: Source,
) -> impl Iterator<Item = Result<Record, ReadError>> + Send {
    let mut ended = false;
    std::iter::from_fn(move || {
        while !ended {
            match source.next_line() {
                Ok(None) => ended = true,
                Ok(Some((_, text))) if text.trim().is_empty() => {}
                Ok(Some((line, text))) => {
                    let place = source.name.line(line);
                    return Some(
                        document(&text, &place).map(|document| Record { document, place }),
                    );
                }
                Err(error) => {
                    ended = !matches!(error, ReadError::InvalidUtf8 { .. });
                    return Some(Err(error));
                }
            }
        }
        None
    })
}

fn document(line: &str, place: &Place) -> Result<Document, ReadError> {
    let fields: Map<String, Value> =
        serde_json::from_str(line).map_err(|source| ReadError::BrokenJson {
            place: place.clone(),
            source,
        })?;
    fields::document(fields, place)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(line: &str) -> Result<Document, ReadError> {
        document(line, &Place::line(Path::new("c.jsonl"), 17))
    }

    #[track_caller]
    fn check(line: &str, id: &str, title: &str, text: &str, metadata: &str) {
        let document = read(line).unwrap();
        assert!(document.record);
        assert_eq!(
            (
                document.id.as_str(),
                document.title.as_str(),
                document.text.as_str()
            ),
            (id, title, text)
        );
        assert_eq!(Value::from(document.metadata).to_string(), metadata);
    }

    #[test]
    fn the_known_shapes() {
        check(
            r#"{"id":"a","contents":"\"T\"\nfirst\nsecond"}"#,
            "a",
            "T",
            "first\nsecond",
            "{}",
        );
        check(
            r#"{"id":7,"contents":"one line"}"#,
            "7",
            "",
            "one line",
            "{}",
        );
        check(
            r#"{"id":"a","title":"T","contents":"x\ny"}"#,
            "a",
            "T",
            "x\ny",
            "{}",
        );
        check(
            r#"{"id":"a","title":"T","contents":"\"T\"\ny"}"#,
            "a",
            "T",
            "y",
            "{}",
        );
        check(
            r#"{"_id":"b","title":"","text":"x\ny","metadata":{"url":"u"},"n":1}"#,
            "b",
            "",
            "x\ny",
            r#"{"n":1,"url":"u"}"#,
        );
        check(r#"{"id":"c","title":null,"text":"x"}"#, "c", "", "x", "{}");
    }

    #[test]
    fn errors_name_the_line() {
        for (line, kind, message) in [
            ("{\"id\":", "broken_json", "c.jsonl:17: broken JSON: "),
            ("[1]", "broken_json", "c.jsonl:17: broken JSON: "),
            (
                r#"{"contents":"x"}"#,
                "missing_field",
                "c.jsonl:17: the record has no id, _id or doc_id",
            ),
            (
                r#"{"id":"","contents":"x"}"#,
                "missing_field",
                "c.jsonl:17: the record has no id",
            ),
            (
                r#"{"id":"a"}"#,
                "missing_field",
                "c.jsonl:17: the record has no contents, text, passage or content",
            ),
            (
                r#"{"id":[],"text":"x"}"#,
                "wrong_type",
                "c.jsonl:17: the field \"id\" is not",
            ),
            (
                r#"{"id":"a","text":3}"#,
                "wrong_type",
                "c.jsonl:17: the field \"text\" is not a text",
            ),
        ] {
            let error = read(line).unwrap_err();
            assert_eq!(error.kind(), kind, "{line}");
            assert!(error.to_string().starts_with(message), "{error}");
            assert!(error.hint().is_some());
        }
    }
}
