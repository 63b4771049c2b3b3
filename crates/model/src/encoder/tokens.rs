//! Tokenization, and the spans of tokens in a text. It adds no prefixes and pads nothing.

use std::ops::Range;
use std::path::Path;

use tokenizers::utils::truncation::{
    TruncationDirection, TruncationParams, TruncationStrategy, truncate_encodings,
};
use tokenizers::{Encoding, PostProcessor, Tokenizer};

use super::error::EncoderError;
use crate::tokenizer_growth;
use crate::tokenizing::tokenizing;

/// How much of a text is looked at first for each token that is wanted of it; words are shorter.
const BYTES_A_TOKEN: usize = 64;

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

/// A tokenizer of texts, or of pairs of texts, with the model's limit on the length of its input.
pub(super) struct Tokens {
    tokenizer: Tokenizer,
    /// The most tokens of a text, or of a pair together, without the special ones; at least one per
    /// text.
    text_tokens: usize,
}

impl Tokens {
    /// Parses the content of `tokenizer.json` at `path`. `max_tokens` counts the special tokens too.
    pub(super) fn parse(
        path: &Path,
        content: &[u8],
        max_tokens: usize,
        pairs: bool,
    ) -> Result<Self, EncoderError> {
        let invalid = |message| EncoderError::Tokenizer {
            path: path.to_owned(),
            message,
        };
        tokenizer_growth::check(content).map_err(invalid)?;
        let parse = || {
            let mut tokenizer = Tokenizer::from_bytes(content)?;
            tokenizer.with_padding(None).with_truncation(None)?;
            Ok(tokenizer)
        };
        let tokenizer = tokenizing(parse).map_err(invalid)?;
        let processor = tokenizer.get_post_processor();
        let special = processor.map_or(0, |processor| processor.added_tokens(pairs));
        let text_tokens = max_tokens
            .checked_sub(special)
            .filter(|&tokens| tokens > usize::from(pairs))
            .ok_or_else(|| {
                invalid(format!(
                    "it adds {special} tokens, but the model reads at most {max_tokens}"
                ))
            })?;
        Ok(Self {
            tokenizer,
            text_tokens,
        })
    }

    /// The model's input for a text: its token ids between the special tokens, truncated to the
    /// model's limit.
    pub(super) fn sequence(&self, text: &str) -> Result<Sequence, EncoderError> {
        let mut encoding = self.beginning(text, self.text_tokens)?;
        let encoding = encode(text, || {
            encoding.truncate(self.text_tokens, 0, TruncationDirection::Right);
            // The truncated parts would get special tokens too.
            encoding.take_overflowing();
            self.tokenizer.post_process(encoding, None, true)
        })?;
        Ok(Sequence {
            ids: encoding.get_ids().to_vec(),
            types: vec![0; encoding.len()],
        })
    }

    /// The model's input for a pair: both texts with the special tokens between and around them.
    /// Truncated as transformers does by `longest_first`: from the end of the longer text.
    /// `token_types` gives the tokens of the second text another type.
    pub(super) fn pair(
        &self,
        query: &str,
        passage: &str,
        token_types: bool,
    ) -> Result<Sequence, EncoderError> {
        let one = |text: &str, kind: u32| -> Result<Encoding, EncoderError> {
            let mut encoding = self.beginning(text, self.text_tokens)?;
            encoding.set_type_ids(vec![kind; encoding.len()]);
            Ok(encoding)
        };
        let (first, second) = (one(query, 0)?, one(passage, 1)?);
        let limit = TruncationParams {
            direction: TruncationDirection::Right,
            max_length: self.text_tokens,
            strategy: TruncationStrategy::LongestFirst,
            stride: 0,
        };
        let encoding = encode(passage, || {
            let (mut first, mut second) = truncate_encodings(first, Some(second), &limit)?;
            // The truncated parts would get special tokens too.
            first.take_overflowing();
            if let Some(second) = &mut second {
                second.take_overflowing();
            }
            match self.tokenizer.post_process(first, second, true)? {
                empty if empty.is_empty() => Err("the pair has no tokens".into()),
                encoding => Ok(encoding),
            }
        })?;
        Ok(Sequence {
            ids: encoding.get_ids().to_vec(),
            types: match token_types {
                true => encoding.get_type_ids().to_vec(),
                false => vec![0; encoding.len()],
            },
        })
    }

    /// The bytes of `text` that each token covers, in order, without special tokens or limit. Spans
    /// start and end between characters.
    pub(super) fn spans(&self, text: &str) -> Result<Vec<Range<usize>>, EncoderError> {
        let encoding = encode(text, || self.tokenizer.encode(text, false))?;
        let span = |&(start, end)| whole_characters(text, start, end);
        Ok(encoding.get_offsets().iter().map(span).collect())
    }

    /// The encoding of the beginning of `text`, without special tokens: its first `tokens` tokens and some more, or
    /// all where it has no more. What a model does not read costs nothing, however long it is.
    fn beginning(&self, text: &str, tokens: usize) -> Result<Encoding, EncoderError> {
        let mut bytes = tokens.saturating_mul(BYTES_A_TOKEN);
        loop {
            let part = up_to_a_space(text, bytes);
            let encoding = encode(text, || self.tokenizer.encode_fast(part, false))?;
            // Where the part ends within a word, the tokens before that end may be others than in the whole.
            if part.len() == text.len() || encoding.len() / 2 > tokens {
                return Ok(encoding);
            }
            bytes = bytes.saturating_mul(4);
        }
    }

    /// Whether `text` has more than `limit` tokens, without special ones.
    pub(super) fn exceed(&self, text: &str, limit: usize) -> Result<bool, EncoderError> {
        Ok(self.beginning(text, limit)?.len() > limit)
    }

    /// The number of tokens of `text`, without special tokens or limit.
    pub(super) fn count(&self, text: &str) -> Result<usize, EncoderError> {
        Ok(encode(text, || self.tokenizer.encode_fast(text, false))?.len())
    }
}

/// The beginning of a text, of at most this many bytes, that ends before a space where one is not far from its end.
fn up_to_a_space(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let part = &text[..end];
    let follows_space = text[end..].starts_with(char::is_whitespace);
    match part.rfind(char::is_whitespace) {
        Some(space) if space > end / 2 && !follows_space => &part[..space],
        _ => part,
    }
}

/// The encoding of a text, or the reason why the tokenizer refused it.
fn encode(
    text: &str,
    call: impl FnOnce() -> tokenizers::Result<Encoding>,
) -> Result<Encoding, EncoderError> {
    tokenizing(call).map_err(|message| EncoderError::Tokenize {
        bytes: text.len(),
        message,
    })
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
    fn a_beginning_ends_before_a_space_and_between_characters() {
        let text = "one two three";
        for (bytes, part) in [
            (2, "on"),
            (7, "one two"),
            (8, "one two "),
            (9, "one two"),
            (12, "one two"),
            (13, text),
            (99, text),
        ] {
            assert_eq!(up_to_a_space(text, bytes), part, "{bytes}");
        }
        // A space that is far from the end is no place to end: nothing would be left.
        assert_eq!(up_to_a_space("a bcdefghij", 8), "a bcdefg");
        assert_eq!(up_to_a_space("ab深深", 4), "ab");
    }

    #[test]
    fn spans_are_widened_to_whole_characters() {
        let text = "a深b";
        assert_eq!(whole_characters(text, 2, 3), 1..4);
        assert_eq!(whole_characters(text, 1, 4), 1..4);
        assert_eq!(whole_characters(text, 4, 99), 4..5);
    }
}
