//! The bytes of one input file: decompressed, without byte order mark, checked to be UTF-8, and
//! counted as they come from the disk.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compression::Compression;
use super::error::ReadError;
use super::files::{InputFile, Origin};
use super::place::Place;

pub(super) const BUFFER_BYTES: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An open input file.
pub(super) struct Source {
    pub(super) name: Name,
    pub(super) reader: Box<dyn BufRead + Send>,
    /// The number of the last line that was read, from 1.
    line: u64,
    /// Where the next line begins, after decompression.
    offset: u64,
}

/// What messages say about the file.
#[derive(Clone)]
pub(super) struct Name {
    pub(super) path: PathBuf,
    pub(super) compression: Option<Compression>,
}

impl Name {
    /// What a failed read means.
    pub(super) fn failed(&self, source: io::Error) -> ReadError {
        ReadError::from_io(source, &self.path, self.compression)
    }

    pub(super) fn line(&self, number: u64) -> Place {
        Place::line(&self.path, number)
    }

    /// `bytes` as text, which begin at the line `line` and the byte `offset` of the file.
    pub(super) fn decode(
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
    /// Opens a file; `bytes_read` grows with what is taken from the disk.
    pub(super) fn open(file: &InputFile, bytes_read: Arc<AtomicU64>) -> Result<Self, ReadError> {
        let mut name = Name {
            path: file.path.clone(),
            compression: file.compression,
        };
        let inner: Box<dyn Read + Send> = match file.origin {
            Origin::Stdin => Box::new(io::stdin()),
            Origin::Named | Origin::Found => {
                Box::new(File::open(&file.path).map_err(|error| name.failed(error))?)
            }
        };
        let counted = Counted { inner, bytes_read };
        let packed = BufReader::with_capacity(BUFFER_BYTES, counted);
        let mut reader: Box<dyn BufRead + Send> = if file.origin == Origin::Stdin {
            let (first, packed) =
                begin(packed, Compression::TOLD_BY).map_err(|error| name.failed(error))?;
            name.compression = Compression::of(&first);
            unpacked(Cursor::new(first).chain(packed), &name)?
        } else {
            unpacked(packed, &name)?
        };
        let (first, rest) =
            begin(reader, BYTE_ORDER_MARK.len()).map_err(|error| name.failed(error))?;
        let offset = if first == BYTE_ORDER_MARK {
            reader = rest;
            BYTE_ORDER_MARK.len() as u64
        } else {
            reader = Box::new(Cursor::new(first).chain(rest));
            0
        };
        Ok(Self {
            name,
            reader,
            line: 0,
            offset,
        })
    }

    /// What is read and not consumed yet; empty at the end.
    pub(super) fn fill(&mut self) -> Result<&[u8], ReadError> {
        self.reader
            .fill_buf()
            .map_err(|error| self.name.failed(error))
    }

    /// Where the next byte stands in the file, after decompression.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line without its line break; `None` at the end. A line that is not UTF-8 is an
    /// error, after which the following lines can still be read.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, String)>, ReadError> {
        let mut bytes = Vec::new();
        let count = self
            .reader
            .read_until(b'\n', &mut bytes)
            .map_err(|source| self.name.failed(source))?;
        if count == 0 {
            return Ok(None);
        }
        let start = self.offset;
        self.line += 1;
        self.offset += count as u64;
        if bytes.ends_with(b"\n") {
            bytes.pop();
            if bytes.ends_with(b"\r") {
                bytes.pop();
            }
        }
        let text = self.name.decode(bytes, self.line, start)?;
        Ok(Some((self.line, text)))
    }

    /// All the bytes that are left.
    pub(super) fn read_bytes(&mut self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        self.reader
            .read_to_end(&mut bytes)
            .map_err(|source| self.name.failed(source))?;
        Ok(bytes)
    }

    /// All the text that is left.
    pub(super) fn read_all(&mut self) -> Result<String, ReadError> {
        let bytes = self.read_bytes()?;
        self.name.decode(bytes, 1, self.offset)
    }
}

fn unpacked(
    packed: impl BufRead + Send + 'static,
    name: &Name,
) -> Result<Box<dyn BufRead + Send>, ReadError> {
    match name.compression {
        None => Ok(Box::new(packed)),
        Some(compression) => compression
            .unpack(packed)
            .map_err(|error| name.failed(error)),
    }
}

/// The first `count` bytes, or fewer where there are no more, and the reader behind them.
fn begin<R: Read>(mut reader: R, count: usize) -> io::Result<(Vec<u8>, R)> {
    let mut first = Vec::with_capacity(count);
    reader.by_ref().take(count as u64).read_to_end(&mut first)?;
    Ok((first, reader))
}

/// How many lines end in `bytes`.
pub(super) fn line_breaks(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Counts the bytes that are read.
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
