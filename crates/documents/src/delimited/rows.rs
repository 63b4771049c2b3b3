//! The records of a file, within the budget.

use std::io::BufRead;

use super::splitter::{Splitter, Step};
use crate::error::ReadError;
use crate::place::Place;
use crate::source::{Source, fill, line_breaks};

/// How many bytes may be read twice, besides as many as were read once: rows after a quote that is never closed.
const READ_AGAIN: u64 = 1 << 20;

/// One record: its fields concatenated, and the end of each.
pub(super) struct Row {
    pub(super) place: Place,
    text: String,
    ends: Vec<usize>,
}

impl Row {
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let text = self.text.get(start..end).unwrap_or_default();
            start = end;
            text
        })
    }
}

/// The records of a file, one by one.
pub(super) struct Rows {
    source: Source,
    delimiter: u8,
    /// Whether a quote that is never closed is an ordinary sign, as in most tab-separated files.
    lenient: bool,
    /// The line of the next byte, from 1.
    line: u64,
    /// The offset of the next byte, after decompression.
    offset: u64,
    /// Bytes that were put back.
    again: Vec<u8>,
    /// How many of these were taken.
    taken: usize,
    /// How many bytes were put back so far.
    put_back: u64,
}

/// How the reading of some bytes ended.
enum Piece {
    Bytes,
    End,
    OverBudget,
}

impl Rows {
    pub(super) fn new(source: Source, delimiter: u8) -> Self {
        Self {
            delimiter,
            lenient: delimiter == b'\t',
            line: 1,
            offset: source.offset,
            source,
            again: Vec::new(),
            taken: 0,
            put_back: 0,
        }
    }

    /// Determines the separator of the fields from the first line.
    pub(super) fn separate_by(&mut self, decide: impl Fn(&str) -> u8) -> Result<(), ReadError> {
        self.skip_line_breaks()?;
        let Some(start) = fill(&mut self.source.reader, &self.source.name)? else {
            return Ok(());
        };
        let end = start.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let line = start.get(..end.unwrap_or(start.len())).unwrap_or_default();
        self.delimiter = decide(&String::from_utf8_lossy(line));
        self.lenient = self.delimiter == b'\t';
        Ok(())
    }

    pub(super) fn place(&self) -> Place {
        self.source.name.line(self.line)
    }

    /// The next record; `None` at the end. Empty lines are skipped. After a record that is over the
    /// budget, and has an end, the next one can be read, and after a quote that is never closed the next line.
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, ReadError> {
        self.skip_line_breaks()?;
        let place = self.place();
        let (line, offset) = (self.line, self.offset);
        let budget = self.source.name.watch.budget;
        let most = usize::try_from(budget.parts()).unwrap_or(usize::MAX);
        let mut splitter = Splitter::new(self.delimiter, most);
        let mut raw = Vec::new();
        loop {
            let start = raw.len();
            let piece = self.next_line(&mut raw)?;
            let (taken, mut step) = splitter.take(raw.get(start..).unwrap_or_default());
            let mut end = start + taken;
            let at_end = matches!(piece, Piece::End);
            // The end of the file ends every record, and every quote.
            if at_end && step == Step::Open {
                if raw.is_empty() {
                    return Ok(None);
                }
                step = match splitter.is_quoted() {
                    true => Step::Unbalanced,
                    false => splitter.take(b"\n").1,
                };
            }
            while step == Step::Unbalanced {
                (end, step) = self.mend(&mut raw, end, &mut splitter)?;
            }
            if splitter.ends.len() > most {
                return Err(match self.skip_row(&raw, splitter, step)? {
                    true => self.source.name.watch.too_many(place, "fields"),
                    false => ReadError::too_large(place, budget.document_bytes, true),
                });
            }
            if step == Step::Ended {
                break;
            }
            if matches!(piece, Piece::OverBudget) {
                let rest_lost = !self.skip_row(&raw, splitter, step)?;
                return Err(ReadError::too_large(
                    place,
                    budget.document_bytes,
                    rest_lost,
                ));
            }
        }
        self.count(&raw);
        self.source.name.decode(raw, line, offset)?;
        let text = self.source.name.decode(splitter.fields, line, offset)?;
        let ends = splitter.ends;
        Ok(Some(Row { place, text, ends }))
    }

    /// Recovers from an unclosed quote, in the field that ends at `end` of `raw`: reads the quote as an ordinary sign up
    /// to the end of its line, or fails.
    fn mend(
        &mut self,
        raw: &mut Vec<u8>,
        end: usize,
        splitter: &mut Splitter,
    ) -> Result<(usize, Step), ReadError> {
        let quote = end.saturating_sub(splitter.quoted_length());
        let field = raw.get(quote..).unwrap_or_default();
        let breaks = field.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let next = breaks.map_or(raw.len(), |index| quote + index + 1);
        let again = raw.split_off(next);
        self.put_back += again.len() as u64;
        let affordable = self.put_back <= self.offset.saturating_add(READ_AGAIN);
        if !affordable {
            self.count(&again);
        }
        if !self.lenient || !affordable {
            let before = raw.get(..quote).unwrap_or_default();
            let line = self.line + line_breaks(before);
            self.count(raw);
            if affordable {
                self.again(again);
            }
            let place = self.source.name.line(line);
            return Err(ReadError::OpenQuote { place });
        }
        self.again(again);
        splitter.unquote();
        let rest = raw.get(quote + 1..).unwrap_or_default();
        let (taken, step) = splitter.take(rest);
        let step = match step {
            Step::Open if splitter.is_quoted() => Step::Unbalanced,
            // The last line of the file.
            Step::Open => splitter.take(b"\n").1,
            step => step,
        };
        Ok((quote + 1 + taken, step))
    }

    /// Puts back the last bytes that were read.
    fn again(&mut self, bytes: Vec<u8>) {
        match self.taken.checked_sub(bytes.len()) {
            Some(taken) if !self.again.is_empty() => self.taken = taken,
            _ => {
                self.again = bytes;
                self.taken = 0;
            }
        }
    }

    /// Appends the bytes up to and including the next line break.
    fn next_line(&mut self, raw: &mut Vec<u8>) -> Result<Piece, ReadError> {
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
        loop {
            let waiting = self.again.get(self.taken..).unwrap_or_default();
            if !waiting.is_empty() {
                let end = waiting.iter().position(ends);
                let count = end.map_or(waiting.len(), |end| end + 1);
                raw.extend_from_slice(&waiting[..count]);
                self.taken += count;
                if end.is_some() {
                    return Ok(Piece::Bytes);
                }
                continue;
            }
            let Some(input) = fill(&mut self.source.reader, &self.source.name)? else {
                return Ok(Piece::OverBudget);
            };
            if input.is_empty() {
                return Ok(Piece::End);
            }
            // From here on, more bytes are put back than were waiting.
            self.again = Vec::new();
            self.taken = 0;
            let end = input.iter().position(ends);
            let count = end.map_or(input.len(), |end| end + 1);
            raw.extend_from_slice(&input[..count]);
            self.source.reader.consume(count);
            if end.is_some() {
                return Ok(Piece::Bytes);
            }
        }
    }

    /// Counts consumed bytes.
    fn count(&mut self, raw: &[u8]) {
        self.line += line_breaks(raw);
        self.offset += raw.len() as u64;
    }

    /// Skips the rest of a record of which `raw` was read; false if its end is out of reach.
    fn skip_row(
        &mut self,
        raw: &[u8],
        mut splitter: Splitter,
        step: Step,
    ) -> Result<bool, ReadError> {
        self.count(raw);
        if step == Step::Ended {
            return Ok(true);
        }
        splitter.discard();
        self.source.reader.search();
        let waiting = self.again.get(self.taken..).unwrap_or_default().to_vec();
        let (count, step) = splitter.take(&waiting);
        self.count(waiting.get(..count).unwrap_or_default());
        self.taken += count;
        if step != Step::Open {
            return Ok(true);
        }
        loop {
            let Some(input) = fill(&mut self.source.reader, &self.source.name)? else {
                return Ok(false);
            };
            if input.is_empty() {
                return Ok(true);
            }
            let (count, step) = splitter.take(input);
            let (breaks, length) = (line_breaks(&input[..count]), count as u64);
            self.source.reader.consume(count);
            self.line += breaks;
            self.offset += length;
            if step != Step::Open {
                return Ok(true);
            }
        }
    }

    fn skip_line_breaks(&mut self) -> Result<(), ReadError> {
        // A small file can decompress to endless line breaks.
        self.source.reader.search();
        let place = self.place();
        loop {
            let waiting = self.again.get(self.taken..).unwrap_or_default();
            let breaks = |bytes: &[u8]| {
                let breaks = bytes
                    .iter()
                    .take_while(|byte| matches!(byte, b'\n' | b'\r'));
                breaks.count()
            };
            let count = breaks(waiting);
            if count > 0 {
                let lines = line_breaks(&waiting[..count]);
                self.taken += count;
                self.line += lines;
                self.offset += count as u64;
            }
            if self.taken < self.again.len() {
                self.source.reader.renew();
                return Ok(());
            }
            let Some(input) = fill(&mut self.source.reader, &self.source.name)? else {
                let limit = self.source.name.watch.budget.search();
                return Err(ReadError::too_large(place, limit, true));
            };
            let count = breaks(input);
            if count == 0 {
                self.source.reader.renew();
                return Ok(());
            }
            let lines = line_breaks(&input[..count]);
            self.source.reader.consume(count);
            self.line += lines;
            self.offset += count as u64;
        }
    }
}
