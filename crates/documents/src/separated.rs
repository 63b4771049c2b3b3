//! Comma- and tab-separated values with a header: one record after the other, quoted as
//! spreadsheets and DPR's `psgs_w100.tsv` do it (a quote within quotes is doubled).

use std::collections::HashSet;
use std::io::BufRead;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use serde_json::{Map, Value};

use crate::budget::Halt;
use crate::error::ReadError;
use crate::fields;
use crate::names::{ID_NAMES, TEXT_NAMES};
use crate::place::Place;
use crate::record::Record;
use crate::source::{Source, line_breaks};

/// The records of a file. After a record that is wrong it goes on with the next one.
pub(crate) fn records(
    source: Source,
    delimiter: u8,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send, ReadError> {
    let mut rows = Rows::new(source, delimiter);
    let header = header(&mut rows)?;
    let mut ended = false;
    Ok(std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let record = rows.next_row().transpose()?.and_then(|row| {
            let document = fields::document(row.fields(&header)?, &row.place)?;
            Ok(Record {
                document,
                place: row.place,
            })
        });
        ended = matches!(&record, Err(error) if !error.concerns_record());
        Some(record)
    }))
}

/// The names of the columns.
fn header(rows: &mut Rows) -> Result<Vec<String>, ReadError> {
    let Some(row) = rows.next_row()? else {
        return Err(ReadError::MissingColumn {
            place: rows.place(),
            names: ID_NAMES,
        });
    };
    let mut names: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for name in row.texts() {
        let name = name.trim();
        if !known.insert(name) {
            return Err(ReadError::ColumnTwice {
                place: row.place.clone(),
                name: name.to_owned(),
            });
        }
        names.push(name.to_owned());
    }
    drop(known);
    for wanted in [ID_NAMES, TEXT_NAMES] {
        if !names.iter().any(|name| wanted.contains(&name.as_str())) {
            return Err(ReadError::MissingColumn {
                place: row.place,
                names: wanted,
            });
        }
    }
    Ok(names)
}

/// One record: its fields one behind the other, and where each of them ends.
struct Row {
    place: Place,
    text: String,
    ends: Vec<usize>,
}

impl Row {
    fn texts(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let text = self.text.get(start..end).unwrap_or_default();
            start = end;
            text
        })
    }

    fn fields(&self, header: &[String]) -> Result<Map<String, Value>, ReadError> {
        if self.ends.len() != header.len() {
            return Err(ReadError::FieldCount {
                place: self.place.clone(),
                found: self.ends.len(),
                expected: header.len(),
            });
        }
        Ok(header
            .iter()
            .zip(self.texts())
            .map(|(name, text)| (name.clone(), Value::from(text)))
            .collect())
    }
}

/// The records of a file, field by field.
struct Rows {
    source: Source,
    parser: Reader,
    /// The number of the line that the next byte stands in, from 1.
    line: u64,
    /// Where the next byte stands in the file, after decompression.
    offset: u64,
}

impl Rows {
    fn new(source: Source, delimiter: u8) -> Self {
        Self {
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            line: 1,
            offset: source.offset(),
            source,
        }
    }

    fn place(&self) -> Place {
        self.source.name.line(self.line)
    }

    /// The next record; `None` at the end. Lines without any character are passed over. After a
    /// record that is over the budget, and has an end, the next one can be read.
    fn next_row(&mut self) -> Result<Option<Row>, ReadError> {
        self.skip_line_breaks()?;
        let place = self.place();
        let (line, offset) = (self.line, self.offset);
        let most = usize::try_from(self.source.name.watch.budget.parts()).unwrap_or(usize::MAX);
        let (mut bytes, mut length) = (vec![0; 1024], 0);
        let (mut ends, mut count) = (vec![0; 16], 0);
        // As they stand in the file, since quotes are not among `bytes`.
        let mut raw = Vec::new();
        loop {
            let input = match self.source.reader.fill_buf() {
                Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => {
                    self.pass(&raw);
                    drop((raw, bytes));
                    return Err(ReadError::DocumentTooLarge {
                        place,
                        limit: self.source.name.watch.budget.document_bytes,
                        rest_lost: !self.skip_row()?,
                    });
                }
                filled => filled.map_err(|error| self.source.name.failed(error))?,
            };
            // A line break ends every record that is not within quotes.
            let at_end = input.is_empty() && !raw.is_empty();
            let input = if at_end { b"\n" } else { input };
            let (result, consumed, written, ended) =
                self.parser
                    .read_record(input, &mut bytes[length..], &mut ends[count..]);
            if !at_end {
                raw.extend_from_slice(&input[..consumed]);
                self.source.reader.consume(consumed);
            }
            length += written;
            count += ended;
            match result {
                ReadRecordResult::InputEmpty if at_end => {
                    return Err(ReadError::OpenQuote { place });
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => bytes.resize(2 * bytes.len(), 0),
                ReadRecordResult::OutputEndsFull if ends.len() >= most => {
                    self.pass(&raw);
                    drop((raw, bytes));
                    let too_many = self.source.name.watch.too_many(place.clone(), "fields");
                    return Err(match self.skip_row()? {
                        true => too_many,
                        false => ReadError::DocumentTooLarge {
                            place,
                            limit: self.source.name.watch.budget.document_bytes,
                            rest_lost: true,
                        },
                    });
                }
                ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::Record => break,
            }
        }
        self.pass(&raw);
        self.source.name.decode(raw, line, offset)?;
        bytes.truncate(length);
        ends.truncate(count);
        let text = self.source.name.decode(bytes, line, offset)?;
        Ok(Some(Row { place, text, ends }))
    }

    /// Counts what was consumed.
    fn pass(&mut self, raw: &[u8]) {
        self.line += line_breaks(raw);
        self.offset += raw.len() as u64;
    }

    /// Passes over the rest of a record without keeping it; false where it has no end within
    /// reach.
    fn skip_row(&mut self) -> Result<bool, ReadError> {
        self.source.reader.search();
        let (mut bytes, mut ends) = ([0; 1024], [0; 64]);
        loop {
            let input = match self.source.reader.fill_buf() {
                Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => return Ok(false),
                filled => filled.map_err(|error| self.source.name.failed(error))?,
            };
            if input.is_empty() {
                return Ok(true);
            }
            let (result, consumed, _, _) = self.parser.read_record(input, &mut bytes, &mut ends);
            let (breaks, length) = (line_breaks(&input[..consumed]), consumed as u64);
            self.source.reader.consume(consumed);
            self.line += breaks;
            self.offset += length;
            if matches!(result, ReadRecordResult::Record | ReadRecordResult::End) {
                return Ok(true);
            }
        }
    }

    fn skip_line_breaks(&mut self) -> Result<(), ReadError> {
        // A small file can unpack to no end of line breaks.
        self.source.reader.search();
        let place = self.place();
        loop {
            let input = match self.source.reader.fill_buf() {
                Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => {
                    return Err(ReadError::DocumentTooLarge {
                        place,
                        limit: self.source.name.watch.budget.search(),
                        rest_lost: true,
                    });
                }
                filled => filled.map_err(|error| self.source.name.failed(error))?,
            };
            let count = input
                .iter()
                .take_while(|byte| matches!(byte, b'\n' | b'\r'))
                .count();
            if count == 0 {
                self.source.reader.renew();
                return Ok(());
            }
            let breaks = line_breaks(&input[..count]);
            self.source.reader.consume(count);
            self.line += breaks;
            self.offset += count as u64;
        }
    }
}
