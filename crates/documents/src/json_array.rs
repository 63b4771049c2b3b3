//! JSON arrays of records, read element by element, so that an array may have any length. One that an object wraps, such as
//! `{"data": […], "count": 2}`, is read as a whole.

use std::io::{BufRead, Cursor};
use std::ops::Range;

use crate::budget::Halt;
use crate::error::ReadError;
use crate::fields::{Kind, Shape};
use crate::format::Format;
use crate::jsonl;
use crate::place::Place;
use crate::record::{self, Record};
use crate::source::{Metered, Source, line_breaks};

/// The least share of an object that a list takes which it wraps: one in so many bytes. Others are settings.
const WRAPPED_SHARE: usize = 3;

/// The records of a file. A broken one is an error, after which the next one is read.
///
/// # Errors
/// [`ReadError::UnknownFormat`] if the file is neither an array nor a sequence of records, or if
/// `in_folder` and the first element is not a record.
pub(crate) fn records(
    source: Source,
    in_folder: bool,
    shape: Shape,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send, ReadError> {
    let mut elements = Elements {
        source,
        shape,
        number: 0,
        line: 1,
        in_array: false,
        started: false,
    };
    let first = elements.next_record();
    let is_none = match &first {
        Err(error) => error.concerns_record() && (in_folder || !elements.in_array),
        Ok(None) => !elements.in_array,
        Ok(Some(_)) => false,
    };
    if is_none {
        return Err(ReadError::UnknownFormat {
            path: elements.source.name.path.clone(),
        });
    }
    let mut first = Some(first);
    let next = move || match first.take() {
        Some(first) => first,
        None => elements.next_record(),
    };
    Ok(record::records(next, ReadError::concerns_record))
}

/// The elements of an array, or values one after another.
struct Elements {
    source: Source,
    shape: Shape,
    /// The number of the last element, from 1.
    number: u64,
    line: u64,
    in_array: bool,
    started: bool,
}

/// The state of a scan within a value.
#[derive(Default)]
struct Scan {
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl Scan {
    /// Whether the value ends before this byte, or with it.
    fn end(&mut self, byte: u8) -> Option<End> {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = self.quoted,
            b'"' => self.quoted = !self.quoted,
            _ if self.quoted => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth == 0 => return Some(End::Before),
            b'}' | b']' => {
                self.depth -= 1;
                return (self.depth == 0).then_some(End::With);
            }
            b',' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => return Some(End::Before),
            _ => {}
        }
        None
    }
}

#[derive(Clone, Copy)]
enum End {
    Before,
    With,
}

impl Elements {
    fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        self.source.reader.renew();
        if !self.begin()? {
            return Ok(None);
        }
        if !self.in_array {
            // Other JSON is no table.
            self.shape.kind = Kind::Texts;
        }
        self.number += 1;
        let place = self.source.name.line(self.line);
        let text = self.element()?;
        if !self.in_array
            && self.number == 1
            && let Some(list) = self.wrapped(&text, &place)?
        {
            self.enter(&text, list, place.number());
            return self.next_record();
        }
        let fields = jsonl::fields(&text, &place, &self.source.name.watch)?;
        let document = self.shape.document(fields, self.number, &place)?;
        Ok(Some(Record { document, place }))
    }

    /// The place of the list that an object wraps, if the object is the whole file and no record itself.
    fn wrapped(&mut self, text: &str, place: &Place) -> Result<Option<Range<usize>>, ReadError> {
        let is_most = |list: &Range<usize>| list.len() * WRAPPED_SHARE >= text.len();
        let Some(list) = longest_list(text).filter(is_most) else {
            return Ok(None);
        };
        let fields = jsonl::fields(text, place, &self.source.name.watch);
        let mut shape = self.shape.clone();
        let record = fields.and_then(|fields| shape.document(fields, self.number, place));
        self.source.reader.renew();
        Ok((record.is_err() && !self.begin()?).then_some(list))
    }

    /// Reads on in a list within `text`, which begins on the line `line`.
    fn enter(&mut self, text: &str, list: Range<usize>, line: u64) {
        let (before, inside) = (&text[..list.start], &text[list]);
        let reader = Box::new(Cursor::new(inside.as_bytes().to_vec()));
        self.source.reader = Metered::new(reader, self.source.name.watch.clone());
        self.shape.kind = Kind::Unsettled;
        self.line = line + line_breaks(before.as_bytes());
        self.number = 0;
        self.started = false;
    }

    /// Skips to the next element; false if there is none.
    fn begin(&mut self) -> Result<bool, ReadError> {
        loop {
            let Some(&byte) = self.fill()?.first() else {
                return match self.in_array {
                    true => {
                        let (path, reason) = (&self.source.name.path, "it ends within its array");
                        Err(ReadError::broken(path, Format::Json, reason))
                    }
                    false => Ok(false),
                };
            };
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\r' | b'\t' | b',' => {}
                b'[' if !self.started => self.in_array = true,
                b']' if self.in_array => return Ok(false),
                _ => {
                    self.started = true;
                    return Ok(true);
                }
            }
            self.started |= byte == b'[';
            self.source.reader.consume(1);
        }
    }

    /// The text of an element.
    fn element(&mut self) -> Result<String, ReadError> {
        let start = self.line;
        let mut scan = Scan::default();
        let mut bytes = Some(Vec::new());
        loop {
            let filled = match self.source.reader.fill_buf() {
                Ok([]) => break,
                Ok(filled) => filled,
                Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => {
                    if bytes.take().is_none() {
                        return Err(self.too_large(start, true));
                    }
                    self.source.reader.search();
                    continue;
                }
                Err(error) => return Err(self.source.name.failed(error)),
            };
            let end = filled
                .iter()
                .enumerate()
                .find_map(|(index, &byte)| Some((index, scan.end(byte)?)));
            let count = match end {
                None => filled.len(),
                Some((index, End::Before)) => index,
                Some((index, End::With)) => index + 1,
            };
            self.line += line_breaks(&filled[..count]);
            if let Some(bytes) = &mut bytes {
                bytes.extend_from_slice(&filled[..count]);
            }
            // An unmatched closing mark is an element of its own, so that every element takes at least a byte.
            let count = count.max(usize::from(bytes.as_ref().is_some_and(Vec::is_empty)));
            self.source.reader.consume(count);
            if end.is_some() {
                break;
            }
        }
        match bytes {
            Some(bytes) => self.source.name.decode(bytes, start, 0),
            None => Err(self.too_large(start, false)),
        }
    }

    fn too_large(&self, line: u64, rest_lost: bool) -> ReadError {
        let limit = self.source.name.watch.budget.document_bytes;
        ReadError::too_large(self.source.name.line(line), limit, rest_lost)
    }

    fn fill(&mut self) -> Result<&[u8], ReadError> {
        let Source { name, reader, .. } = &mut self.source;
        reader.fill_buf().map_err(|error| name.failed(error))
    }
}

/// The longest list of objects that is in no other list.
fn longest_list(text: &str) -> Option<Range<usize>> {
    let (mut quoted, mut escaped) = (false, false);
    // Where the open list begins, and how many marks are open in it.
    let mut open: Option<(usize, usize)> = None;
    let mut longest: Option<Range<usize>> = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, open) {
            _ if escaped => escaped = false,
            (b'\\', _) => escaped = quoted,
            (b'"', _) => quoted = !quoted,
            _ if quoted => {}
            (b'[', None) => open = Some((at, 1)),
            (b'[' | b'{', Some((start, depth))) => open = Some((start, depth + 1)),
            (b']' | b'}', Some((start, 1))) => {
                open = None;
                let length = longest.as_ref().map_or(0, Range::len);
                if at + 1 - start > length && text[start + 1..].trim_start().starts_with('{') {
                    longest = Some(start..at + 1);
                }
            }
            (b']' | b'}', Some((start, depth))) => open = Some((start, depth - 1)),
            _ => {}
        }
    }
    longest
}
