//! Models that continue raw text: tokens in, tokens and log probabilities out, without a prompt of `ken`'s.

use std::ops::ControlFlow;

use crate::error::ModelError;
use crate::request::{GenerateOptions, Progress};
use crate::response::{Generation, TokenLogprob};

/// A text to be continued, in tokens.
#[derive(Debug, Clone, Copy)]
pub struct TextRequest<'a> {
    /// Token ids of the prompt; at least one.
    pub tokens: &'a [u32],
    /// How many continuations are generated; at least 1.
    pub samples: usize,
    /// How they are generated. With a maximum of no tokens, the prompt is scored and nothing is written.
    pub options: &'a GenerateOptions,
    /// Which log probabilities are returned; `None` for none.
    pub logprobs: Option<LogprobOptions>,
}

/// Which log probabilities are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogprobOptions {
    /// How many of the most likely tokens are listed at each position.
    pub top: usize,
    /// Whether the prompt's tokens are scored, too. The request is then computed in exact precision, so its numbers do not
    /// depend on what else is in the batch.
    pub prompt: bool,
}

/// The continuations of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextCompletion {
    /// The prompt's tokens, if [`LogprobOptions::prompt`] asks for them.
    pub prompt: Vec<TokenLogprob>,
    /// `[samples]`: each with its tokens, if log probabilities were requested. An end-of-text token comes last.
    pub samples: Vec<(Generation, Vec<TokenLogprob>)>,
}

/// The special tokens and the chat template of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenizerInfo {
    /// The name of the beginning-of-text token, if the model has one.
    pub begin: Option<String>,
    /// The name of the end-of-text token.
    pub end: Option<String>,
    /// The chat template, in Jinja.
    pub chat_template: Option<String>,
}

/// A language model whose tokenizer is available.
pub trait TextModel: Send + Sync {
    /// Tokenizes a text. Special tokens written out in it are read as such; `add_special` adds those that the tokenizer puts
    /// around every text.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn encode(&self, text: &str, add_special: bool) -> Result<Vec<u32>, ModelError>;

    /// The text of tokens, with the names of special tokens.
    ///
    /// # Errors
    /// Token ids outside the vocabulary.
    fn decode(&self, tokens: &[u32]) -> Result<String, ModelError>;

    /// The special tokens and the chat template.
    fn tokenizer_info(&self) -> TokenizerInfo;

    /// Continues texts; progress is reported as by [`generate`](crate::LanguageModel::generate).
    ///
    /// # Shapes
    /// Returns `[requests]`.
    ///
    /// # Errors
    /// A prompt that is empty, does not fit the context or has unknown token ids; a request for no sample; a model that
    /// fails.
    fn complete(
        &self,
        requests: &[TextRequest<'_>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<TextCompletion>, ModelError>;
}
