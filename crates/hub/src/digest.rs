//! SHA-256 of files, with progress. The only hash used for model files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{HubError, io_error};
use crate::progress::{Stage, Watch};

/// How much is read or hashed between two looks at the cancel flag.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// The SHA-256 of `path` in lower-case hexadecimal, reported under the name `label`.
pub(crate) fn file_sha256(path: &Path, label: &str, watch: &mut Watch) -> Result<String, HubError> {
    let mut file = File::open(path).map_err(|e| io_error("open", path, e))?;
    let total = file
        .metadata()
        .map_err(|e| io_error("read", path, e))?
        .len();
    let mut hasher = Sha256::new();
    let mut chunk = vec![0u8; CHUNK_BYTES];
    let mut done = 0u64;
    loop {
        watch.step(Stage::Verifying, label, done, Some(total))?;
        let n = read_some(&mut file, &mut chunk).map_err(|e| io_error("read", path, e))?;
        if n == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&chunk[..n]);
        done += n as u64;
    }
}

/// Reads what is there next, and again where a signal interrupted it. 0 is the end.
pub(crate) fn read_some(file: &mut impl Read, chunk: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The SHA-256 of `text` in lower-case hexadecimal.
pub(crate) fn text_sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Whether `path` has this checksum.
pub(crate) fn has_sha256(
    path: &Path,
    label: &str,
    expected: &str,
    watch: &mut Watch,
) -> Result<bool, HubError> {
    Ok(file_sha256(path, label, watch)?.eq_ignore_ascii_case(expected))
}
