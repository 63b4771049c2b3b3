//! From the named fields of a record to its document: FlashRAG's `{id, contents}`, BEIR's
//! `{_id, title, text}`, DPR's `id, text, title`, MS MARCO's `{pid, passage}` and similar.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::names::{FieldNames, Role};
use crate::place::{Part, Place};
use ken_corpus::Document;

/// How the records of one file become documents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) names: FieldNames,
    /// The name of the file, for records without an id.
    pub(crate) file: String,
}

impl Shape {
    /// The document of a record. Fields of other names become metadata.
    ///
    /// Without a `title` field, the first line of several in `contents` is the title, without the
    /// quotes around it, as in FlashRAG's corpora. Where there is a title and `contents` starts with
    /// the same line, that line is not repeated in the text.
    pub(crate) fn document(
        &self,
        mut fields: Map<String, Value>,
        place: &Place,
    ) -> Result<Document, ReadError> {
        let missing = |role: Role| ReadError::MissingField {
            place: place.clone(),
            names: self.names.told(role),
        };
        let wrong = |field, expected| ReadError::WrongType {
            place: place.clone(),
            field,
            expected,
        };

        let id = match self.names.take(Role::Id, &mut fields) {
            Some((_, Value::String(id))) if !id.is_empty() => id,
            Some((_, Value::Number(id))) => id.to_string(),
            _ if self.names.numbers_records() => self.number(place),
            None | Some((_, Value::String(_) | Value::Null)) => return Err(missing(Role::Id)),
            Some((name, _)) => return Err(wrong(name, "a text or a number")),
        };
        let title = match self.names.take(Role::Title, &mut fields) {
            None | Some((_, Value::Null)) => None,
            Some((_, Value::String(title))) => Some(title),
            Some((name, _)) => return Err(wrong(name, "a text")),
        };
        let (name, contents) = match self.names.take(Role::Text, &mut fields) {
            Some((name, Value::String(contents))) => (name, contents),
            None | Some((_, Value::Null)) => return Err(missing(Role::Text)),
            Some((name, value)) => {
                let text = paragraphs(&value).ok_or_else(|| wrong(name.clone(), "a text"))?;
                (name, text)
            }
        };
        let (title, text) = if name == "contents" {
            split_title(title, contents)
        } else {
            (title.unwrap_or_default(), contents)
        };
        if fields.get("metadata").is_some_and(Value::is_object)
            && let Some(Value::Object(inner)) = fields.shift_remove("metadata")
        {
            merge(&mut fields, inner);
        }
        Ok(Document {
            id,
            title: without_nuls(title),
            text: without_nuls(text),
            metadata: fields,
            record: true,
            ..Document::default()
        })
    }

    /// The id of a record that has none.
    fn number(&self, place: &Place) -> String {
        let number = match place.part {
            Part::Line(number) | Part::Row(number) => number,
            Part::Whole => 0,
        };
        format!("{}:{number}", self.file)
    }
}

/// Adds the fields of `metadata` to those beside it. Of two equal names, that of `metadata` says where it stood.
fn merge(fields: &mut Map<String, Value>, inner: Map<String, Value>) {
    for (name, value) in inner {
        match fields.get(&name) {
            Some(outer) if *outer == value => {}
            Some(_) => {
                fields.insert(format!("metadata.{name}"), value);
            }
            None => {
                fields.insert(name, value);
            }
        }
    }
}

/// A list of texts as one text.
fn paragraphs(value: &Value) -> Option<String> {
    let parts: Option<Vec<&str>> = value.as_array()?.iter().map(Value::as_str).collect();
    parts
        .filter(|parts| !parts.is_empty())
        .map(|parts| parts.join("\n"))
}

/// JSON can spell NULs, and they are no text.
fn without_nuls(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', ""),
        false => text,
    }
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
