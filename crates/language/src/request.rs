//! The requests to language models.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::response::TokenLogprob;

/// How tokens are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// Always the most likely; the lower id among equals.
    Greedy,
    /// At random, by the probabilities at a temperature, among the most likely.
    Random {
        /// Divides the logits; positive. 1 samples from the model as it is.
        temperature: f32,
        /// Only this many of the most likely tokens; `None` for all.
        top_k: Option<usize>,
        /// Only the most likely tokens whose probabilities together reach this; `None` for all.
        top_p: Option<f32>,
        /// The same seed gives the same tokens.
        seed: u64,
    },
}

impl Sampling {
    /// At random among all tokens at a temperature, or greedily at 0.
    pub fn at(temperature: f32, seed: u64) -> Self {
        match temperature > 0.0 {
            true => Self::Random {
                temperature,
                top_k: None,
                top_p: None,
                seed,
            },
            false => Self::Greedy,
        }
    }
}

/// How an answer is generated.
#[derive(Debug, Clone)]
pub struct GenerateOptions {
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// The most tokens to generate.
    pub max_tokens: usize,
    /// Strings that end the answer; they are not part of it.
    pub stop: Vec<String>,
    /// The JSON Schema that constrains the answer; ignored by models that have no [`text_model`](crate::LanguageModel::text_model).
    pub schema: Option<OutputSchema>,
}

/// An unknown format of answers.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "the type has to be `text`, `json_object`, or `json_schema` with a `schema` that is an object"
)]
pub struct UnknownFormat;

/// A JSON Schema that an answer must satisfy.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema(Arc<Value>);

impl OutputSchema {
    /// Takes a schema. Only using it shows whether it can be enforced.
    pub fn new(schema: Value) -> Self {
        Self(Arc::new(schema))
    }

    /// The schema of a `response_format` of OpenAI's API, or of the `text.format` of its responses; `None` for plain text.
    ///
    /// # Errors
    /// An unknown type, a schema that is not an object.
    pub fn of_format(format: &Value) -> Result<Option<Self>, UnknownFormat> {
        let schema = match format["type"].as_str() {
            Some("text") => return Ok(None),
            Some("json_object") => Some(json!({"type": "object"})),
            Some("json_schema") => {
                let named = format.get("json_schema").unwrap_or(format);
                named.get("schema").cloned()
            }
            _ => None,
        };
        match schema {
            Some(schema @ Value::Object(_)) => Ok(Some(Self::new(schema))),
            _ => Err(UnknownFormat),
        }
    }

    /// The schema as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }
}

impl GenerateOptions {
    /// Without stop strings.
    pub fn new(sampling: Sampling, max_tokens: usize) -> Self {
        Self {
            sampling,
            max_tokens,
            stop: Vec::new(),
            schema: None,
        }
    }
}

/// A prompt to be continued.
#[derive(Debug, Clone, Copy)]
pub struct GenerateRequest<'a, P> {
    /// The prompt.
    pub prompt: &'a P,
    /// How many continuations are generated; at least 1. They differ by their random numbers only.
    pub samples: usize,
    /// How they are generated.
    pub options: &'a GenerateOptions,
}

impl<'a, P> GenerateRequest<'a, P> {
    /// A prompt to be continued so many times.
    pub fn new(prompt: &'a P, samples: usize, options: &'a GenerateOptions) -> Self {
        Self {
            prompt,
            samples,
            options,
        }
    }
}

/// The progress of a caller's requests. The callback may cancel the request or text that it is called for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress<'a> {
    /// Some tokens of a request's prompt have been read. A model on this machine reports this after each
    /// part of a prompt, and again from time to time while it has nothing else to report, so that a
    /// caller that no longer wants the answer can cancel the request.
    Reading {
        /// The request's index.
        request: usize,
        /// Tokens read.
        read: usize,
        /// Tokens of the prompt.
        tokens: usize,
    },
    /// A piece of a text was generated. A break cancels the text.
    Text(Piece<'a>),
}

/// A piece of generated text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece<'a> {
    /// The request's index.
    pub request: usize,
    /// The sample's index.
    pub sample: usize,
    /// The text after the earlier pieces.
    pub text: &'a str,
    /// The tokens written since the last piece, if a [`TextRequest`](crate::TextRequest) asks for log probabilities.
    pub logprobs: &'a [TokenLogprob],
}

/// A prompt, and the continuations to be scored.
#[derive(Debug, Clone, Copy)]
pub struct ScoreRequest<'a, P> {
    /// The prompt.
    pub prompt: &'a P,
    /// The continuations, none of them empty.
    pub continuations: &'a [&'a str],
    /// Whether they are scored bit for bit, whatever else is computed. If not, a model on this machine does not read again a
    /// prompt that it has read to write.
    pub exact: bool,
}

impl<'a, P> ScoreRequest<'a, P> {
    /// A prompt with the continuations to be scored.
    pub fn new(prompt: &'a P, continuations: &'a [&'a str]) -> Self {
        Self {
            prompt,
            continuations,
            exact: true,
        }
    }
}
