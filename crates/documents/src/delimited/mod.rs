//! Comma- and tab-separated values, quoted as spreadsheets and DPR's `psgs_w100.tsv` do it (a quote within
//! quotes is doubled). Other separators are found by the header or the first rows.

mod rows;
mod separator;
mod splitter;

use std::collections::HashSet;

use serde_json::{Map, Value};

use self::rows::{Row, Rows};
use crate::error::ReadError;
use crate::fields::{Kind, Shape};
use crate::record::{self, Record};
use crate::source::Source;
use crate::table::{Table, has_numbers, worded};
use ken_corpus::Role;

/// The records of a file. A wrong record is an error, after which the next one is read.
pub(crate) fn records(
    source: Source,
    delimiter: u8,
    mut shape: Shape,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send, ReadError> {
    let mut rows = Rows::new(source, delimiter);
    rows.separate_by(|sample| separator::of_fields(sample, delimiter, &shape.names))?;
    let (mut columns, mut first) = match shape.names.are_numbers() {
        true => (Columns::default(), None),
        false => columns(&mut rows, &mut shape)?,
    };
    let next = move || -> Result<Option<Record>, ReadError> {
        loop {
            let row = match first.take() {
                Some(row) => Some(row),
                None => rows.next_row()?,
            };
            let Some(row) = row else {
                return Ok(None);
            };
            let is_cells = shape.kind == Kind::Rows;
            // Spreadsheets write rows of nothing but separators.
            if is_cells && row.is_blank() {
                continue;
            }
            if columns.names.is_empty() {
                columns = Columns::numbered(row.texts().count());
            }
            let place = row.place.clone();
            let number = place.number();
            let fields = columns.fields(&row, is_cells)?;
            let document = match is_cells {
                true => shape.row(&columns.line(&row), fields, number, &place),
                false => shape.document(fields, number, &place),
            }?;
            return Ok(Some(Record { document, place }));
        }
    };
    Ok(record::records(next, ReadError::concerns_record))
}

/// The columns of a file; none before the first row of a file without a header.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    /// Whether the file has no header.
    are_numbered: bool,
    /// The columns with the title and the text of a row.
    apart: Vec<usize>,
    table: Table,
}

/// The columns that the header names; if the first row is none, that row.
fn columns(rows: &mut Rows, shape: &mut Shape) -> Result<(Columns, Option<Row>), ReadError> {
    let Some(header) = rows.next_row()? else {
        rows.note_without_text();
        return Ok((Columns::default(), None));
    };
    let texts = header.texts().map(str::trim).enumerate();
    let mut names: Vec<String> = texts
        .map(|(index, name)| match name {
            "" => format!("column {}", index + 1),
            name => name.to_owned(),
        })
        .collect();
    shape.settle(names.iter().map(String::as_str));
    let roles = [Role::Id, Role::Title, Role::Text];
    let known = roles.map(|role| shape.names.find(role, names.iter().map(String::as_str)));
    let cells = worded(header.texts().enumerate());
    if shape.kind == Kind::Rows && known == [None; 3] && has_numbers(&cells) {
        return Ok((Columns::default(), Some(header)));
    }
    let [_, title, text] = known;
    let apart = [title, text].into_iter().flatten();
    let index = |apart: &str| names.iter().position(|name| name == apart);
    let apart: Vec<usize> = apart.filter_map(index).collect();
    tell_apart(&mut names, &header, shape.kind)?;
    if let Some(role) = shape.missing(names.iter().map(String::as_str)) {
        return Err(ReadError::MissingColumn {
            place: header.place,
            names: shape.names.told(role),
        });
    }
    let mut table = Table::default();
    table.names(cells, false);
    let columns = Columns {
        names,
        are_numbered: false,
        apart,
        table,
    };
    Ok((columns, None))
}

/// Gives a column with the name of one before it another name, where texts do not depend on it.
fn tell_apart(names: &mut [String], header: &Row, kind: Kind) -> Result<(), ReadError> {
    let mut known = HashSet::new();
    for (index, name) in names.iter_mut().enumerate() {
        if known.insert(name.clone()) {
            continue;
        }
        if kind != Kind::Rows {
            return Err(ReadError::ColumnTwice {
                place: header.place.clone(),
                name: name.clone(),
            });
        }
        *name = format!("{name} (column {})", index + 1);
    }
    Ok(())
}

impl Columns {
    /// The columns of a file without a header.
    fn numbered(count: usize) -> Self {
        let mut table = Table::default();
        table.expect_no_names();
        Self {
            names: (1..=count).map(|number| number.to_string()).collect(),
            are_numbered: true,
            apart: Vec::new(),
            table,
        }
    }

    /// The fields of a record. Cells may lack at the end of a row, and of those beyond the header all have to be empty.
    fn fields(&self, row: &Row, is_cells: bool) -> Result<Map<String, Value>, ReadError> {
        let found = row.texts().count();
        let fits = match is_cells {
            true => {
                let mut beyond = row.texts().skip(self.names.len());
                self.are_numbered || beyond.all(|text| text.trim().is_empty())
            }
            false => found == self.names.len(),
        };
        if !fits {
            return Err(ReadError::FieldCount {
                place: row.place.clone(),
                found,
                expected: self.names.len(),
            });
        }
        let fields = self.names.iter().zip(row.texts());
        Ok(fields
            .map(|(name, text)| (name.clone(), Value::from(text)))
            .collect())
    }

    /// The cells of a row besides title and text on one line, each after the name of its column.
    fn line(&mut self, row: &Row) -> String {
        let cells = row.texts().enumerate();
        let told = cells.filter(|(index, _)| !self.apart.contains(index));
        let told = worded(told);
        self.table.line(told)
    }
}
