//! From the named fields of a record to its document: FlashRAG's `{id, contents}`, BEIR's
//! `{_id, title, text}`, DPR's `id, text, title` and similar.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::names::{ID_NAMES, TEXT_NAMES, TITLE_NAMES};
use crate::place::Place;
use ken_corpus::Document;

/// The document of a record. Fields of other names become metadata.
///
/// Without a `title` field, the first line of several in `contents` is the title, without the
/// quotes around it, as in FlashRAG's corpora. Where there is a title and `contents` starts with
/// the same line, that line is not repeated in the text.
pub(crate) fn document(
    mut fields: Map<String, Value>,
    place: &Place,
) -> Result<Document, ReadError> {
    let missing = |names: &'static [&'static str]| ReadError::MissingField {
        place: place.clone(),
        names,
    };
    let wrong = |field, expected| ReadError::WrongType {
        place: place.clone(),
        field,
        expected,
    };

    let id = match take(&mut fields, ID_NAMES) {
        Some((_, Value::String(id))) if !id.is_empty() => id,
        Some((_, Value::Number(id))) => id.to_string(),
        None | Some((_, Value::String(_) | Value::Null)) => return Err(missing(ID_NAMES)),
        Some((name, _)) => return Err(wrong(name, "a text or a number")),
    };
    let title = match take(&mut fields, TITLE_NAMES) {
        None | Some((_, Value::Null)) => None,
        Some((_, Value::String(title))) => Some(title),
        Some((name, _)) => return Err(wrong(name, "a text")),
    };
    let (name, contents) = match take(&mut fields, TEXT_NAMES) {
        Some((name, Value::String(contents))) => (name, contents),
        None | Some((_, Value::Null)) => return Err(missing(TEXT_NAMES)),
        Some((name, _)) => return Err(wrong(name, "a text")),
    };
    let (title, text) = if name == "contents" {
        split_title(title, contents)
    } else {
        (title.unwrap_or_default(), contents)
    };
    if fields.get("metadata").is_some_and(Value::is_object)
        && let Some(Value::Object(inner)) = fields.shift_remove("metadata")
    {
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
