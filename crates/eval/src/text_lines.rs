//! Lines of plain or gzip text files, with their numbers.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// Why a line cannot be read.
pub(crate) enum LineFault {
    Read(io::Error),
    /// The column is counted from 1, in bytes.
    NotUtf8 {
        column: usize,
    },
}

/// Passes each line of a file that is not blank to `take`, with its number, counted from 1. Recognizes gzip by
/// content, and skips a byte order mark. `fault` makes the error of a line.
///
/// # Errors
/// A file that cannot be read or is not UTF-8, and those of `take`.
pub(crate) fn each_line<E>(
    path: &Path,
    fault: impl Fn(usize, LineFault) -> E,
    mut take: impl FnMut(usize, &str) -> Result<(), E>,
) -> Result<(), E> {
    let mut lines = open(path).map_err(|error| fault(1, LineFault::Read(error)))?;
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = lines.read_until(b'\n', &mut bytes);
        if read.map_err(|error| fault(line, LineFault::Read(error)))? == 0 {
            break;
        }
        let bytes = match (line, &bytes[..]) {
            (1, [0xef, 0xbb, 0xbf, rest @ ..]) => rest,
            (_, bytes) => bytes,
        };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let column = error.valid_up_to() + 1;
            fault(line, LineFault::NotUtf8 { column })
        })?;
        if !text.trim().is_empty() {
            take(line, text)?;
        }
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::new(File::open(path)?);
    if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader))))
    } else {
        Ok(Box::new(reader))
    }
}
