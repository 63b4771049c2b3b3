//! Calls into the tokenizers crate, which panics on some files and texts.

use ken_storage::contained;
use tokenizers::Tokenizer;

use crate::tokenizer_growth;

/// The result of `call`, with its error or panic as a message.
pub(crate) fn tokenizing<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    contained(call)?.map_err(|error| error.to_string())
}

/// Reads the content of a `tokenizer.json`. Padding and truncation do not apply, whatever it says.
pub(crate) fn parsed(content: &[u8]) -> Result<Tokenizer, String> {
    tokenizer_growth::check(content)?;
    tokenizing(|| {
        let mut tokenizer = Tokenizer::from_bytes(content)?;
        tokenizer.with_padding(None).with_truncation(None)?;
        Ok(tokenizer)
    })
}
