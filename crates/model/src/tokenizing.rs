//! Calls into the tokenizers crate, which panics on some files.

use ken_storage::contained;

/// What `call` returns, or its error or panic in words.
pub(crate) fn tokenizing<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    contained(call)?.map_err(|error| error.to_string())
}
