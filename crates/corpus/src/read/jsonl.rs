//! One JSON Lines record: FlashRAG's `{id, contents}`, BEIR's `{_id, title, text}` and
//! `{id, title, text}`.

use std::path::Path;

use serde_json::{Map, Value};

use super::error::ReadError;
use crate::document::Document;

/// The document that a line holds. Fields of other names become metadata.
///
/// Without a `title` field, the first line of several in `contents` is the title, less the quotes
/// around it, as FlashRAG writes its corpora. Where there is a title and `contents` begins with
/// the same line, that line is not repeated in the text.
pub(super) fn document(line: &str, path: &Path, number: u64) -> Result<Document, ReadError> {
    let mut fields: Map<String, Value> =
        serde_json::from_str(line).map_err(|source| ReadError::BrokenJson {
            path: path.to_owned(),
            line: number,
            source,
        })?;
    let missing = |field| ReadError::MissingField {
        path: path.to_owned(),
        line: number,
        field,
    };
    let wrong = |field, expected| ReadError::WrongType {
        path: path.to_owned(),
        line: number,
        field,
        expected,
    };

    let id = match take(&mut fields, &["id", "_id"]) {
        Some((_, Value::String(id))) if !id.is_empty() => id,
        Some((_, Value::Number(id))) => id.to_string(),
        None | Some((_, Value::String(_) | Value::Null)) => return Err(missing("id or _id")),
        Some((name, _)) => return Err(wrong(name, "a text or a number")),
    };
    let title = match take(&mut fields, &["title"]) {
        None | Some((_, Value::Null)) => None,
        Some((_, Value::String(title))) => Some(title),
        Some((name, _)) => return Err(wrong(name, "a text")),
    };
    let (name, contents) = match take(&mut fields, &["contents", "text"]) {
        Some((name, Value::String(contents))) => (name, contents),
        None | Some((_, Value::Null)) => return Err(missing("contents or text")),
        Some((name, _)) => return Err(wrong(name, "a text")),
    };
    let (title, text) = if name == "contents" {
        split_title(title, contents)
    } else {
        (title.unwrap_or_default(), contents)
    };
    if let Some(Value::Object(inner)) = fields.get_mut("metadata").map(Value::take) {
        fields.shift_remove("metadata");
        fields.extend(inner);
    }
    Ok(Document {
        id,
        title,
        text,
        metadata: fields,
        record: true,
    })
}

/// Takes the first of `names` that is a field.
fn take(fields: &mut Map<String, Value>, names: &[&'static str]) -> Option<(&'static str, Value)> {
    names
        .iter()
        .find_map(|&name| Some((name, fields.shift_remove(name)?)))
}

fn split_title(title: Option<String>, contents: String) -> (String, String) {
    let Some((first, rest)) = contents.split_once('\n') else {
        return (title.unwrap_or_default(), contents);
    };
    let first = unquote(first.trim());
    match title {
        None => (first.to_owned(), rest.to_owned()),
        Some(title) if unquote(title.trim()) == first => (title, rest.to_owned()),
        Some(title) => (title, contents),
    }
}

fn unquote(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Document, ReadError> {
        document(line, Path::new("c.jsonl"), 17)
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
                "c.jsonl:17: the record has no id or _id",
            ),
            (
                r#"{"id":"","contents":"x"}"#,
                "missing_field",
                "c.jsonl:17: the record has no id",
            ),
            (
                r#"{"id":"a"}"#,
                "missing_field",
                "c.jsonl:17: the record has no contents or text",
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
