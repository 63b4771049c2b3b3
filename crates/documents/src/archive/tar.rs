//! The entries of a tar archive, in the formats of POSIX and GNU, as a stream.

use std::io::{self, Read};
use std::path::Path;

use crate::budget::Halt;
use crate::error::ReadError;
use crate::files::escaped;
use crate::format::Format;
use crate::place::Place;
use crate::source::Source;

const BLOCK: usize = 512;
/// The longest name that an entry may have, and the longest list of its properties, in bytes.
const LONGEST_PROPERTIES: u64 = 1 << 16;

/// A tar archive that is read from start to end.
pub(crate) struct Tar {
    source: Source,
    /// How many bytes are left of the current entry, and how many follow to fill its last block.
    left: u64,
    padding: u64,
    ended: bool,
}

/// The properties that precede an entry and apply to it.
#[derive(Default)]
struct Properties {
    name: Option<String>,
    size: Option<u64>,
}

impl Tar {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            source,
            left: 0,
            padding: 0,
            ended: false,
        }
    }

    /// Whether nothing more can be read.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Advances to the next entry, and returns its name, or none if it is not a file; `None` at the end.
    pub(crate) fn next_name(&mut self) -> Result<Option<Option<String>>, ReadError> {
        let mut properties = Properties::default();
        loop {
            self.skip()?;
            self.source.reader.renew();
            let Some(header) = self.header()? else {
                self.ended = true;
                return Ok(None);
            };
            let kind = header[156];
            let size =
                number(&header[124..136]).ok_or_else(|| self.broken("a size is no number"))?;
            match kind {
                b'L' | b'x' => {
                    self.enter(size);
                    if size > LONGEST_PROPERTIES {
                        return Err(self.broken("a name is too long"));
                    }
                    let bytes = self.read_left()?;
                    match kind {
                        b'L' => properties.name = Some(text(&bytes)),
                        _ => properties.read(&bytes),
                    }
                }
                b'0' | 0 | b'7' => {
                    self.enter(properties.size.unwrap_or(size));
                    let name = properties.name.unwrap_or_else(|| name_of(&header));
                    return Ok(Some((!name.ends_with('/')).then_some(name)));
                }
                // Folders, links and devices.
                _ => {
                    self.enter(size);
                    return Ok(Some(None));
                }
            }
        }
    }

    /// The bytes of the current entry.
    pub(crate) fn content(&mut self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let limit = self.source.name.watch.budget.document_bytes;
        if self.left > limit {
            return Err(ReadError::too_large(Place::whole(path), limit, false));
        }
        self.source.reader.renew();
        self.read_left()
    }

    fn enter(&mut self, size: u64) {
        self.left = size;
        self.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
    }

    fn read_left(&mut self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        let expected = self.left;
        let read = self
            .source
            .reader
            .by_ref()
            .take(expected)
            .read_to_end(&mut bytes);
        self.left = 0;
        if let Err(error) = read {
            self.ended = true;
            return Err(self.source.name.failed(error));
        }
        match (bytes.len() as u64) < expected {
            true => Err(self.broken("it ends within a file")),
            false => Ok(bytes),
        }
    }

    /// Skips the rest of the current entry.
    fn skip(&mut self) -> Result<(), ReadError> {
        let count = self.left.saturating_add(std::mem::take(&mut self.padding));
        self.left = 0;
        self.source.reader.search();
        let mut rest = self.source.reader.by_ref().take(count);
        match io::copy(&mut rest, &mut io::sink()) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.ended = true;
                if Halt::of(&error) == Some(Halt::OverBudget) {
                    let (place, limit) = (
                        Place::whole(&self.source.name.path),
                        self.source.name.watch.budget.search(),
                    );
                    return Err(ReadError::too_large(place, limit, true));
                }
                Err(self.source.name.failed(error))
            }
        }
    }

    /// The next header; `None` at the end.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>, ReadError> {
        let mut header = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.source.reader.read(&mut header[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) => {
                    self.ended = true;
                    return Err(self.source.name.failed(error));
                }
            }
        }
        if header.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        // The sum counts its own field as spaces.
        let sum = |range: &[u8]| range.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        let expected = sum(&header[..148]) + sum(&header[156..]) + 8 * u64::from(b' ');
        match number(&header[148..156]) {
            Some(stated) if filled == BLOCK && stated == expected => Ok(Some(header)),
            _ => Err(self.broken("a header is damaged")),
        }
    }

    /// The error for an archive of which nothing more can be read.
    fn broken(&mut self, reason: &str) -> ReadError {
        self.ended = true;
        ReadError::broken(&self.source.name.path, Format::Tar, reason)
    }
}

impl Properties {
    /// Reads lines of a length, a name and a value, e.g. `18 path=some/file\n`.
    fn read(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(space) = rest.iter().position(|&byte| byte == b' ') {
            let length = std::str::from_utf8(&rest[..space]).ok();
            let length = length.and_then(|length| length.parse::<usize>().ok());
            let Some(line) = length.and_then(|length| rest.get(space + 1..length)) else {
                break;
            };
            rest = &rest[space + 1 + line.len()..];
            let line = text(line.strip_suffix(b"\n").unwrap_or(line));
            match line.split_once('=') {
                Some(("path", name)) => self.name = Some(name.to_owned()),
                Some(("size", size)) => self.size = size.parse().ok(),
                _ => {}
            }
        }
    }
}

fn name_of(header: &[u8; BLOCK]) -> String {
    let name = text(&header[..100]);
    let prefix = text(&header[345..500]);
    match header[257..].starts_with(b"ustar\0") && !prefix.is_empty() {
        true => format!("{prefix}/{name}"),
        false => name,
    }
}

/// The text up to the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    escaped(&bytes[..end.unwrap_or(bytes.len())])
}

/// A number in octal digits, or in binary if its first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let (high, low) = rest.split_at(rest.len().saturating_sub(8));
        let is_small = first == 0x80 && high.iter().all(|&byte| byte == 0);
        let value = low
            .iter()
            .fold(0_u64, |value, &byte| value << 8 | u64::from(byte));
        return is_small.then_some(value);
    }
    let digits = text(field);
    let digits = digits.trim();
    match digits.is_empty() {
        true => Some(0),
        false => u64::from_str_radix(digits, 8).ok(),
    }
}
