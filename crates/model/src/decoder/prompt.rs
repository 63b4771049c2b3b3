//! Prompts: tokens, and how many of the first many prompts share.

use super::error::DecoderError;
use super::tokenizer::Reading;

/// A tokenized prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    tokens: Vec<u32>,
    shared: usize,
    /// How texts that continue the prompt are read.
    reading: Reading,
}

impl Prompt {
    /// `shared` is the tokenized beginning that other prompts have as well.
    pub(super) fn new(tokens: Vec<u32>, shared: &[u32]) -> Result<Self, DecoderError> {
        if tokens.is_empty() {
            return Err(DecoderError::EmptyText { what: "prompt" });
        }
        let common = tokens
            .iter()
            .zip(shared)
            .take_while(|(a, b)| a == b)
            .count();
        // At least one token is left to give the logits of what comes next.
        let shared = common.min(tokens.len() - 1);
        Ok(Self {
            tokens,
            shared,
            reading: Reading::Plain,
        })
    }

    /// A prompt that shares nothing, and whose continuations may hold markup as well.
    pub(super) fn raw(tokens: Vec<u32>) -> Result<Self, DecoderError> {
        Ok(Self {
            reading: Reading::Markup,
            ..Self::new(tokens, &[])?
        })
    }

    /// How texts that continue the prompt are read.
    pub(super) fn reading(&self) -> Reading {
        self.reading
    }

    /// The tokens that other prompts have as well, and the rest, which is never empty.
    pub(super) fn parts(&self) -> (&[u32], &[u32]) {
        self.tokens.split_at(self.shared)
    }

    /// The token ids.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
}
