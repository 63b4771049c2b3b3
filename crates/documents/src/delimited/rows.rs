//! The records of a file, within the budget.

use std::io::BufRead;

use super::separator::declared;
use super::splitter::{Splitter, Step};
use crate::error::ReadError;
use crate::notice::NoticeKind;
use crate::place::Place;
use crate::source::{Name, Source, fill};

/// How many bytes at the start of a file show what separates its fields.
const SAMPLE: usize = 16 << 10;

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

    /// Whether no field has words.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// A place in the file.
#[derive(Clone, Copy)]
struct Position {
    /// The line of the next byte, from 1.
    line: u64,
    /// The offset of the next byte, after decompression.
    offset: u64,
    /// Whether the last byte was a carriage return, which ends a line with or without a line feed.
    after_return: bool,
}

impl Position {
    fn pass(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let ends = byte == b'\r' || (byte == b'\n' && !self.after_return);
            self.line += u64::from(ends);
            self.after_return = byte == b'\r';
        }
        self.offset += bytes.len() as u64;
    }
}

/// The records of a file, one by one.
pub(super) struct Rows {
    source: Source,
    delimiter: u8,
    /// Whether a quote that is never closed is an ordinary sign, as in most tab-separated files.
    lenient: bool,
    position: Position,
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
            position: Position {
                line: 1,
                offset: source.offset,
                after_return: false,
            },
            source,
            again: Vec::new(),
            taken: 0,
            put_back: 0,
        }
    }

    /// Determines the separator of the fields: the one that the first line declares, which is skipped, or else what `decide`
    /// sees in the first rows.
    pub(super) fn separate_by(&mut self, decide: impl Fn(&[u8]) -> u8) -> Result<(), ReadError> {
        self.skip_line_breaks()?;
        let sample = self.sample()?;
        let declared = declared(&sample);
        self.delimiter = declared.unwrap_or_else(|| decide(&sample));
        self.lenient = self.delimiter == b'\t';
        if declared.is_some() {
            self.next_row()?;
        }
        Ok(())
    }

    /// The first bytes, which stay to be read. The reader may give them in small pieces.
    fn sample(&mut self) -> Result<Vec<u8>, ReadError> {
        let mut sample = Vec::new();
        while sample.len() < SAMPLE
            && let Some(input) = fill(&mut self.source.reader, &self.source.name)?
            && !input.is_empty()
        {
            let count = input.len().min(SAMPLE - sample.len());
            sample.extend_from_slice(&input[..count]);
            self.source.reader.consume(count);
        }
        self.again(sample.clone());
        if sample.len() < SAMPLE {
            // The end of the file ends its last row.
            sample.push(b'\n');
        }
        Ok(sample)
    }

    pub(super) fn place(&self) -> Place {
        self.source.name.line(self.position.line)
    }

    /// The notice that there is no row at all.
    pub(super) fn note_without_text(&self) {
        let Name { path, watch, .. } = &self.source.name;
        watch.notices.add(path.clone(), NoticeKind::WithoutText);
    }

    /// The next record; `None` at the end. Empty lines are skipped. After a record that is over the
    /// budget, and has an end, the next one can be read, and after a quote that is never closed the next line.
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, ReadError> {
        self.skip_line_breaks()?;
        let place = self.place();
        let Position { line, offset, .. } = self.position;
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
        self.position.pass(&raw);
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
        let affordable = self.put_back <= self.position.offset.saturating_add(READ_AGAIN);
        if !self.lenient || !affordable {
            self.position.pass(raw.get(..quote).unwrap_or_default());
            let place = self.place();
            self.position.pass(raw.get(quote..).unwrap_or_default());
            match affordable {
                true => self.again(again),
                false => self.position.pass(&again),
            }
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

    /// Skips the rest of a record of which `raw` was read; false if its end is out of reach.
    fn skip_row(
        &mut self,
        raw: &[u8],
        mut splitter: Splitter,
        step: Step,
    ) -> Result<bool, ReadError> {
        self.position.pass(raw);
        if step == Step::Ended {
            return Ok(true);
        }
        splitter.discard();
        self.source.reader.search();
        let waiting = self.again.get(self.taken..).unwrap_or_default().to_vec();
        let (count, step) = splitter.take(&waiting);
        self.position.pass(waiting.get(..count).unwrap_or_default());
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
            self.position.pass(&input[..count]);
            self.source.reader.consume(count);
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
                self.position.pass(&waiting[..count]);
                self.taken += count;
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
            self.position.pass(&input[..count]);
            self.source.reader.consume(count);
        }
    }
}
