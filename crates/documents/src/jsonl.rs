//! JSON Lines: one record a line.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Number, Value};

use crate::error::ReadError;
use crate::fields::{Kind, Shape};
use crate::place::Place;
use crate::record::{self, Record, Records};
use crate::source::Source;
use crate::watch::Watch;
use ken_corpus::Document;
use ken_corpus::FieldNames;

/// The digits of the smallest integers that may have more than 64 bits.
const LONG_DIGITS: usize = 19;

/// The records of a file. A broken line is an error, after which the next one is read.
pub(crate) fn records(
    mut source: Source,
    mut shape: Shape,
) -> impl Iterator<Item = Result<Record, ReadError>> + Send {
    let next = move || next_record(&mut source, &mut shape);
    record::records(next, ReadError::concerns_record)
}

/// The records of lines that do not come from a file.
pub(crate) fn given(
    lines: impl Iterator<Item = String> + Send + 'static,
    names: FieldNames,
    watch: Watch,
) -> Records {
    let path = Path::new("records");
    let mut shape = Shape {
        names,
        file: "records".to_owned(),
        kind: Kind::Texts,
    };
    let numbered = (1..).zip(lines);
    Box::new(numbered.map(move |(number, line)| {
        let place = Place::row(path, number);
        let document = document(&line, &place, &watch, &mut shape)?;
        Ok(Record { document, place })
    }))
}

fn next_record(source: &mut Source, shape: &mut Shape) -> Result<Option<Record>, ReadError> {
    let start = source.offset;
    let longest = source.name.watch.budget.search();
    loop {
        source.reader.renew();
        let Some((line, text)) = source.next_line()? else {
            return Ok(None);
        };
        let place = source.name.line(line);
        if !text.trim().is_empty() {
            let document = document(&text, &place, &source.name.watch, shape)?;
            return Ok(Some(Record { document, place }));
        }
        // A small file can decompress to endless empty lines.
        if source.offset - start > longest {
            return Err(ReadError::too_large(place, longest, true));
        }
    }
}

/// The document of the record on a line.
fn document(
    line: &str,
    place: &Place,
    watch: &Watch,
    shape: &mut Shape,
) -> Result<Document, ReadError> {
    shape.document(fields(line, place, watch)?, place.number(), place)
}

/// The fields of a record.
pub(crate) fn fields(
    json: &str,
    place: &Place,
    watch: &Watch,
) -> Result<Map<String, Value>, ReadError> {
    check_values(json, place, watch)?;
    serde_json::from_str(&with_exact_numbers(json)).map_err(|source| ReadError::BrokenJson {
        place: place.clone(),
        source,
    })
}

/// The line with numbers as texts that would be written otherwise, such as `9.50` and integers of more than 64 bits.
fn with_exact_numbers(line: &str) -> Cow<'_, str> {
    let mut out = String::new();
    // How many bytes of the line are in `out`.
    let mut copied = 0;
    let (mut quoted, mut escaped, mut at) = (false, false, 0);
    let bytes = line.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b'-' | b'0'..=b'9' if !quoted => {
                let start = at - 1;
                let rest = bytes.get(start..).unwrap_or_default();
                let ends =
                    |byte: &u8| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                at = start + rest.iter().position(ends).unwrap_or(rest.len());
                let number = line.get(start..at).unwrap_or_default();
                if is_changed(number) {
                    out.push_str(line.get(copied..start).unwrap_or_default());
                    out.extend(["\"", number, "\""]);
                    copied = at;
                }
            }
            _ => {}
        }
    }
    if copied == 0 {
        return Cow::Borrowed(line);
    }
    out.push_str(line.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether the JSON parser would round a number, refuse it as too large, or write it otherwise; false for what is no number.
fn is_changed(number: &str) -> bool {
    let is_short = number.len() < LONG_DIGITS && number.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = || number.parse::<Number>().ok();
    !is_short && is_number(number) && parsed().is_none_or(|parsed| parsed.to_string() != number)
}

/// Whether a text is a number as JSON writes it, of any size.
fn is_number(text: &str) -> bool {
    let whole = text.strip_prefix('-').unwrap_or(text);
    let rest = whole.strip_prefix('0').or_else(|| after_digits(whole));
    let rest = rest.and_then(|rest| match rest.strip_prefix('.') {
        Some(fraction) => after_digits(fraction),
        None => Some(rest),
    });
    let rest = rest.and_then(|rest| match rest.strip_prefix(['e', 'E']) {
        Some(power) => after_digits(power.strip_prefix(['+', '-']).unwrap_or(power)),
        None => Some(rest),
    });
    rest == Some("")
}

/// The rest after the digits that a text begins with; `None` if it begins with none.
fn after_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

/// Fails if the JSON has too many values for a document.
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
    use ken_testing::{cases, has};

    use super::*;

    fn read(line: &str) -> Result<Document, ReadError> {
        let place = Place::line(Path::new("c.jsonl"), 17);
        document(line, &place, &Watch::default(), &mut Shape::default())
    }

    /// A record's id, title, text and metadata.
    fn shown(line: &str) -> String {
        let document = read(line).unwrap();
        assert!(document.record);
        let metadata = Value::from(document.metadata);
        format!(
            "{}|{}|{}|{metadata}",
            document.id, document.title, document.text
        )
    }

    #[test]
    fn the_known_shapes() {
        for (line, expected) in cases![
            r#"{"id":"a","contents":"\"T\"\nfirst\nsecond"}"# => "a|T|first\nsecond|{}";
            r#"{"id":7,"contents":"one line"}"# => "7||one line|{}";
            r#"{"id":"a","title":"T","contents":"x\ny"}"# => "a|T|x\ny|{}";
            r#"{"id":"a","title":"T","contents":"\"T\"\ny"}"# => "a|T|y|{}";
            r#"{"_id":"b","title":"","text":"x\ny","metadata":{"url":"u"},"n":1}"# =>
                "b||x\ny|{\"n\":1,\"url\":\"u\"}";
            r#"{"id":"c","title":null,"text":"x"}"# => "c||x|{}";
        ] {
            assert_eq!(shown(line), expected);
        }
    }

    #[test]
    fn long_integers_stay_as_they_are_written() {
        let line = r#"{"id":12345678901234567890123,"text":"18446744073709551617","n":[-9223372036854775809,18446744073709551615],"x":1.5e300}"#;
        let document = read(line).unwrap();
        has!(document, id: "12345678901234567890123", text: "18446744073709551617");
        let metadata = r#"{"n":["-9223372036854775809",18446744073709551615],"x":"1.5e300"}"#;
        assert_eq!(Value::from(document.metadata).to_string(), metadata);
        let next = read(r#"{"id":12345678901234567890124,"text":"x"}"#).unwrap();
        assert_eq!(next.id, "12345678901234567890124");
        assert!(read(r#"{"id":12345678901234567890124x,"text":"x"}"#).is_err());
    }

    #[test]
    fn numbers_stay_as_they_are_written() {
        let line = r#"{"id":1.50,"text":"x","a":9.50,"b":[1e400,-0,1E5],"c":{"d":1.10},"e":[9.5,1.0,-3,0,0.25],"f":"2.50"}"#;
        let document = read(line).unwrap();
        has!(document, id: "1.50");
        let metadata = r#"{"a":"9.50","b":["1e400","-0","1E5"],"c":{"d":"1.10"},"e":[9.5,1.0,-3,0,0.25],"f":"2.50"}"#;
        assert_eq!(Value::from(document.metadata).to_string(), metadata);
        for broken in [
            "007", "1.", ".5", "-", "1e", "1e+", "0x10", "1.5.0", "00.50",
        ] {
            let line = format!(r#"{{"id":1,"text":"x","a":{broken}}}"#);
            assert_eq!(read(&line).unwrap_err().kind(), "broken_json", "{broken}");
        }
    }

    #[test]
    fn fields_of_other_names() {
        for (line, expected) in cases![
            r#"{"pid":"p","docid":"d","passage":"x"}"# => r#"p||x|{"docid":"d"}"#;
            r#"{"ID":3,"Title":"T","Text":"x"}"# => "3|T|x|{}";
            r#"{"id":"a","page_content":"x","metadata":{"source":"s"}}"# => r#"a||x|{"source":"s"}"#;
            r#"{"_id":"k","wikipedia_title":"W","text":["one","two"]}"# =>
                "k||one\ntwo|{\"wikipedia_title\":\"W\"}";
            r#"{"docid":"d","headings":"h","body":"a\u0000b"}"# => r#"d||ab|{"headings":"h"}"#;
        ] {
            assert_eq!(shown(line), expected);
        }
    }

    #[test]
    fn a_field_of_metadata_replaces_none_beside_it() {
        let document =
            read(r#"{"id":1,"text":"x","lang":"en","k":1,"metadata":{"lang":"de","k":1,"n":2}}"#);
        let metadata = Value::from(document.unwrap().metadata);
        has!(metadata, to_string(): r#"{"lang":"en","k":1,"metadata.lang":"de","n":2}"#);
    }

    #[test]
    fn errors_name_the_line() {
        for (line, kind, message) in cases![
            "{\"id\":" => "broken_json", "c.jsonl:17: broken JSON: ";
            "[1]" => "broken_json", "c.jsonl:17: broken JSON: ";
            r#"{"contents":"x"}"# => "missing_field", "c.jsonl:17: the record has no id, _id or doc_id";
            r#"{"id":"","contents":"x"}"# => "missing_field", "c.jsonl:17: the record has no id";
            r#"{"id":"a"}"# => "missing_field",
                "c.jsonl:17: the record has no contents, text, passage or content";
            r#"{"id":[],"text":"x"}"# => "wrong_type", "c.jsonl:17: the field \"id\" is not";
            r#"{"id":"a","text":3}"# => "wrong_type", "c.jsonl:17: the field \"text\" is not a text";
        ] {
            let error = read(line).unwrap_err();
            assert_eq!(error.kind(), kind, "{line}");
            assert!(error.to_string().starts_with(message), "{error}");
            assert!(error.remedy().is_some());
        }
    }
}
