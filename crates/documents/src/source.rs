//! The bytes of one input file: counted as they are read from disk, decompressed, decoded to UTF-8, and
//! limited by the budget of a document.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::budget::Halt;
use crate::compression::{BUFFER_BYTES, Compression};
use crate::encoding::{Encoding, Sample, Text, Transcoded, text_of};
use crate::error::ReadError;
use crate::files::{InputFile, Origin};
use crate::format::Format;
use crate::notice::NoticeKind;
use crate::place::Place;
use crate::watch::Watch;

/// How many bytes of a table are inspected to detect its encoding.
const SAMPLE_BYTES: usize = BUFFER_BYTES;

/// An open input file.
pub(crate) struct Source {
    pub(crate) name: Name,
    pub(crate) reader: Metered,
    /// The number of the last line that was read, from 1.
    line: u64,
    /// The offset of the next line, after decompression.
    pub(crate) offset: u64,
    /// Whether the encoding is known.
    decided: bool,
    format: Format,
}

/// The name of the file in messages, and the limits on reading it.
#[derive(Clone)]
pub(crate) struct Name {
    pub(crate) path: PathBuf,
    pub(crate) compression: Option<Compression>,
    pub(crate) watch: Watch,
}

impl Name {
    /// The error for a failed read.
    pub(crate) fn failed(&self, source: io::Error) -> ReadError {
        ReadError::from_io(source, &self.path, self.compression, self.watch.budget)
    }

    pub(crate) fn line(&self, number: u64) -> Place {
        Place::line(&self.path, number)
    }

    /// `bytes` as text. They start at the line `line` and the byte `offset` of the file.
    pub(crate) fn decode(
        &self,
        bytes: Vec<u8>,
        line: u64,
        offset: u64,
    ) -> Result<String, ReadError> {
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            ReadError::InvalidUtf8 {
                place: self.line(line + line_breaks(&error.as_bytes()[..valid])),
                byte_offset: offset + valid as u64,
            }
        })
    }
}

impl Source {
    /// Opens a file; `bytes_read` counts the bytes read from disk. `encoding` is that of its text, if
    /// given; opening a table detects it.
    pub(crate) fn open(
        file: &InputFile,
        bytes_read: Arc<AtomicU64>,
        watch: &Watch,
        encoding: Option<Encoding>,
    ) -> Result<Self, ReadError> {
        let mut name = Name {
            path: file.path.clone(),
            compression: file.compression,
            watch: watch.clone(),
        };
        let inner: Box<dyn Read + Send> = match (&file.content, file.origin) {
            (Some(content), _) => Box::new(Cursor::new(content.clone())),
            (None, Origin::Stdin) => Box::new(io::stdin()),
            (None, Origin::Named | Origin::Found) => {
                Box::new(file.open().map_err(|error| name.failed(error))?)
            }
        };
        let counted = Counted { inner, bytes_read };
        let compressed = BufReader::with_capacity(BUFFER_BYTES, counted);
        let mut reader: Box<dyn BufRead + Send> = if file.origin == Origin::Stdin {
            let (first, rest) = split_start(compressed, Compression::MAGIC_BYTES, &name)?;
            name.compression = Compression::of(&first);
            decompressed(Cursor::new(first).chain(rest), &name)?
        } else {
            decompressed(compressed, &name)?
        };
        let decided = encoding.is_some();
        let (first, rest) = split_start(reader, Encoding::MARK_BYTES, &name)?;
        let mark = match file.format {
            Format::Pdf => None,
            _ => Encoding::of_mark(&first),
        };
        let length = mark.map_or(0, |(_, length)| length);
        let after_mark = first.get(length..).unwrap_or_default().to_vec();
        reader = Box::new(Cursor::new(after_mark).chain(rest));
        let mut known = encoding.or(mark.map(|(encoding, _)| encoding));
        if known.is_none() && file.format.is_table() {
            (known, reader) = sampled(reader, &name, file.format)?;
        }
        if let Some(encoding) = known.filter(|&encoding| encoding != Encoding::UTF_8) {
            reader = Box::new(Transcoded::new(reader, encoding));
            if !decided {
                let malformed = 0;
                let kind = NoticeKind::Decoded {
                    encoding,
                    malformed,
                };
                name.watch.notices.add(name.path.clone(), kind);
            }
        }
        Ok(Self {
            name,
            reader: Metered::new(reader, watch.clone()),
            line: 0,
            offset: length as u64,
            decided: known.is_some(),
            format: file.format,
        })
    }

    /// The next line without its line break; `None` at the end. A line that is not UTF-8, or is
    /// longer than a document may be, is an error, after which the following lines can still be
    /// read.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, String)>, ReadError> {
        let mut bytes = Vec::new();
        let read = self.reader.read_until(b'\n', &mut bytes);
        let start = self.offset;
        self.offset += bytes.len() as u64;
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => self.line += 1,
            Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => {
                drop(bytes);
                self.line += 1;
                let rest_lost = !self.skip_line()?;
                let limit = self.name.watch.budget.document_bytes;
                let place = self.name.line(self.line);
                return Err(ReadError::too_large(place, limit, rest_lost));
            }
            Err(error) => return Err(self.name.failed(error)),
        }
        if bytes.ends_with(b"\n") {
            bytes.pop();
            if bytes.ends_with(b"\r") {
                bytes.pop();
            }
        }
        let text = self.name.decode(bytes, self.line, start)?;
        Ok(Some((self.line, text)))
    }

    /// The bytes of the next line with its line break, and its number; `None` at the end.
    pub(crate) fn next_bytes(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let mut bytes = Vec::new();
        self.reader.read_until(b'\n', &mut bytes)?;
        self.offset += bytes.len() as u64;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        Ok(Some((self.line, bytes)))
    }

    /// Skips the rest of a line; false if its end is out of reach.
    fn skip_line(&mut self) -> Result<bool, ReadError> {
        self.reader.search();
        loop {
            let Some(filled) = fill(&mut self.reader, &self.name)? else {
                return Ok(false);
            };
            if filled.is_empty() {
                return Ok(true);
            }
            let end = filled.iter().position(|&byte| byte == b'\n');
            let count = end.map_or(filled.len(), |end| end + 1);
            self.reader.consume(count);
            self.offset += count as u64;
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// All remaining bytes.
    pub(crate) fn read_bytes(&mut self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        self.reader
            .read_to_end(&mut bytes)
            .map_err(|source| self.name.failed(source))?;
        Ok(bytes)
    }

    /// All remaining text, in any encoding.
    pub(crate) fn read_all(&mut self) -> Result<String, ReadError> {
        let bytes = self.read_bytes()?;
        let Name { path, watch, .. } = &self.name;
        let text = match text_of(bytes, self.format == Format::Html) {
            Text::Plain(text) => text,
            Text::WithoutNuls { text, nuls } => {
                let kind = NoticeKind::NulsLeftOut { count: nuls };
                watch.notices.add(path.clone(), kind);
                text
            }
            // Decoded text is UTF-8, whatever it looks like.
            Text::Decoded { .. } if self.decided => {
                return Err(ReadError::NoText { path: path.clone() });
            }
            Text::Decoded {
                text,
                encoding,
                malformed,
            } => {
                let kind = NoticeKind::Decoded {
                    encoding,
                    malformed,
                };
                watch.notices.add(path.clone(), kind);
                text
            }
            Text::Damaged { bytes } => return self.name.decode(bytes, 1, self.offset),
            Text::Binary => return Err(ReadError::NoText { path: path.clone() }),
        };
        match text.len() as u64 > watch.budget.document_bytes {
            true => Err(watch.too_large(Place::whole(path))),
            false => Ok(text),
        }
    }
}

/// The encoding of a table, if it is another than UTF-8, and the table from its beginning.
fn sampled(
    table: Box<dyn BufRead + Send>,
    name: &Name,
    format: Format,
) -> Result<(Option<Encoding>, Box<dyn BufRead + Send>), ReadError> {
    let (bytes, rest) = split_start(table, SAMPLE_BYTES, name)?;
    let sample = Sample {
        bytes: &bytes,
        complete: bytes.len() < SAMPLE_BYTES,
    };
    let encoding = sample.encoding(format == Format::JsonLines);
    let table: Box<dyn BufRead + Send> = Box::new(Cursor::new(bytes).chain(rest));
    Ok((encoding, table))
}

fn decompressed(
    compressed: impl BufRead + Send + 'static,
    name: &Name,
) -> Result<Box<dyn BufRead + Send>, ReadError> {
    match name.compression {
        None => Ok(Box::new(compressed)),
        Some(compression) => compression
            .decompress(compressed, name.watch.budget)
            .map_err(|error| name.failed(error)),
    }
}

/// The first `count` bytes, or fewer if there are no more, and the reader after them.
fn split_start<R: Read>(
    mut reader: R,
    count: usize,
    name: &Name,
) -> Result<(Vec<u8>, R), ReadError> {
    let mut first = Vec::with_capacity(count);
    let read = reader.by_ref().take(count as u64).read_to_end(&mut first);
    read.map_err(|error| name.failed(error))?;
    Ok((first, reader))
}

/// The next bytes of `reader`, empty at its end; `None` if the budget is used up.
pub(crate) fn fill<'r>(
    reader: &'r mut impl BufRead,
    name: &Name,
) -> Result<Option<&'r [u8]>, ReadError> {
    match reader.fill_buf() {
        Ok(filled) => Ok(Some(filled)),
        Err(error) if Halt::of(&error) == Some(Halt::OverBudget) => Ok(None),
        Err(error) => Err(name.failed(error)),
    }
}

/// How many lines end in `bytes`.
pub(crate) fn line_breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// A reader that returns no more than the budget of a document at a time, and fails once the
/// reading is stopped. It comes after decompression, so that it counts the bytes that take memory.
pub(crate) struct Metered {
    inner: Box<dyn BufRead + Send>,
    watch: Watch,
    left: u64,
}

impl Metered {
    pub(crate) fn new(inner: Box<dyn BufRead + Send>, watch: Watch) -> Self {
        Self {
            inner,
            left: watch.budget.document_bytes,
            watch,
        }
    }

    /// A reader at its end.
    pub(crate) fn empty(watch: Watch) -> Self {
        Self::new(Box::new(io::empty()), watch)
    }

    /// Renews the budget for the next document.
    pub(crate) fn renew(&mut self) {
        self.left = self.watch.budget.document_bytes;
    }

    /// Sets the budget to what may be skipped to find the start of the next document.
    pub(crate) fn search(&mut self) {
        self.left = self.watch.budget.search();
    }

    /// Puts consumed `bytes` back.
    pub(crate) fn put_back(self, bytes: &'static [u8]) -> Self {
        Self {
            inner: Box::new(Cursor::new(bytes).chain(self.inner)),
            ..self
        }
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Metered {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.watch.stopped() {
            return Err(io::Error::other(Halt::Stopped));
        }
        let filled = self.inner.fill_buf()?;
        if filled.is_empty() {
            return Ok(filled);
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        match filled.get(..left.min(filled.len())) {
            Some(granted) if !granted.is_empty() => Ok(granted),
            _ => Err(io::Error::other(Halt::OverBudget)),
        }
    }

    fn consume(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count as u64);
        self.inner.consume(count);
    }
}

/// A reader that counts its bytes.
struct Counted<R> {
    inner: R,
    bytes_read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
