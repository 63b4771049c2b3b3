//! Tokenization, and the spans of tokens in a text. Callers add prefixes.

use std::ops::Range;
use std::path::Path;

use tokenizers::utils::truncation::{
    TruncationDirection, TruncationParams, TruncationStrategy, truncate_encodings,
};
use tokenizers::{Encoding, PostProcessor, Tokenizer};

use super::error::EncoderError;
use crate::tokenization::{parsed, tokenizing};

/// The bytes of a text that are tokenized first, per token that the model reads. Few texts have longer tokens; of
/// those, more is tokenized.
const BYTES_PER_TOKEN: usize = 16;

/// The model's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sequence {
    /// Token ids, special ones included.
    pub(super) ids: Vec<u32>,
    /// One token type per id; it distinguishes the two texts of a pair.
    pub(super) types: Vec<u32>,
}

impl Sequence {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// The form of a model's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The tokens of a text alone.
    Bare,
    /// A text between special tokens.
    Text,
    /// Two texts with special tokens between and around them.
    Pair,
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
        input: Input,
    ) -> Result<Self, EncoderError> {
        let invalid = |message| EncoderError::Tokenizer {
            path: path.to_owned(),
            message,
        };
        let tokenizer = parsed(content).map_err(invalid)?;
        let processor = tokenizer.get_post_processor();
        let processor = processor.filter(|_| input != Input::Bare);
        let pairs = input == Input::Pair;
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
        let encoding = encode(text, || {
            let mut encoding = self.beginning(text)?;
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

    /// The tokens of a text without special ones, truncated to the model's limit.
    pub(super) fn bare(&self, text: &str) -> Result<Vec<u32>, EncoderError> {
        let encoding = encode(text, || self.beginning(text))?;
        let ids = encoding.get_ids();
        Ok(ids[..ids.len().min(self.text_tokens)].to_vec())
    }

    /// The id of a token.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// The median length in characters of the tokens in the vocabulary, rounded down.
    pub(super) fn median_characters(&self) -> usize {
        let vocabulary = self.tokenizer.get_vocab(true);
        let mut lengths: Vec<usize> = vocabulary
            .keys()
            .map(|token| token.chars().count())
            .collect();
        lengths.sort_unstable();
        match lengths.len() {
            0 => 0,
            count => (lengths[(count - 1) / 2] + lengths[count / 2]) / 2,
        }
    }

    /// The model's input for a pair: both texts with the special tokens between and around them. It is truncated as
    /// by transformers' `longest_first`: from the end of the longer text. If each text alone is too long, the one
    /// with more bytes counts as the longer. `token_types` gives the tokens of the second text another type.
    pub(super) fn pair(
        &self,
        query: &str,
        passage: &str,
        token_types: bool,
    ) -> Result<Sequence, EncoderError> {
        let encoded = |text: &str, kind: u32| -> Result<Encoding, EncoderError> {
            let mut encoding = encode(text, || self.beginning(text))?;
            encoding.set_type_ids(vec![kind; encoding.len()]);
            Ok(encoding)
        };
        let (mut first, mut second) = (encoded(query, 0)?, encoded(passage, 1)?);
        if first.len().min(second.len()) > self.text_tokens {
            // Only their beginnings were tokenized, whose lengths say nothing.
            let more = usize::from(query.len() > passage.len());
            first.truncate(self.text_tokens + more, 0, TruncationDirection::Right);
            second.truncate(self.text_tokens, 0, TruncationDirection::Right);
        }
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

    /// The tokens of a text, without special ones; of a long text, those of its beginning, still more than the model
    /// reads.
    fn beginning(&self, text: &str) -> tokenizers::Result<Encoding> {
        let mut bytes = BYTES_PER_TOKEN * self.text_tokens;
        loop {
            let part = beginning_of(text, bytes);
            let encoding = self.tokenizer.encode_fast(part, false)?;
            if part.len() == text.len() || encoding.len() > self.text_tokens {
                return Ok(encoding);
            }
            bytes = bytes.saturating_mul(4);
        }
    }

    /// About how many tokens of a text the model reads.
    pub(super) fn estimate(&self, text: &str) -> usize {
        (text.len() / 3 + 2).min(self.text_tokens)
    }

    /// Whether a text has more tokens than the model reads.
    pub(super) fn is_cut(&self, text: &str) -> Result<bool, EncoderError> {
        // A token has at least one byte, so shorter texts need no counting.
        Ok(text.len() > self.text_tokens
            && encode(text, || self.beginning(text))?.len() > self.text_tokens)
    }

    /// The bytes of `text` that each token covers, in order, without special tokens or limit. Spans
    /// start and end between characters.
    pub(super) fn spans(&self, text: &str) -> Result<Vec<Range<usize>>, EncoderError> {
        let encoding = encode(text, || self.tokenizer.encode(text, false))?;
        let span = |&(start, end)| whole_characters(text, start, end);
        Ok(encoding.get_offsets().iter().map(span).collect())
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

/// The beginning of a text, of at most `bytes` bytes. It ends before a space near its end, if there is one, so that
/// no word is cut.
fn beginning_of(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let part = &text[..end];
    match part.rfind(char::is_whitespace) {
        // A space far from the end would leave little.
        Some(space) if space > end / 2 => &part[..space],
        _ => part,
    }
}

/// Widens a span to whole characters: a tokenizer that works on bytes may split one.
fn whole_characters(text: &str, start: usize, end: usize) -> Range<usize> {
    let end = (end.min(text.len())..=text.len()).find(|&offset| text.is_char_boundary(offset));
    let start = (0..=start.min(text.len()))
        .rev()
        .find(|&offset| text.is_char_boundary(offset));
    start.unwrap_or(0)..end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_before_a_space_or_else_between_characters() {
        assert_eq!(beginning_of("one two three", 13), "one two three");
        assert_eq!(beginning_of("one two three", 9), "one two");
        assert_eq!(beginning_of("深深深", 5), "深");
        assert_eq!(beginning_of(" ab", 2), " a");
        assert_eq!(beginning_of("a bcdefghij", 8), "a bcdefg");
    }

    #[test]
    fn spans_are_widened_to_whole_characters() {
        let text = "a深b";
        assert_eq!(whole_characters(text, 2, 3), 1..4);
        assert_eq!(whole_characters(text, 1, 4), 1..4);
        assert_eq!(whole_characters(text, 4, 99), 4..5);
    }
}
