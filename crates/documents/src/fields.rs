//! Making the document of a record from its fields, by the names and rules of the corpus. A record without an id or a text
//! is the row of a table, whose text tells all of it.

use std::mem;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::format::stem;
use crate::place::Place;
use crate::table::{self, Table, worded};
use ken_corpus::{Document, FieldFault, FieldNames, Parts, Role, number_in};

/// The name under which the text of a row without one is put.
const TEXT: &str = "text";

/// The most numbers of a list that are told.
const MOST_NUMBERS: usize = 16;

/// How the records of one file become documents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) names: FieldNames,
    /// The id of the file, for records without an id.
    pub(crate) file: String,
    pub(crate) kind: Kind,
}

/// What the records of one file are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// That which the first one shows.
    Unsettled,
    /// Texts: other fields are metadata.
    #[default]
    Texts,
    /// Rows of a table: other fields are metadata, and told in the text.
    Rows,
}

impl Shape {
    /// Settles what the records are, by the fields of the first one: rows if no field is known as the id, or none as the
    /// text. Rows are numbered, also where a column looks like an id: two tables may count alike.
    pub(crate) fn settle<'n>(&mut self, fields: impl Iterator<Item = &'n str> + Clone) {
        if self.kind != Kind::Unsettled {
            return;
        }
        let names = &self.names;
        let lacks_id = !names.gives(Role::Id) && names.find(Role::Id, fields.clone()).is_none();
        let lacks_text = names.find(Role::Text, fields).is_none();
        let are_rows = !names.gives(Role::Text) && (lacks_id || lacks_text);
        let are_numbered = lacks_id || (are_rows && !names.gives(Role::Id));
        self.kind = if are_rows { Kind::Rows } else { Kind::Texts };
        if are_numbered {
            self.names = mem::take(&mut self.names).numbering();
        }
    }

    /// The role for which columns of these names have none.
    pub(crate) fn missing<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Option<Role> {
        let missing = self.names.missing(names);
        missing.filter(|&role| role == Role::Id || self.kind != Kind::Rows)
    }

    /// The document of a record; `number` is its place in the file.
    pub(crate) fn document(
        &mut self,
        fields: Map<String, Value>,
        number: u64,
        place: &Place,
    ) -> Result<Document, ReadError> {
        if !fields.is_empty() {
            self.settle(fields.keys().map(String::as_str));
        }
        match self.kind {
            Kind::Rows => self.row(&self.told(&fields), fields, number, place),
            Kind::Unsettled | Kind::Texts => self.text(fields, number, place),
        }
    }

    /// The document of a row. `line` tells its fields besides title and text; it stands above the text.
    pub(crate) fn row(
        &self,
        line: &str,
        mut fields: Map<String, Value>,
        number: u64,
        place: &Place,
    ) -> Result<Document, ReadError> {
        let name = self.find(Role::Text, &fields).unwrap_or(TEXT).to_owned();
        let is_alone = fields.get(&name).is_none_or(Value::is_null);
        if is_alone {
            fields.insert(name, Value::from(line));
        }
        let mut document = self.text(fields, number, place)?;
        if line.is_empty() {
            return Ok(document);
        }
        if !is_alone {
            document.text = format!("{line}\n{}", document.text).trim_end().to_owned();
        }
        if document.title.is_empty() {
            document.title = stem(Path::new(&self.file));
        }
        Ok(document)
    }

    /// The document of a text. Fields of other names become metadata.
    fn text(
        &self,
        fields: Map<String, Value>,
        number: u64,
        place: &Place,
    ) -> Result<Document, ReadError> {
        let missing = |role: Role| ReadError::MissingField {
            place: place.clone(),
            names: self.names.told(role),
        };
        let parts = self.names.parts(fields).map_err(|fault| match fault {
            FieldFault::Missing(role) => missing(role),
            FieldFault::WrongType { field, expected } => ReadError::WrongType {
                place: place.clone(),
                field,
                expected,
            },
        })?;
        let Parts {
            id,
            title,
            text,
            metadata,
        } = parts;
        let id = match id {
            Some(id) => id,
            None if self.names.numbers_records() => format!("{}:{number}", self.file),
            None => return Err(missing(Role::Id)),
        };
        Ok(Document {
            id,
            title,
            text,
            metadata,
            record: true,
            ..Document::default()
        })
    }

    fn find<'f>(&self, role: Role, fields: &'f Map<String, Value>) -> Option<&'f str> {
        self.names.find(role, fields.keys().map(String::as_str))
    }

    /// The fields besides title and text on one line, each after its name.
    fn told(&self, fields: &Map<String, Value>) -> String {
        let apart = [Role::Title, Role::Text].map(|role| self.find(role, fields));
        let mut leaves = Vec::new();
        for (name, value) in fields {
            if !apart.contains(&Some(name.as_str())) {
                add_leaves(name, value, &mut leaves);
            }
        }
        let names = leaves.iter().map(|(name, _)| name.as_str());
        let texts = leaves.iter().map(|(_, text)| text.as_str());
        let mut table = Table::default();
        table.names(worded(names.enumerate()), false);
        table.line(worded(texts.enumerate()))
    }
}

/// Adds the texts of a value with their names, such as `size.width` for one within another. A long name is left out, so
/// that the line is not much longer than the record.
fn add_leaves(name: &str, value: &Value, leaves: &mut Vec<(String, String)>) {
    let name = if table::is_short(name) { name } else { "" };
    let mut add = |text: String| leaves.push((name.to_owned(), text));
    match value {
        Value::Null => {}
        Value::String(_) | Value::Bool(_) | Value::Number(_) => add(plain(value)),
        Value::Array(items) if is_vector(items) => {}
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for item in items {
                add_leaves(name, item, leaves);
            }
        }
        Value::Array(items) => {
            let texts = items.iter().filter(|item| !item.is_null()).map(plain);
            add(texts.collect::<Vec<_>>().join(", "));
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = match name {
                    "" => key.clone(),
                    name => format!("{name}.{key}"),
                };
                add_leaves(&path, value, leaves);
            }
        }
    }
}

/// Whether a list is of so many numbers that they say nothing in words, as in an embedding. Some may be texts, as they are
/// written.
fn is_vector(items: &[Value]) -> bool {
    let is_number = |item: &Value| item.is_number() || item.as_str().is_some_and(is_numeric);
    items.len() > MOST_NUMBERS && items.iter().any(Value::is_number) && items.iter().all(is_number)
}

fn is_numeric(text: &str) -> bool {
    number_in(text).is_some()
}

/// A text, number or truth value as it reads.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use ken_corpus::FieldName;
    use ken_testing::{cases, with};

    use super::*;

    /// The documents of a file of records: id, title and text.
    fn read(given: &[&str], records: &[&str]) -> Vec<Result<String, &'static str>> {
        let names = given.iter().map(|name| name.parse::<FieldName>().unwrap());
        let names: FieldNames = names.collect();
        let file = "d/pumps.json".to_owned();
        let mut shape = with!(Shape::default(), names: names, file: file, kind: Kind::Unsettled);
        let place = Place::whole(Path::new("pumps.json"));
        let read = (1..).zip(records).map(|(number, record)| {
            let fields = serde_json::from_str(record).unwrap();
            let document = shape.document(fields, number, &place);
            let shown = document.map(|found| {
                let (id, title, text) = (&found.id, &found.title, &found.text);
                format!("{id}|{title}|{text}")
            });
            shown.map_err(|error| error.kind())
        });
        read.collect()
    }

    #[test]
    fn records_without_an_id_or_a_text_are_rows() {
        for (given, record, expected) in cases![
            &["id=nr"][..] => r#"{"nr":7,"name":"Pump"}"#, "7|pumps|nr: 7; name: Pump";
            &[] => r#"{"name":"Pump","bar":9.5,"sold":true,"note":null}"#,
                "d/pumps.json:1|pumps|name: Pump; bar: 9.5; sold: true";
            &[] => r#"{"id":7,"name":"Pump"}"#, "d/pumps.json:1|pumps|id: 7; name: Pump";
            &[] => r#"{"title":"Pump","bar":9}"#, "d/pumps.json:1|Pump|bar: 9";
            &[] => r#"{"speaker":"Ito","text":"Open\nit."}"#, "d/pumps.json:1|pumps|speaker: Ito\nOpen\nit.";
            &[] => r#"{"text":"Open it."}"#, "d/pumps.json:1||Open it.";
            &[] => r#"{"contents":"Pump\nOpen it."}"#, "d/pumps.json:1|Pump|Open it.";
            &[] => r#"{"text":null,"bar":9}"#, "d/pumps.json:1|pumps|bar: 9";
            &[] => r#"{"tags":["a",1,null],"size":{"w":2,"of":[{"d":3},{"d":4}]}}"#,
                "d/pumps.json:1|pumps|tags: a, 1; size.w: 2; size.of.d: 3; size.of.d: 4";
            &["id="] => r#"{"speaker":"Ito","text":"Open it."}"#, "d/pumps.json:1||Open it.";
            &["text=body"] => r#"{"speaker":"Ito","body":"Open it."}"#, "d/pumps.json:1||Open it.";
            &[] => r#"{"id":7,"speaker":"Ito","text":"Open it."}"#, "7||Open it.";
        ] {
            assert_eq!(
                read(given, &[record]),
                [Ok(expected.to_owned())],
                "{record}"
            );
        }
    }

    #[test]
    fn the_first_record_with_fields_settles_the_others() {
        let whole = r#"{"id":7,"text":"x"}"#;
        let row = r#"{"id":8,"bar":9}"#;
        let text = Ok("7||x".to_owned());
        assert_eq!(
            read(&[], &["{}", whole, row]),
            [Err("missing_field"), text, Err("missing_field")]
        );
        let rows = ["1|pumps|id: 8; bar: 9", "2|pumps|id: 7\nx"];
        let rows = rows.map(|row| Ok(format!("d/pumps.json:{row}")));
        assert_eq!(read(&[], &[row, whole]), rows);
        assert_eq!(read(&["text=body"], &[row]), [Err("missing_field")]);
    }

    #[test]
    fn a_long_list_of_numbers_is_left_out() {
        for (count, text) in [(2, "name: Pump; at: 0, 0"), (17, "name: Pump")] {
            let numbers = vec!["0"; count].join(",");
            let record = format!(r#"{{"name":"Pump","at":[{numbers}]}}"#);
            let expected = format!("d/pumps.json:1|pumps|{text}");
            assert_eq!(read(&[], &[&record]), [Ok(expected)]);
        }
        // Numbers that are texts, as they are written, among others and alone.
        let vector = format!(r#"{{"name":"Pump","at":["1e-05"{}]}}"#, ",0.5".repeat(16));
        let expected = "d/pumps.json:1|pumps|name: Pump".to_owned();
        assert_eq!(read(&[], &[&vector]), [Ok(expected)]);
        let parts = format!(r#"{{"at":["1"{}]}}"#, r#","7""#.repeat(16));
        let expected = format!("d/pumps.json:1|pumps|at: 1{}", ", 7".repeat(16));
        assert_eq!(read(&[], &[&parts]), [Ok(expected)]);
    }

    #[test]
    fn a_long_name_is_not_repeated() {
        let long = "n".repeat(81);
        let record = format!(r#"{{"{long}":[[1],[2],{{"k":3}}]}}"#);
        let expected = "d/pumps.json:1|pumps|1; 2; k: 3".to_owned();
        assert_eq!(read(&[], &[&record]), [Ok(expected)]);
    }
}
