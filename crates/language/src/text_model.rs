//! Models that continue texts as they are: tokens in, tokens out, without a prompt of `ken`'s.

use std::ops::ControlFlow;

use crate::error::ModelError;
use crate::request::{GenerateOptions, Progress};
use crate::response::Generation;

/// A text that is to be continued, in tokens.
#[derive(Debug, Clone, Copy)]
pub struct TextRequest<'a> {
    /// Token ids; at least one.
    pub tokens: &'a [u32],
    /// How many continuations are generated; at least 1.
    pub samples: usize,
    /// How they are generated. No token is written where that is the most; what is told of the text is told all the same.
    pub options: &'a GenerateOptions,
    /// What is told of tokens; nothing where there is none.
    pub told: Option<Told>,
}

/// What is told of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// How many of the most likely tokens are told in the place of each.
    pub alternatives: usize,
    /// Whether it is told of the text's own tokens as well. They are then computed exactly: the same in any company.
    pub of_text: bool,
}

/// A token in its place, and how likely it was there.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldToken {
    /// Its id.
    pub id: u32,
    /// Its text; as the vocabulary has it where that is no text of its own, such as a part of a character.
    pub text: String,
    /// Natural-log probability at temperature 1, given all before it; `None` of the first token of a text.
    pub logprob: Option<f32>,
    /// The most likely tokens in its place with the same, best first, the lower id among equals.
    pub alternatives: Vec<(String, f32)>,
}

/// A text that was continued.
#[derive(Debug, Clone, PartialEq)]
pub struct Continued {
    /// The text's own tokens, where they were to be told.
    pub text: Vec<ToldToken>,
    /// `[samples]`: each with its tokens, where they were to be told, and at last the token that ended it, where one did.
    pub samples: Vec<(Generation, Vec<ToldToken>)>,
}

/// How a model's texts and conversations are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextForm {
    /// The name of the token that begins a text, where there is one.
    pub begin: Option<String>,
    /// The name of the token that ends a text, or a turn of a conversation.
    pub end: Option<String>,
    /// The template of conversations, in Jinja.
    pub chat_template: Option<String>,
}

/// A language model that shows its tokens.
pub trait TextModel: Send + Sync {
    /// The tokens of a text, in which special tokens are read as such; with those that the tokenizer puts around every
    /// text, where these are asked for.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn encode(&self, text: &str, with_special: bool) -> Result<Vec<u32>, ModelError>;

    /// The text of tokens, with the names of special ones.
    ///
    /// # Errors
    /// Tokens that the model does not have.
    fn decode(&self, tokens: &[u32]) -> Result<String, ModelError>;

    /// How its texts are written.
    fn form(&self) -> TextForm;

    /// Continues texts; progress is told as by [`generate`](crate::LanguageModel::generate).
    ///
    /// # Shapes
    /// Returns `[requests]`.
    ///
    /// # Errors
    /// A text that is empty or does not fit, tokens that the model does not have, a request for no sample, a model that fails.
    fn continue_texts(
        &self,
        requests: &[TextRequest<'_>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Continued>, ModelError>;
}
