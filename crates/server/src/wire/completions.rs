//! `/v1/completions`, `/tokenize`, `/detokenize` and `/tokenizer_info`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::chat::{StreamOptions, Usage};

/// A request for the continuations of texts.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CompletionRequest {
    /// A name that `/v1/models` lists. All of them write with the same model.
    pub(crate) model: String,
    /// The text to continue. Before it come only the tokens with which the model's tokenizer begins every text.
    pub(crate) prompt: Prompts,
    /// The longest continuation, in tokens; 16 by default.
    pub(crate) max_tokens: Option<usize>,
    /// The temperature of sampling, 1 by default; 0 is greedy.
    pub(crate) temperature: Option<f64>,
    /// Only the most likely tokens whose probabilities together reach this.
    pub(crate) top_p: Option<f64>,
    /// The seed of sampling.
    #[serde(default, deserialize_with = "super::field::seed")]
    #[schemars(with = "Option<i64>")]
    pub(crate) seed: Option<u64>,
    /// How many continuations of each prompt; 1 by default.
    pub(crate) n: Option<usize>,
    /// Whether the prompt stands before each continuation.
    pub(crate) echo: Option<bool>,
    /// Returns the log probability of each token, and of so many of the most likely at its position; with `echo`, of the
    /// prompt's tokens as well.
    pub(crate) logprobs: Option<usize>,
    /// Whether to stream the continuations.
    pub(crate) stream: Option<bool>,
    /// The options of the stream.
    pub(crate) stream_options: Option<StreamOptions>,
    /// Other parameters.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// The text to continue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a text, a list of token ids, or a list of either"
)]
pub(crate) enum Prompts {
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A text in tokens.
    Tokens(Vec<u32>),
    /// Several of these.
    ManyTokens(Vec<Vec<u32>>),
}

/// Continuations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Completions<'a> {
    pub(crate) id: &'a str,
    pub(crate) object: &'static str,
    pub(crate) created: u64,
    pub(crate) model: &'a str,
    /// Those of the first prompt come first.
    pub(crate) choices: Vec<Continuation>,
    /// In a stream, left out unless requested; then null in all chunks but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Option<Usage>>,
}

/// A continuation, or in a stream a piece of one.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Continuation {
    /// Its index among all.
    pub(crate) index: usize,
    pub(crate) text: String,
    pub(crate) logprobs: Option<Logprobs>,
    /// Null until a streamed continuation ends.
    pub(crate) finish_reason: Option<&'static str>,
}

/// The log probabilities of tokens, in the order of the text.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Logprobs {
    /// Their texts; the name in the vocabulary for a token that is no text by itself: a part of a character, or the
    /// end-of-text token, which comes last.
    pub(crate) tokens: Vec<String>,
    /// Natural-log probabilities at temperature 1; null for the very first token.
    pub(crate) token_logprobs: Vec<Option<f32>>,
    /// The most likely tokens at each position with their log probabilities, and the actual one.
    pub(crate) top_logprobs: Vec<Option<BTreeMap<String, f32>>>,
    /// Where each token begins, in code points.
    pub(crate) text_offset: Vec<usize>,
}

/// A text to tokenize. Servers differ in the names of both fields, so either is read.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TokenizeRequest {
    /// The text.
    #[serde(alias = "content")]
    pub(crate) prompt: String,
    /// Whether to add the tokens that the tokenizer puts around every text.
    #[serde(alias = "add_special", default = "yes")]
    pub(crate) add_special_tokens: bool,
}

fn yes() -> bool {
    true
}

/// The tokens of a text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenizeResponse {
    pub(crate) tokens: Vec<u32>,
    pub(crate) count: usize,
    /// The most tokens that the model reads and writes together.
    pub(crate) max_model_len: usize,
}

/// Tokens to turn into text.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DetokenizeRequest {
    /// Their ids.
    pub(crate) tokens: Vec<u32>,
}

/// The text of tokens, under both names that are in use.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DetokenizeResponse {
    pub(crate) prompt: String,
    pub(crate) content: String,
}

/// The special tokens and the chat template of the model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenizerInfoResponse {
    /// The beginning-of-text token, if the model has one.
    pub(crate) bos_token: Option<String>,
    /// The end-of-text token.
    pub(crate) eos_token: Option<String>,
    /// The chat template, in Jinja.
    pub(crate) chat_template: Option<String>,
}
