//! Finds the length of a GGUF file's header by walking over it. The reader that then parses it allocates what it
//! finds, so this first checks lengths and counts against bounds.

use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom};

/// Bytes within which metadata and the list of tensors must end. Those of the largest vocabularies
/// are an order of magnitude shorter.
const MOST_BYTES: u64 = 64 << 20;
/// The most values in all arrays together. The largest vocabularies have a million tokens and merges, with a score
/// and a type each; in memory each value takes 32 bytes or more.
const MOST_VALUES: u64 = 8 << 20;
/// Most levels of nested arrays.
const MOST_DEPTH: usize = 4;
/// Most dimensions of a tensor.
const MOST_DIMENSIONS: u32 = 4;

const ALIGNMENT_KEY: &[u8] = b"general.alignment";

/// The bytes of the header, from the beginning of the file.
///
/// # Errors
/// A file that cannot be read, is not GGUF, or has a larger header than any model.
pub(in crate::decoder) fn length(file: &mut (impl Read + Seek)) -> Result<u64> {
    let bytes = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    let mut walk = Walk {
        file: BufReader::with_capacity(1 << 16, file),
        at: 0,
        end: bytes.min(MOST_BYTES),
        is_whole: bytes <= MOST_BYTES,
        values: 0,
        is_first_version: false,
    };
    walk.header()?;
    Ok(walk.at)
}

struct Walk<R> {
    file: R,
    at: u64,
    /// Where the header must end.
    end: u64,
    /// Whether the file ends there too.
    is_whole: bool,
    /// Values in arrays so far.
    values: u64,
    /// Whether lengths have four bytes.
    is_first_version: bool,
}

impl<R: Read + Seek> Walk<R> {
    fn header(&mut self) -> Result<()> {
        let magic: [u8; 4] = self.take()?;
        if &magic != b"GGUF" {
            return Err(broken("it does not begin with `GGUF`".to_owned()));
        }
        let version = self.u32()?;
        if !(1..=3).contains(&version) {
            return Err(broken(format!("version {version} is not known")));
        }
        self.is_first_version = version == 1;
        let tensors = self.length()?;
        let entries = self.length()?;
        for _ in 0..entries {
            let is_alignment = self.key()?;
            let kind = self.u32()?;
            match is_alignment {
                true => self.alignment(kind)?,
                false => self.value(kind, 0)?,
            }
        }
        for _ in 0..tensors {
            self.key()?;
            let dimensions = self.u32()?;
            if dimensions > MOST_DIMENSIONS {
                return Err(broken(format!("a tensor has {dimensions} dimensions")));
            }
            let width = if self.is_first_version { 4 } else { 8 };
            // The type and the offset follow the dimensions.
            self.skip(u64::from(dimensions) * width + 4 + 8)?;
        }
        Ok(())
    }

    /// Skips a name and returns whether it is that of the alignment.
    fn key(&mut self) -> Result<bool> {
        let length = self.length()?;
        if length != ALIGNMENT_KEY.len() as u64 {
            return self.skip(length).map(|()| false);
        }
        let name: [u8; ALIGNMENT_KEY.len()] = self.take()?;
        Ok(name == ALIGNMENT_KEY)
    }

    /// The reader divides by the alignment without checking it.
    fn alignment(&mut self, kind: u32) -> Result<()> {
        let bytes = width(kind).unwrap_or(0);
        if !matches!(bytes, 1 | 2 | 4) {
            return self.value(kind, 0);
        }
        let mut value = [0; 4];
        for byte in value.iter_mut().take(bytes as usize) {
            *byte = self.take::<1>()?[0];
        }
        match value {
            [0, 0, 0, 0] => Err(broken("`general.alignment` is zero".to_owned())),
            _ => Ok(()),
        }
    }

    fn value(&mut self, kind: u32, depth: usize) -> Result<()> {
        match (kind, width(kind)) {
            (_, Some(bytes)) => self.skip(bytes),
            (STRING, _) => {
                let length = self.length()?;
                self.skip(length)
            }
            (ARRAY, _) => self.array(depth + 1),
            _ => Err(broken(format!(
                "a value is of the type {kind}, which is not known"
            ))),
        }
    }

    fn array(&mut self, depth: usize) -> Result<()> {
        if depth > MOST_DEPTH {
            return Err(broken(format!(
                "its arrays are nested deeper than {MOST_DEPTH}"
            )));
        }
        let kind = self.u32()?;
        let count = self.length()?;
        self.values = self.values.saturating_add(count);
        if self.values > MOST_VALUES {
            return Err(broken(format!(
                "its metadata holds more than {MOST_VALUES} values, which is beyond reason"
            )));
        }
        match width(kind) {
            Some(bytes) => self.skip(count * bytes),
            None => (0..count).try_for_each(|_| self.value(kind, depth)),
        }
    }

    fn length(&mut self) -> Result<u64> {
        match self.is_first_version {
            true => self.u32().map(u64::from),
            false => self.take().map(u64::from_le_bytes),
        }
    }

    fn u32(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.advance(N as u64)?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        self.advance(bytes)?;
        self.file.seek_relative(bytes as i64)
    }

    fn advance(&mut self, bytes: u64) -> Result<()> {
        match self.at.checked_add(bytes) {
            Some(at) if at <= self.end => {
                self.at = at;
                Ok(())
            }
            _ if self.is_whole => Err(broken("it ends within its header".to_owned())),
            _ => Err(broken(format!(
                "its header is longer than {MOST_BYTES} bytes, which is beyond reason"
            ))),
        }
    }
}

/// The types of values without a fixed size.
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// The bytes of a value of a type; `None` without a fixed size.
fn width(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

fn broken(reason: String) -> Error {
    Error::new(ErrorKind::InvalidData, reason)
}
