//! Tokenization of a query and a passage as one input of the network. It pads nothing.

use std::path::Path;

use tokenizers::utils::truncation::{
    TruncationDirection, TruncationParams, TruncationStrategy, truncate_encodings,
};
use tokenizers::{Encoding, Tokenizer};

use crate::encoder::error::EncoderError;
use crate::encoder::tokens::{self, Sequence};
use crate::tokenizing::tokenizing;

/// A tokenizer of pairs with the model's limit on the length of its input.
pub(super) struct Pairs {
    tokenizer: Tokenizer,
    max_tokens: usize,
    /// The most tokens of both texts together, without the special ones.
    text_tokens: usize,
    /// Whether the tokens of the second text have another type.
    token_types: bool,
}

impl Pairs {
    /// Reads `tokenizer.json` from its content. `max_tokens` counts the special tokens too.
    pub(super) fn parse(
        path: &Path,
        content: &[u8],
        max_tokens: usize,
        token_types: bool,
    ) -> Result<Self, EncoderError> {
        let tokenizer = tokens::read(path, content)?;
        Ok(Self {
            text_tokens: tokens::text_tokens(path, &tokenizer, max_tokens, true)?,
            tokenizer,
            max_tokens,
            token_types,
        })
    }

    pub(super) fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The model's input for a pair: both texts with the special tokens between and around them.
    /// Truncated as transformers does by `longest_first`: from the end of the longer text.
    pub(super) fn sequence(&self, query: &str, passage: &str) -> Result<Sequence, EncoderError> {
        let encode = |text: &str, kind: u32| -> Result<Encoding, EncoderError> {
            let mut encoding = tokenizing(|| self.tokenizer.encode_fast(text, false))
                .map_err(|reason| tokens::failure(text, reason))?;
            encoding.set_type_ids(vec![kind; encoding.len()]);
            Ok(encoding)
        };
        let failed = |reason: String| tokens::failure(passage, reason);
        let limit = TruncationParams {
            direction: TruncationDirection::Right,
            max_length: self.text_tokens,
            strategy: TruncationStrategy::LongestFirst,
            stride: 0,
        };
        let (first, second) = (encode(query, 0)?, encode(passage, 1)?);
        let (mut first, mut second) =
            tokenizing(|| truncate_encodings(first, Some(second), &limit)).map_err(failed)?;
        // The truncated parts would get special tokens too.
        first.take_overflowing();
        if let Some(second) = &mut second {
            second.take_overflowing();
        }
        let encoding =
            tokenizing(|| self.tokenizer.post_process(first, second, true)).map_err(failed)?;
        if encoding.is_empty() {
            return Err(failed("the pair has no tokens".to_owned()));
        }
        let types = match self.token_types {
            true => encoding.get_type_ids().to_vec(),
            false => vec![0; encoding.len()],
        };
        Ok(Sequence {
            ids: encoding.get_ids().to_vec(),
            types,
        })
    }
}
