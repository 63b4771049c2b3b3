//! Parsing one line of a JSON Lines file, with the fault placed by its column in that line.
//!
//! Line numbers and paths are the caller's to add.

use serde::de::DeserializeOwned;

/// What is wrong with a line.
pub(crate) struct Fault {
    /// Counted from 1, in bytes.
    pub(crate) column: usize,
    /// The parser's message, without the position that it counts within the single line.
    pub(crate) reason: String,
}

/// Parses `line`, one JSON value.
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
