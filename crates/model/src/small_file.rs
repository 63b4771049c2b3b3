//! Files that are read whole (settings, tokenizers, templates), each up to a limit, so that no file in a model's
//! folder can exhaust memory.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Settings and indexes in JSON; those of the largest models have a few hundred kilobytes.
pub(crate) const MOST_SETTINGS_BYTES: u64 = 32 << 20;
/// A `tokenizer.json`; those of the largest vocabularies have some 35 MB.
pub(crate) const MOST_TOKENIZER_BYTES: u64 = 256 << 20;
/// A chat template; the longest have some tens of kilobytes.
pub(crate) const MOST_TEMPLATE_BYTES: u64 = 256 << 10;

/// The bytes of a file of at most `most` bytes.
///
/// # Errors
/// I/O errors; [`ErrorKind::FileTooLarge`] for a longer file.
pub(crate) fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = ken_storage::open_linked(path).map_err(|error| error.source)?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        false => Ok(bytes),
        true => Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {most} bytes, which no model's file of that name has"),
        )),
    }
}

/// The text of a file of at most `most` bytes.
///
/// # Errors
/// As [`bytes`]; [`ErrorKind::InvalidData`] if it is not UTF-8.
pub(crate) fn text(path: &Path, most: u64) -> Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 5).unwrap(), "12345");
        let error = text(&path, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("more than 4 bytes"), "{error}");
    }
}
