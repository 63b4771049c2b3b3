//! Completions in the responses of endpoints: a text with its ending, without the model's thoughts; refusals,
//! filtered texts and tool calls are distinguished from answers.

use ken_language::{Finish, Thoughts};
use serde_json::Value;

use super::client::Client;
use super::error::RemoteError;
use super::limits;
use super::route::Route;

/// One completion, whole or a part of a stream.
#[derive(Debug, Default, Clone)]
pub(super) struct Choice {
    /// The answer.
    pub(super) text: String,
    /// Empty if the endpoint returns no log probabilities.
    pub(super) tokens: Vec<Token>,
    /// `None` if it has not ended yet.
    pub(super) finish: Option<Finish>,
    /// The words of a refusal.
    pub(super) refusal: String,
    /// Whether the model called a tool.
    pub(super) calls_tool: bool,
    /// Whether the endpoint returned thoughts, in their own field or in the text.
    pub(super) has_thoughts: bool,
    /// Tokens of the thoughts, which `tokens` does not contain.
    pub(super) thought_tokens: usize,
}

/// A generated token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Natural-log probability.
    pub(super) logprob: f32,
    /// The probability of the most likely token at its position minus that of the second most likely, if the endpoint
    /// returns both.
    pub(super) margin: Option<f32>,
    /// The bytes of its text; empty if the endpoint does not return them.
    pub(super) text: Vec<u8>,
}

impl Token {
    /// Whether its text is only a placeholder, as endpoints return for bytes that are not a character by themselves.
    pub(super) fn is_part_of_character(&self) -> bool {
        let text = String::from_utf8_lossy(&self.text);
        text.contains(char::REPLACEMENT_CHARACTER) || text.starts_with("bytes:")
    }
}

impl Choice {
    /// The log probabilities of the tokens; `None` without tokens.
    pub(super) fn logprobs(&self) -> Option<Vec<f32>> {
        self.of_tokens(|token| Some(token.logprob))
    }

    /// The margins of the tokens; `None` if one is missing.
    pub(super) fn margins(&self) -> Option<Vec<f32>> {
        self.of_tokens(|token| token.margin)
    }

    /// Why it ended. A refusal or a tool call is not a plain end, whatever the endpoint says.
    pub(super) fn ending(&self) -> Finish {
        match self.finish {
            Some(Finish::Cancelled) => Finish::Cancelled,
            _ if !self.refusal.is_empty() => Finish::Refused,
            _ if self.calls_tool => Finish::ToolCall,
            finish => finish.unwrap_or(Finish::End),
        }
    }

    /// Keeps only the tokens of the answer, once it is complete. If their texts do not show which these are, or do
    /// not cover all of it, it keeps none: partial log probabilities would claim more than complete ones.
    pub(super) fn keep_tokens_of_answer(&mut self) {
        let texts = self.tokens.iter().map(|token| token.text.as_slice());
        let whole = texts.collect::<Vec<_>>().concat();
        // Some endpoints write the same mark in place of every token, which does not show how much is there.
        let is_told = !whole.is_empty() && contains(self.text.as_bytes(), &whole);
        // A tokenizer may hide the space before each word.
        let is_short = is_told && whole.len() + self.tokens.len() < self.text.len();
        let first = match self.has_thoughts {
            false if is_short => None,
            false => Some(0),
            true => self.first_of_answer(&whole),
        };
        let all = self.tokens.len();
        self.tokens.drain(..first.unwrap_or(all));
        if self.has_thoughts {
            self.thought_tokens += all - self.tokens.len();
        }
    }

    /// The first token of an answer that follows thoughts; `None` if no token begins with it.
    fn first_of_answer(&self, whole: &[u8]) -> Option<usize> {
        let text = self.text.as_bytes();
        let mut before = 0;
        let mut starts = self.tokens.iter().map(|token| {
            let start = before;
            before += token.text.len();
            start
        });
        let after = |start: usize| whole.get(start..).unwrap_or_default();
        starts.position(|start| !text.is_empty() && after(start).starts_with(text))
    }

    fn of_tokens(&self, number: impl Fn(&Token) -> Option<f32>) -> Option<Vec<f32>> {
        (!self.tokens.is_empty()).then(|| self.tokens.iter().map(number).collect())?
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Token counts by the endpoint.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Usage {
    pub(super) prompt: Option<usize>,
    /// Of all completions together.
    pub(super) completion: Option<usize>,
}

/// The completions of a response that is not streamed, at least one, in order, and its usage.
///
/// # Errors
/// Completions that are missing or lack a text, counts beyond the limits.
pub(super) fn completions(
    client: &Client,
    url: &str,
    response: &Value,
    route: Route,
) -> Result<(Vec<Choice>, Usage), RemoteError> {
    let choices = choices(response, route).filter(|choices| !choices.is_empty());
    let choices = choices.ok_or_else(|| RemoteError::missing(url, "choices"))?;
    Ok((choices, usage(client, response)?))
}

fn choices(response: &Value, route: Route) -> Option<Vec<Choice>> {
    let mut choices: Vec<&Value> = response.get("choices")?.as_array()?.iter().collect();
    // The sort is stable: completions without an index keep their order.
    choices.sort_by_key(|choice| choice.get("index").and_then(Value::as_u64));
    let whole = |choice: &Value| {
        let mut read = match route {
            Route::Completions => read(choice, choice.get("text")?, &Value::Null)?,
            Route::Chat => {
                let message = choice.get("message")?;
                read(choice, &message["content"], message)?
            }
        };
        let mut thoughts = Thoughts::held();
        thoughts.take(&read.text);
        thoughts.finish();
        thoughts.answer().clone_into(&mut read.text);
        read.has_thoughts |= thoughts.has_thoughts();
        read.keep_tokens_of_answer();
        read.finish.get_or_insert(Finish::End);
        Some(read)
    };
    choices.into_iter().map(whole).collect()
}

/// The part of a streamed completion in one event.
pub(super) fn delta(event: &Value, route: Route) -> Choice {
    let Some(choice) = event.pointer("/choices/0") else {
        return Choice::default();
    };
    let (text, message) = match route {
        Route::Completions => (&choice["text"], &Value::Null),
        Route::Chat => {
            // Some gateways make a whole answer the only event of a stream.
            let message = choice.get("delta").or(choice.get("message"));
            let message = message.unwrap_or(&Value::Null);
            (&message["content"], message)
        }
    };
    read(choice, text, message).unwrap_or_default()
}

/// The fields in which endpoints return a model's thoughts.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// The text of a choice: in `content`, as text or in parts, and from `message` beside it. `None` if the content is
/// neither.
fn read(choice: &Value, content: &Value, message: &Value) -> Option<Choice> {
    let text_of = |field: &str| message[field].as_str().unwrap_or_default();
    let called = |field: &str| match message.get(field) {
        Some(Value::Array(calls)) => !calls.is_empty(),
        Some(call) => call.is_object(),
        None => false,
    };
    let mut read = Choice {
        tokens: tokens(choice),
        finish: finish(choice),
        refusal: text_of("refusal").to_owned(),
        calls_tool: called("tool_calls") || called("function_call"),
        has_thoughts: THOUGHTS.iter().any(|field| !text_of(field).is_empty()),
        ..Choice::default()
    };
    match content {
        Value::Null => {}
        Value::String(text) => read.text.clone_from(text),
        Value::Array(parts) => {
            for part in parts {
                let of = |field: &str| part.get(field).and_then(Value::as_str).unwrap_or_default();
                match part.get("type").and_then(Value::as_str) {
                    Some("refusal") => read.refusal.push_str(of("refusal")),
                    Some("thinking" | "reasoning" | "redacted_thinking") => {
                        read.has_thoughts = true;
                    }
                    _ => read.text.push_str(part.as_str().unwrap_or(of("text"))),
                }
            }
        }
        _ => return None,
    }
    Some(read)
}

/// The token counts in a response, or in an event of a stream.
pub(super) fn usage(client: &Client, response: &Value) -> Result<Usage, RemoteError> {
    let count =
        |pointer| limits::count(response, pointer).map_err(|detail| client.too_large(detail));
    Ok(Usage {
        prompt: count("/usage/prompt_tokens")?,
        completion: count("/usage/completion_tokens")?,
    })
}

/// Tokens in the form of OpenAI's completions, or in that of its chat completions, which llama-server
/// uses for both.
fn tokens(choice: &Value) -> Vec<Token> {
    let list = |name: &str| choice.get("logprobs")?.get(name)?.as_array();
    let tops = list("top_logprobs");
    let tokens: Option<Vec<Token>> = match (list("token_logprobs"), list("tokens")) {
        (Some(values), texts) => values
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let text = texts.and_then(|texts| texts.get(index)?.as_str());
                Some(Token {
                    logprob: limits::logprob(value)?,
                    margin: tops.and_then(|tops| {
                        margin(tops.get(index)?.as_object()?.values().map(limits::logprob))
                    }),
                    text: text.unwrap_or_default().into(),
                })
            })
            .collect(),
        (None, _) => list("content")
            .into_iter()
            .flatten()
            .map(|token| {
                let logprob = |token: &Value| limits::logprob(token.get("logprob")?);
                Some(Token {
                    logprob: logprob(token)?,
                    margin: token
                        .get("top_logprobs")
                        .and_then(|tops| margin(tops.as_array()?.iter().map(logprob))),
                    text: text_bytes(token),
                })
            })
            .collect(),
    };
    tokens.unwrap_or_default()
}

/// The gap between the two greatest probabilities, given natural logs.
fn margin(logprobs: impl Iterator<Item = Option<f32>>) -> Option<f32> {
    let mut logprobs = logprobs.collect::<Option<Vec<f32>>>()?;
    logprobs.sort_by(|a, b| b.total_cmp(a));
    let [first, second, ..] = logprobs.as_slice() else {
        return None;
    };
    Some(first.exp() - second.exp())
}

/// The text of a token of a chat completion, from the bytes beside it if there are any, since it may be a part of a
/// character.
fn text_bytes(token: &Value) -> Vec<u8> {
    let bytes = token.get("bytes").and_then(Value::as_array);
    let byte = |byte: &Value| u8::try_from(byte.as_u64()?).ok();
    let bytes = bytes.and_then(|bytes| bytes.iter().map(byte).collect());
    let text = token.get("token").and_then(Value::as_str);
    bytes.unwrap_or_else(|| text.unwrap_or_default().into())
}

/// Why a choice ended, in the words of several services; an unknown word is an end. A text that a service breaks off
/// is cut off, as by a limit. Only vLLM reports that a stop string was found; elsewhere that counts as an end. `None`
/// if it has not ended.
pub(super) fn finish(choice: &Value) -> Option<Finish> {
    let reason = choice.get("finish_reason")?.as_str()?;
    let by_string = choice.get("stop_reason").is_some_and(Value::is_string);
    Some(match reason.to_ascii_lowercase().as_str() {
        "" | "null" => return None,
        "length"
        | "max_tokens"
        | "max_length"
        | "model_length"
        | "abort"
        | "aborted"
        | "cancelled"
        | "error"
        | "insufficient_system_resource" => Finish::Length,
        "content_filter" | "safety" | "recitation" | "prohibited_content" | "blocklist" => {
            Finish::Filtered
        }
        "refusal" => Finish::Refused,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCall,
        "stop" if by_string => Finish::StopString,
        _ => Finish::End,
    })
}
