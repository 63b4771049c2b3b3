//! Text to token ids, and back to the places in the text. It adds no prefixes and pads nothing.

use std::ops::Range;
use std::path::Path;

use tokenizers::{PostProcessor, Tokenizer, TruncationDirection};

use super::error::EncoderError;

/// A tokenizer with the model's limit on the length of its input.
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    /// The most tokens of a text that fit beside the special ones.
    room: usize,
}

impl Tokens {
    /// Reads `tokenizer.json` from its content. `max_tokens` counts the special tokens too.
    pub(super) fn parse(
        path: &Path,
        content: &[u8],
        max_tokens: usize,
    ) -> Result<Self, EncoderError> {
        let broken = |message: String| EncoderError::Tokenizer {
            path: path.to_owned(),
            message,
        };
        let mut tokenizer =
            Tokenizer::from_bytes(content).map_err(|error| broken(error.to_string()))?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| broken(error.to_string()))?;
        let special = tokenizer
            .get_post_processor()
            .map_or(0, |processor| processor.added_tokens(false));
        let room = max_tokens
            .checked_sub(special)
            .filter(|&room| room > 0)
            .ok_or_else(|| {
                broken(format!(
                    "it adds {special} tokens, but the model reads at most {max_tokens}"
                ))
            })?;
        Ok(Self { tokenizer, room })
    }

    /// The model's input for a text: its token ids between the special tokens, cut at the end to
    /// the model's limit.
    pub(super) fn sequence(&self, text: &str) -> Result<Vec<u32>, EncoderError> {
        let failed = |error: tokenizers::Error| failure(text, &error);
        let mut encoding = self.tokenizer.encode_fast(text, false).map_err(failed)?;
        encoding.truncate(self.room, 0, TruncationDirection::Right);
        // The parts cut off would be given special tokens too.
        encoding.take_overflowing();
        let encoding = self
            .tokenizer
            .post_process(encoding, None, true)
            .map_err(failed)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The bytes of `text` that each token stands for, in order, without special tokens and
    /// without a limit. Spans start and end between characters.
    pub(super) fn spans(&self, text: &str) -> Result<Vec<Range<usize>>, EncoderError> {
        let encoding = self
            .tokenizer
            .encode(text, false)
            .map_err(|error| failure(text, &error))?;
        let spans = encoding.get_offsets().iter();
        Ok(spans
            .map(|&(start, end)| whole_characters(text, start, end))
            .collect())
    }

    /// The number of tokens of `text`, without special tokens and without a limit.
    pub(super) fn count(&self, text: &str) -> Result<usize, EncoderError> {
        let encoding = self
            .tokenizer
            .encode_fast(text, false)
            .map_err(|error| failure(text, &error))?;
        Ok(encoding.len())
    }
}

fn failure(text: &str, error: &tokenizers::Error) -> EncoderError {
    EncoderError::Tokenize {
        bytes: text.len(),
        message: error.to_string(),
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
