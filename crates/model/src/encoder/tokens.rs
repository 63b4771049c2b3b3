//! Tokenization, and the spans of tokens in a text. It adds no prefixes and pads nothing.

use std::ops::Range;
use std::path::Path;

use tokenizers::{PostProcessor, Tokenizer, TruncationDirection};

use super::error::EncoderError;
use crate::tokenizer_growth;
use crate::tokenizing::tokenizing;

/// The model's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sequence {
    /// Token ids, special ones included.
    pub(super) ids: Vec<u32>,
    /// One token type per id, which distinguishes the two texts of a pair.
    pub(super) types: Vec<u32>,
}

impl Sequence {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// A tokenizer with the model's limit on the length of its input.
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    /// The most tokens of a text, without the special ones.
    text_tokens: usize,
}

impl Tokens {
    /// Reads `tokenizer.json` from its content. `max_tokens` counts the special tokens too.
    pub(super) fn parse(
        path: &Path,
        content: &[u8],
        max_tokens: usize,
    ) -> Result<Self, EncoderError> {
        let tokenizer = read(path, content)?;
        Ok(Self {
            text_tokens: text_tokens(path, &tokenizer, max_tokens, false)?,
            tokenizer,
        })
    }

    /// The model's input for a text: its token ids between the special tokens, truncated to the
    /// model's limit.
    pub(super) fn sequence(&self, text: &str) -> Result<Sequence, EncoderError> {
        let encoding = tokenizing(|| {
            let mut encoding = self.tokenizer.encode_fast(text, false)?;
            encoding.truncate(self.text_tokens, 0, TruncationDirection::Right);
            // The truncated parts would get special tokens too.
            encoding.take_overflowing();
            self.tokenizer.post_process(encoding, None, true)
        })
        .map_err(|reason| failure(text, reason))?;
        Ok(Sequence {
            ids: encoding.get_ids().to_vec(),
            types: vec![0; encoding.len()],
        })
    }

    /// The bytes of `text` that each token covers, in order, without special tokens or limit. Spans
    /// start and end between characters.
    pub(super) fn spans(&self, text: &str) -> Result<Vec<Range<usize>>, EncoderError> {
        let encoding = tokenizing(|| self.tokenizer.encode(text, false))
            .map_err(|reason| failure(text, reason))?;
        let span = |&(start, end)| whole_characters(text, start, end);
        Ok(encoding.get_offsets().iter().map(span).collect())
    }

    /// The number of tokens of `text`, without special tokens or limit.
    pub(super) fn count(&self, text: &str) -> Result<usize, EncoderError> {
        let encoding = tokenizing(|| self.tokenizer.encode_fast(text, false))
            .map_err(|reason| failure(text, reason))?;
        Ok(encoding.len())
    }
}

/// Parses a tokenizer from the content of its file at `path`, without truncation and padding.
pub(super) fn read(path: &Path, content: &[u8]) -> Result<Tokenizer, EncoderError> {
    let tokenizer = tokenizer_growth::check(content).and_then(|()| {
        tokenizing(|| {
            let mut tokenizer = Tokenizer::from_bytes(content)?;
            tokenizer.with_padding(None).with_truncation(None)?;
            Ok(tokenizer)
        })
    });
    tokenizer.map_err(|message| EncoderError::Tokenizer {
        path: path.to_owned(),
        message,
    })
}

/// The most tokens of a text, or of a pair of texts together, without the special ones; at least one
/// per text.
pub(super) fn text_tokens(
    path: &Path,
    tokenizer: &Tokenizer,
    max_tokens: usize,
    pair: bool,
) -> Result<usize, EncoderError> {
    let special = tokenizer
        .get_post_processor()
        .map_or(0, |processor| processor.added_tokens(pair));
    max_tokens
        .checked_sub(special)
        .filter(|&tokens| tokens > usize::from(pair))
        .ok_or_else(|| EncoderError::Tokenizer {
            path: path.to_owned(),
            message: format!("it adds {special} tokens, but the model reads at most {max_tokens}"),
        })
}

pub(super) fn failure(text: &str, message: String) -> EncoderError {
    EncoderError::Tokenize {
        bytes: text.len(),
        message,
    }
}

/// Widens a span to whole characters: a tokenizer that works on bytes may split one.
fn whole_characters(text: &str, start: usize, end: usize) -> Range<usize> {
    let end = (end.min(text.len())..=text.len()).find(|&at| text.is_char_boundary(at));
    let start = (0..=start.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    start.unwrap_or(0)..end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_widened_to_whole_characters() {
        let text = "a深b";
        assert_eq!(whole_characters(text, 2, 3), 1..4);
        assert_eq!(whole_characters(text, 1, 4), 1..4);
        assert_eq!(whole_characters(text, 4, 99), 4..5);
    }
}
