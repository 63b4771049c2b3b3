//! SHA-256, the only hash of model files.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{HubError, io_error};
use crate::progress::{Stage, Watch};
use crate::transfer::Transfer;

/// The SHA-256 of the file at `path` in lower-case hexadecimal, reported under the name `label`.
pub(crate) fn file_sha256(path: &Path, label: &str, watch: &mut Watch) -> Result<String, HubError> {
    let unreadable = |e| io_error("read", path, e);
    let mut file = ken_storage::open_linked(path)?;
    let total = file.metadata().map_err(unreadable)?.len();
    let mut hasher = Sha256::new();
    let transfer = Transfer::whole(Stage::Verifying, label, Some(total), u64::MAX);
    transfer.run(&mut file, watch, |chunk| {
        hasher.update(chunk.map_err(unreadable)?);
        Ok(())
    })?;
    Ok(format!("{:x}", hasher.finalize()))
}

/// The SHA-256 of `text` in lower-case hexadecimal.
pub(crate) fn text_sha256(text: &str) -> String {
    format!("{:x}", Sha256::digest(text.as_bytes()))
}
