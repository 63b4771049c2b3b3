//! Calls into the tokenizers crate, which panics on some files and texts.

use ken_storage::contained;

/// The result of `call`, with its error or panic as a message.
pub(crate) fn tokenizing<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    contained(call)?.map_err(|error| error.to_string())
}
