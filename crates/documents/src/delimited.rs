//! Comma- and tab-separated values with a header, quoted as spreadsheets and DPR's `psgs_w100.tsv`
//! do it (a quote within quotes is doubled).

use std::collections::HashSet;
use std::io::BufRead;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::fields;
use crate::names::{ID_NAMES, TEXT_NAMES};
use crate::place::Place;
use crate::record::{self, Record};
use crate::source::{Source, fill, line_breaks};

/// The records of a file. A wrong record is an error, after which the next one is read.
pub(crate) fn records(
    source: Source,
    delimiter: u8,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send, ReadError> {
    let mut rows = Rows::new(source, delimiter);
    let header = header(&mut rows)?;
    let next = move || {
        let Some(row) = rows.next_row()? else {
            return Ok(None);
        };
        let place = row.place.clone();
        let document = fields::document(row.fields(&header)?, &place)?;
        Ok(Some(Record { document, place }))
    };
    Ok(record::records(next, ReadError::concerns_record))
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
    for required in [ID_NAMES, TEXT_NAMES] {
        if !names.iter().any(|name| required.contains(&name.as_str())) {
            return Err(ReadError::MissingColumn {
                place: row.place,
                names: required,
            });
        }
    }
    Ok(names)
}

/// One record: its fields concatenated, and where each of them ends.
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
    /// The line of the next byte, from 1.
    line: u64,
    /// The offset of the next byte, after decompression.
    offset: u64,
}

impl Rows {
    fn new(source: Source, delimiter: u8) -> Self {
        Self {
            parser: ReaderBuilder::new().delimiter(delimiter).build(),
            line: 1,
            offset: source.offset,
            source,
        }
    }

    fn place(&self) -> Place {
        self.source.name.line(self.line)
    }

    /// The next record; `None` at the end. Empty lines are skipped. After a record that is over the
    /// budget, and has an end, the next one can be read.
    fn next_row(&mut self) -> Result<Option<Row>, ReadError> {
        self.skip_line_breaks()?;
        let place = self.place();
        let (line, offset) = (self.line, self.offset);
        let budget = self.source.name.watch.budget;
        let largest = budget.document_bytes;
        let most = usize::try_from(budget.parts()).unwrap_or(usize::MAX);
        let (mut bytes, mut length) = (vec![0; 1024], 0);
        let (mut ends, mut count) = (vec![0; 16], 0);
        // The bytes as in the file: `bytes` has no quotes.
        let mut raw = Vec::new();
        loop {
            let Some(input) = fill(&mut self.source.reader, &self.source.name)? else {
                self.count(&raw);
                drop((raw, bytes));
                return Err(ReadError::too_large(place, largest, !self.skip_row()?));
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
                    self.count(&raw);
                    drop((raw, bytes));
                    return Err(match self.skip_row()? {
                        true => self.source.name.watch.too_many(place, "fields"),
                        false => ReadError::too_large(place, largest, true),
                    });
                }
                ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::Record => break,
            }
        }
        self.count(&raw);
        self.source.name.decode(raw, line, offset)?;
        bytes.truncate(length);
        ends.truncate(count);
        let text = self.source.name.decode(bytes, line, offset)?;
        Ok(Some(Row { place, text, ends }))
    }

    /// Counts consumed bytes.
    fn count(&mut self, raw: &[u8]) {
        self.line += line_breaks(raw);
        self.offset += raw.len() as u64;
    }

    /// Skips the rest of a record; false where its end is out of reach.
    fn skip_row(&mut self) -> Result<bool, ReadError> {
        self.source.reader.search();
        let (mut bytes, mut ends) = ([0; 1024], [0; 64]);
        loop {
            let Some(input) = fill(&mut self.source.reader, &self.source.name)? else {
                return Ok(false);
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
        // A small file can decompress to endless line breaks.
        self.source.reader.search();
        let place = self.place();
        loop {
            let Some(input) = fill(&mut self.source.reader, &self.source.name)? else {
                let limit = self.source.name.watch.budget.search();
                return Err(ReadError::too_large(place, limit, true));
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
