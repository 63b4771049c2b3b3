//! Comma- and tab-separated values, quoted as spreadsheets and DPR's `psgs_w100.tsv` do it (a quote within
//! quotes is doubled). Other separators are found by the header.

mod rows;
mod splitter;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use self::rows::{Row, Rows};
use crate::error::ReadError;
use crate::fields::Shape;
use crate::record::{self, Record};
use crate::source::Source;
use ken_corpus::{FieldNames, Role};

/// The separators of fields to try besides that of the file's extension.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The records of a file. A wrong record is an error, after which the next one is read.
pub(crate) fn records(
    source: Source,
    delimiter: u8,
    shape: Arc<Shape>,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send, ReadError> {
    let mut rows = Rows::new(source, delimiter);
    rows.separate_by(|first| separator(first, delimiter, &shape.names))?;
    let headless = shape.names.are_numbers();
    let mut header = match headless {
        true => Vec::new(),
        false => header(&mut rows, &shape.names)?,
    };
    let next = move || {
        let Some(row) = rows.next_row()? else {
            return Ok(None);
        };
        if headless && header.is_empty() {
            header = (1..=row.texts().count())
                .map(|number| number.to_string())
                .collect();
        }
        let place = row.place.clone();
        let document = shape.document(fields(&row, &header)?, &place)?;
        Ok(Some(Record { document, place }))
    };
    Ok(record::records(next, ReadError::concerns_record))
}

/// The separator of the fields of the first line: that of the file's extension, unless only another one makes the columns
/// that documents need.
fn separator(first: &str, delimiter: u8, names: &FieldNames) -> u8 {
    let columns = |separator: u8| {
        let fields = first.split(char::from(separator));
        fields.map(|name| name.trim().trim_matches('"').trim())
    };
    let others = SEPARATORS.into_iter().filter(|&other| other != delimiter);
    let mut all = std::iter::once(delimiter).chain(others);
    let separator = match names.are_numbers() {
        true => all.find(|&separator| columns(separator).count() > 1),
        false => all.find(|&separator| names.missing(columns(separator)).is_none()),
    };
    separator.unwrap_or(delimiter)
}

/// The names of the columns.
fn header(rows: &mut Rows, given: &FieldNames) -> Result<Vec<String>, ReadError> {
    let missing = |place, role| ReadError::MissingColumn {
        place,
        names: given.told(role),
    };
    let Some(row) = rows.next_row()? else {
        return Err(missing(rows.place(), Role::Id));
    };
    let mut names: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for (number, name) in row.texts().enumerate() {
        let name = match name.trim() {
            "" => format!("column {}", number + 1),
            name => name.to_owned(),
        };
        if !known.insert(name.clone()) {
            return Err(ReadError::ColumnTwice {
                place: row.place.clone(),
                name,
            });
        }
        names.push(name);
    }
    match given.missing(names.iter().map(String::as_str)) {
        Some(role) => Err(missing(row.place, role)),
        None => Ok(names),
    }
}

fn fields(row: &Row, header: &[String]) -> Result<Map<String, Value>, ReadError> {
    let found = row.texts().count();
    if found != header.len() {
        return Err(ReadError::FieldCount {
            place: row.place.clone(),
            found,
            expected: header.len(),
        });
    }
    Ok(header
        .iter()
        .zip(row.texts())
        .map(|(name, text)| (name.clone(), Value::from(text)))
        .collect())
}
