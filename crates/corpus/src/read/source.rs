//! The bytes of one input file: decompressed, without byte order mark, checked to be UTF-8, and
//! counted as they come from the disk.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::error::ReadError;
use super::files::InputFile;

const BUFFER_BYTES: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An open input file.
pub(super) struct Source {
    path: PathBuf,
    gzip: bool,
    reader: Box<dyn BufRead + Send>,
    /// The number of the last line that was read, from 1.
    line: u64,
    /// Where the next line begins, after decompression.
    offset: u64,
}

impl Source {
    /// Opens a file; `bytes_read` grows with what is taken from the disk.
    pub(super) fn open(file: &InputFile, bytes_read: Arc<AtomicU64>) -> Result<Self, ReadError> {
        let opened = File::open(&file.path)
            .map_err(|source| ReadError::from_io(source, &file.path, false))?;
        let counted = BufReader::with_capacity(
            BUFFER_BYTES,
            Counted {
                inner: opened,
                bytes_read,
            },
        );
        let reader: Box<dyn BufRead + Send> = if file.gzip {
            Box::new(BufReader::with_capacity(
                BUFFER_BYTES,
                MultiGzDecoder::new(counted),
            ))
        } else {
            Box::new(counted)
        };
        Ok(Self {
            path: file.path.clone(),
            gzip: file.gzip,
            reader,
            line: 0,
            offset: 0,
        })
    }

    /// The next line without its line break; `None` at the end. A line that is not UTF-8 is an
    /// error, after which the following lines can still be read.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, String)>, ReadError> {
        let mut bytes = Vec::new();
        let count = self
            .reader
            .read_until(b'\n', &mut bytes)
            .map_err(|source| ReadError::from_io(source, &self.path, self.gzip))?;
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
        let text = self.decode(bytes, self.line, start)?;
        Ok(Some((self.line, text)))
    }

    /// All the text that is left.
    pub(super) fn read_all(&mut self) -> Result<String, ReadError> {
        let mut bytes = Vec::new();
        self.reader
            .read_to_end(&mut bytes)
            .map_err(|source| ReadError::from_io(source, &self.path, self.gzip))?;
        self.decode(bytes, 1, 0)
    }

    fn decode(&self, bytes: Vec<u8>, line: u64, offset: u64) -> Result<String, ReadError> {
        let mut text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..valid];
            ReadError::InvalidUtf8 {
                path: self.path.clone(),
                line: line + before.iter().filter(|&&byte| byte == b'\n').count() as u64,
                byte_offset: offset + valid as u64,
            }
        })?;
        if offset == 0 && text.as_bytes().starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(text)
    }
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
