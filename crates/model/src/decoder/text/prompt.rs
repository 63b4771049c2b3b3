//! Tokenized prompts, and the prefixes that many of them share.

use ken_language::Told;

use crate::decoder::error::DecoderError;
use crate::decoder::text::tokenizer::Reading;

/// A tokenized prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    tokens: Vec<u32>,
    shared: usize,
    /// How texts that continue the prompt are read.
    reading: Reading,
    /// Whether it may continue what was read before, and whether others may continue it.
    course: Course,
    /// What is told of its tokens, and of those that are written after it.
    told: Option<Told>,
}

/// How a prompt relates to others in a chain of which each continues the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decoder) enum Course {
    /// It is in no chain.
    Alone,
    /// It continues one that was read before.
    Continues,
    /// The same, and another will continue the text generated for it.
    IsContinued,
}

impl Prompt {
    /// `shared` is the tokenized prefix that other prompts have as well.
    pub(in crate::decoder) fn new(tokens: Vec<u32>, shared: &[u32]) -> Result<Self, DecoderError> {
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
            course: Course::Alone,
            told: None,
        })
    }

    /// A prompt in a chain.
    pub(in crate::decoder) fn on_course(
        tokens: Vec<u32>,
        course: Course,
    ) -> Result<Self, DecoderError> {
        Ok(Self {
            course,
            ..Self::new(tokens, &[])?
        })
    }

    /// The same prompt with more tokens at its end.
    pub(in crate::decoder) fn followed(mut self, tokens: &[u32]) -> Self {
        self.tokens.extend_from_slice(tokens);
        self
    }

    /// The same prompt of which something is told.
    pub(in crate::decoder) fn telling(self, told: Option<Told>) -> Self {
        Self { told, ..self }
    }

    /// How many of the most likely tokens are told in the place of each that is written.
    pub(in crate::decoder) fn alternatives(&self) -> Option<usize> {
        self.told.map(|told| told.alternatives)
    }

    /// The same for its own tokens.
    pub(in crate::decoder) fn own_alternatives(&self) -> Option<usize> {
        self.told
            .filter(|told| told.of_text)
            .map(|told| told.alternatives)
    }

    /// How it relates to others.
    pub(in crate::decoder) fn course(&self) -> Course {
        self.course
    }

    /// A prompt that shares nothing, and whose continuations may hold markup as well.
    pub(in crate::decoder) fn raw(tokens: Vec<u32>) -> Result<Self, DecoderError> {
        Ok(Self {
            reading: Reading::Markup,
            ..Self::new(tokens, &[])?
        })
    }

    /// How texts that continue the prompt are read.
    pub(in crate::decoder) fn reading(&self) -> Reading {
        self.reading
    }

    /// The tokens that other prompts have as well, and the rest, which is never empty.
    pub(in crate::decoder) fn parts(&self) -> (&[u32], &[u32]) {
        self.tokens.split_at(self.shared)
    }

    /// The token ids.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
}
