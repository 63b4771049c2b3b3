//! JSON Lines: one record a line.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::fields;
use crate::place::Place;
use crate::record::{self, Record};
use crate::source::Source;
use crate::watch::Watch;
use ken_corpus::Document;

/// The records of a file. A broken line is an error, after which the next one is read.
pub(crate) fn records(
    mut source: Source,
) -> impl Iterator<Item = Result<Record, ReadError>> + Send {
    record::records(move || next_record(&mut source), ReadError::concerns_record)
}

fn next_record(source: &mut Source) -> Result<Option<Record>, ReadError> {
    let start = source.offset;
    let longest = source.name.watch.budget.search();
    loop {
        source.reader.renew();
        let Some((line, text)) = source.next_line()? else {
            return Ok(None);
        };
        let place = source.name.line(line);
        if !text.trim().is_empty() {
            let document = document(&text, &place, &source.name.watch)?;
            return Ok(Some(Record { document, place }));
        }
        // A small file can decompress to endless empty lines.
        if source.offset - start > longest {
            return Err(ReadError::too_large(place, longest, true));
        }
    }
}

/// The document of a record.
pub(crate) fn document(line: &str, place: &Place, watch: &Watch) -> Result<Document, ReadError> {
    check_values(line, place, watch)?;
    let fields: Map<String, Value> =
        serde_json::from_str(line).map_err(|source| ReadError::BrokenJson {
            place: place.clone(),
            source,
        })?;
    fields::document(fields, place)
}

/// Fails where JSON has too many values for a document.
pub(crate) fn check_values(json: &str, place: &Place, watch: &Watch) -> Result<(), ReadError> {
    let most = watch.budget.parts();
    // A value takes at least one byte, so that shorter texts cannot have too many.
    match json.len() as u64 > most && values(json) > most {
        true => Err(watch.too_many(place.clone(), "values")),
        false => Ok(()),
    }
}

/// An upper bound on the number of values in a line of JSON.
fn values(line: &str) -> u64 {
    let (mut values, mut quoted, mut escaped) = (1, false, false);
    for byte in line.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(line: &str) -> Result<Document, ReadError> {
        let place = Place::line(Path::new("c.jsonl"), 17);
        document(line, &place, &Watch::default())
    }

    #[test]
    fn the_known_shapes() {
        for (line, expected) in [
            (
                r#"{"id":"a","contents":"\"T\"\nfirst\nsecond"}"#,
                "a|T|first\nsecond|{}",
            ),
            (r#"{"id":7,"contents":"one line"}"#, "7||one line|{}"),
            (r#"{"id":"a","title":"T","contents":"x\ny"}"#, "a|T|x\ny|{}"),
            (
                r#"{"id":"a","title":"T","contents":"\"T\"\ny"}"#,
                "a|T|y|{}",
            ),
            (
                r#"{"_id":"b","title":"","text":"x\ny","metadata":{"url":"u"},"n":1}"#,
                "b||x\ny|{\"n\":1,\"url\":\"u\"}",
            ),
            (r#"{"id":"c","title":null,"text":"x"}"#, "c||x|{}"),
        ] {
            let found = read(line).unwrap();
            assert!(found.record);
            let metadata = Value::from(found.metadata);
            let found = format!("{}|{}|{}|{metadata}", found.id, found.title, found.text);
            assert_eq!(found, expected);
        }
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
            assert!(error.remedy().is_some());
        }
    }
}
