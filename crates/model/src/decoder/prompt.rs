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
    /// Whether it may go on from what was read before, and whether what is written behind it is
    /// kept to go on from.
    course: Course,
}

/// Where a prompt stands among others that go on from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It stands alone.
    Alone,
    /// It goes on from one that was read before.
    Goes,
    /// The same, and another will go on from what is written behind it.
    GoesOn,
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
            course: Course::Alone,
        })
    }

    /// A prompt that is one of several that go on from one another.
    pub(super) fn on_course(tokens: Vec<u32>, course: Course) -> Result<Self, DecoderError> {
        Ok(Self {
            course,
            ..Self::new(tokens, &[])?
        })
    }

    /// Where it stands among others.
    pub(super) fn course(&self) -> Course {
        self.course
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
