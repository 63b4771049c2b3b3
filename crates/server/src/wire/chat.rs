//! `/v1/chat/completions`: what is asked, and the answer whole or in chunks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ken::{Options, Trace};

/// A request for the next message of a conversation. If the model has its own server, that server gets the
/// application's own parts, such as system messages and tools, as they came.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ChatRequest {
    /// `ken/POLICY`, or `ken` for the policy of the server's settings.
    pub(crate) model: String,
    /// The conversation; its last message is the question.
    pub(crate) messages: Vec<Message>,
    /// Whether to stream the answer.
    pub(crate) stream: Option<bool>,
    /// The options of a stream.
    pub(crate) stream_options: Option<StreamOptions>,
    /// The longest answer, in tokens.
    pub(crate) max_completion_tokens: Option<usize>,
    /// The same, as it was called before.
    pub(crate) max_tokens: Option<usize>,
    /// The temperature of sampling; 0 is greedy.
    pub(crate) temperature: Option<f64>,
    /// Only the most likely tokens whose probabilities together reach this.
    pub(crate) top_p: Option<f64>,
    /// The seed of sampling.
    #[serde(default, deserialize_with = "super::field::seed")]
    #[schemars(with = "Option<i64>")]
    pub(crate) seed: Option<u64>,
    /// ken's own parameters.
    pub(crate) ken: Option<Options>,
    /// Other parameters.
    #[serde(flatten)]
    pub(crate) others: Map<String, Value>,
}

/// The options of a stream.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
pub(crate) struct StreamOptions {
    /// Whether a last chunk has the usage.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) include_usage: bool,
}

/// A message of a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Message {
    /// Who sends it.
    pub(crate) role: Role,
    /// Its content.
    pub(crate) content: Option<Content>,
}

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// The application that set up the conversation.
    System,
    /// The same.
    Developer,
    /// The person who asks.
    User,
    /// The model that answers.
    Assistant,
    /// A program that the assistant called; read only by a model's own server.
    Tool,
    /// The same, as it was called before.
    Function,
}

/// The content of a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of parts")]
pub(crate) enum Content {
    /// A text.
    Text(String),
    /// A text in parts.
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Part {
    /// Only `text` is understood; a model's own server may know others.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// The text.
    pub(crate) text: Option<String>,
    /// The refusal, in a part of that type.
    pub(crate) refusal: Option<String>,
}

/// A whole answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChatCompletion {
    pub(crate) id: String,
    pub(crate) object: &'static str,
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) choices: [Choice; 1],
    pub(crate) usage: Usage,
    /// How the answer came about.
    pub(crate) ken: Trace,
}

/// The only choice.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Choice {
    pub(crate) index: usize,
    pub(crate) message: Answered,
    pub(crate) logprobs: Option<()>,
    pub(crate) finish_reason: &'static str,
}

/// The message of the assistant.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    pub(crate) role: &'static str,
    pub(crate) content: String,
    /// The message if the model wrote no answer.
    pub(crate) refusal: Option<String>,
    pub(crate) annotations: Vec<Annotation>,
}

/// A piece of a streamed answer. ken's own fields stand at the top, since clients add up those of `delta`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Chunk<'a> {
    pub(crate) id: &'a str,
    pub(crate) object: &'static str,
    pub(crate) created: u64,
    pub(crate) model: &'a str,
    pub(crate) choices: Vec<ChunkChoice<'a>>,
    /// Left out unless requested; then null in all chunks but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Option<Usage>>,
    /// In the first chunk what is known so far, in the last of the answer all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ken: Option<&'a Trace>,
}

/// The only choice.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChunkChoice<'a> {
    pub(crate) index: usize,
    pub(crate) delta: Delta<'a>,
    pub(crate) logprobs: Option<()>,
    pub(crate) finish_reason: Option<&'static str>,
}

/// The new part.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<&'a str>,
    /// The message if the model wrote no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<&'a str>,
    /// All in one chunk: clients cannot join lists without numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) annotations: Vec<Annotation>,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Usage {
    /// Read, by all calls of the model.
    pub(crate) prompt_tokens: usize,
    /// Written, by all calls of the model.
    pub(crate) completion_tokens: usize,
    pub(crate) total_tokens: usize,
}

impl Usage {
    /// Tokens read and written.
    pub(crate) fn of([prompt_tokens, completion_tokens]: [usize; 2]) -> Self {
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: prompt_tokens + completion_tokens,
        }
    }
}

/// A passage that the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Annotation {
    #[serde(rename = "type")]
    kind: &'static str,
    url_citation: UrlCitation,
}

/// Where the answer names it, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct UrlCitation {
    /// In code points of the content.
    start_index: usize,
    /// After the last.
    end_index: usize,
    /// Where the document is, if that is known, or else the passage at this server.
    url: String,
    /// The document's title, or else its id, with the page if there are pages.
    title: String,
}

/// Why a model stopped: it was cut off, or lacks what this names.
pub(crate) fn finish_reason(is_cut_off: bool, lack: Option<&str>) -> &'static str {
    match lack {
        _ if is_cut_off => "length",
        Some("filtered") => "content_filter",
        _ => "stop",
    }
}

impl Annotation {
    pub(crate) fn new(place: std::ops::Range<usize>, url: String, title: String) -> Self {
        Self {
            kind: "url_citation",
            url_citation: UrlCitation {
                start_index: place.start,
                end_index: place.end,
                url,
                title,
            },
        }
    }
}
