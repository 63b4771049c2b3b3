//! Tokenized prompts, and the prefixes that many of them share.

use ken_language::LogprobOptions;

use crate::decoder::error::DecoderError;
use crate::decoder::text::tokenizer::Reading;

/// A tokenized prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    tokens: Vec<u32>,
    shared: usize,
    /// How texts that continue the prompt are read.
    reading: Reading,
    /// Whether it may continue prompts that were read before, and whether others may continue it.
    course: Course,
    /// Which log probabilities are returned with it.
    logprobs: Option<LogprobOptions>,
}

/// The position of a prompt in a chain of prompts that continue each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decoder) enum Course {
    /// Not in a chain.
    Alone,
    /// Continues an earlier one.
    Continues,
    /// Continues an earlier one, and a later one will continue its generated text.
    IsContinued,
}

impl Prompt {
    /// `shared` is the tokenized prefix that other prompts also have.
    pub(in crate::decoder) fn new(tokens: Vec<u32>, shared: &[u32]) -> Result<Self, DecoderError> {
        if tokens.is_empty() {
            return Err(DecoderError::EmptyText { what: "prompt" });
        }
        let common = tokens
            .iter()
            .zip(shared)
            .take_while(|(a, b)| a == b)
            .count();
        // At least one token must be left, to compute the logits of the next one.
        let shared = common.min(tokens.len() - 1);
        Ok(Self {
            tokens,
            shared,
            reading: Reading::Plain,
            course: Course::Alone,
            logprobs: None,
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

    /// The prompt with more tokens at its end.
    pub(in crate::decoder) fn followed(mut self, tokens: &[u32]) -> Self {
        self.tokens.extend_from_slice(tokens);
        self
    }

    /// Requests log probabilities.
    pub(in crate::decoder) fn with_logprobs(self, logprobs: Option<LogprobOptions>) -> Self {
        Self { logprobs, ..self }
    }

    /// How many of the most likely tokens are listed with each generated token; `None` if no log probabilities are
    /// requested.
    pub(in crate::decoder) fn top_logprobs(&self) -> Option<usize> {
        self.logprobs.map(|logprobs| logprobs.top)
    }

    /// How many are listed with each token of the prompt; `None` if the prompt is not scored.
    pub(in crate::decoder) fn prompt_logprobs(&self) -> Option<usize> {
        self.logprobs
            .filter(|logprobs| logprobs.prompt)
            .map(|logprobs| logprobs.top)
    }

    /// Its position in a chain.
    pub(in crate::decoder) fn course(&self) -> Course {
        self.course
    }

    /// A prompt that shares nothing, and whose continuations may contain markup.
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

    /// The tokens that other prompts also have, and the rest, which is never empty.
    pub(in crate::decoder) fn parts(&self) -> (&[u32], &[u32]) {
        self.tokens.split_at(self.shared)
    }

    /// The token ids.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }
}
