//! Reading JSON Lines files, and parsing single lines with the column of the fault.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use ken_storage::StorageError;
use serde::de::DeserializeOwned;

/// The values of a file, without empty lines. `action` words the attempt for errors; `bad` makes the error of a line,
/// counted from 1.
///
/// # Errors
/// A file that cannot be read, and those of `bad`.
pub fn read<T: DeserializeOwned, E: From<StorageError>>(
    action: &'static str,
    path: &Path,
    bad: impl Fn(usize, serde_json::Error) -> E,
) -> Result<Vec<T>, E> {
    let unreadable = |source| StorageError::new(action, path)(source);
    let lines = BufReader::new(File::open(path).map_err(unreadable)?).lines();
    let mut values = Vec::new();
    for (number, line) in (1..).zip(lines) {
        let line = line.map_err(unreadable)?;
        if !line.trim().is_empty() {
            values.push(serde_json::from_str(&line).map_err(|fault| bad(number, fault))?);
        }
    }
    Ok(values)
}

/// The fault of a line.
pub(crate) struct Fault {
    /// Counted from 1, in bytes.
    pub(crate) column: usize,
    /// The parser's message, without the position inside the line.
    pub(crate) reason: String,
}

/// Parses `line` as one JSON value.
pub(crate) fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(line).map_err(|error| {
        let message = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        Fault {
            column: error.column(),
            reason: message
                .strip_suffix(&position)
                .unwrap_or(&message)
                .to_owned(),
        }
    })
}
