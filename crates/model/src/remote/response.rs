//! Completions in the responses of endpoints.

use ken_language::Finish;
use serde_json::Value;

use super::client::Client;
use super::error::RemoteError;
use super::limits;
use super::route::Route;

/// One completion, whole or a part of a stream.
#[derive(Debug, Default, Clone)]
pub(super) struct Choice {
    pub(super) text: String,
    /// Empty where the endpoint returns no log probabilities.
    pub(super) tokens: Vec<Token>,
    /// `None` where it has not ended yet.
    pub(super) finish: Option<Finish>,
}

/// A generated token.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Natural-log probability.
    pub(super) logprob: f32,
    /// How far the probability of the most likely token in its place is above that of the second, where
    /// the endpoint returns both.
    pub(super) margin: Option<f32>,
    /// The bytes of its text; none where the endpoint does not return them.
    pub(super) text: Vec<u8>,
}

impl Token {
    /// Whether its text is only a placeholder, as endpoints return for bytes that are no character
    /// by themselves.
    pub(super) fn is_part_of_character(&self) -> bool {
        let text = String::from_utf8_lossy(&self.text);
        text.contains(char::REPLACEMENT_CHARACTER) || text.starts_with("bytes:")
    }
}

impl Choice {
    /// The log probabilities of the tokens; `None` where there are none.
    pub(super) fn logprobs(&self) -> Option<Vec<f32>> {
        self.of_tokens(|token| Some(token.logprob))
    }

    /// The margins of the tokens; `None` where one is missing.
    pub(super) fn margins(&self) -> Option<Vec<f32>> {
        self.of_tokens(|token| token.margin)
    }

    fn of_tokens(&self, number: impl Fn(&Token) -> Option<f32>) -> Option<Vec<f32>> {
        (!self.tokens.is_empty()).then(|| self.tokens.iter().map(number).collect())?
    }
}

/// Token counts by the endpoint.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Usage {
    pub(super) prompt: Option<usize>,
    /// Of all completions together.
    pub(super) completion: Option<usize>,
}

/// The completions of a response that is not streamed, at least one, in their order, and its usage.
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
    // A stable sort: those without an index keep their order.
    choices.sort_by_key(|choice| choice.get("index").and_then(Value::as_u64));
    let whole = |choice: &Value| {
        let text = match route {
            Route::Completions => choice.get("text")?,
            Route::Chat => choice.pointer("/message/content")?,
        };
        let mut read = read(choice, text.as_str().or(text.is_null().then_some(""))?);
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
    let text = match route {
        Route::Completions => choice.get("text"),
        Route::Chat => choice.pointer("/delta/content"),
    };
    read(choice, text.and_then(Value::as_str).unwrap_or_default())
}

fn read(choice: &Value, text: &str) -> Choice {
    Choice {
        text: text.to_owned(),
        tokens: tokens(choice),
        finish: finish(choice),
    }
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
            .map(|(at, value)| {
                let text = texts.and_then(|texts| texts.get(at)?.as_str());
                Some(Token {
                    logprob: limits::logprob(value)?,
                    margin: tops.and_then(|tops| {
                        margin(tops.get(at)?.as_object()?.values().map(limits::logprob))
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

/// The text of a token of a chat completion, from the bytes beside it where there are some: it may be
/// a part of a character.
fn text_bytes(token: &Value) -> Vec<u8> {
    let bytes = token.get("bytes").and_then(Value::as_array);
    let byte = |byte: &Value| u8::try_from(byte.as_u64()?).ok();
    let bytes = bytes.and_then(|bytes| bytes.iter().map(byte).collect());
    let text = token.get("token").and_then(Value::as_str);
    bytes.unwrap_or_else(|| text.unwrap_or_default().into())
}

/// Only vLLM says whether a stop string was found; elsewhere one counts as an end.
fn finish(choice: &Value) -> Option<Finish> {
    let reason = choice.get("finish_reason")?.as_str()?;
    let by_string = choice.get("stop_reason").is_some_and(Value::is_string);
    Some(match reason {
        "length" => Finish::Length,
        "stop" if by_string => Finish::StopString,
        _ => Finish::End,
    })
}
