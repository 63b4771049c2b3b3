//! Reading what an endpoint wrote.

use ken_language::Finish;
use serde_json::Value;

use super::bounds::{self, Absurd};
use super::route::Route;

/// One continuation as the endpoint tells it, whole or in part.
#[derive(Debug, Default, Clone)]
pub(super) struct Choice {
    pub(super) text: String,
    /// Empty where the endpoint does not tell log probabilities.
    pub(super) tokens: Vec<Token>,
    /// `None` where it has not ended yet.
    pub(super) finish: Option<Finish>,
}

/// A token that was written.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Natural-log probability.
    pub(super) logprob: f32,
    /// How far the probability of the most likely token in its place is above that of the second, where
    /// the endpoint tells both.
    pub(super) margin: Option<f32>,
    /// The bytes of its text; none where the endpoint does not tell.
    pub(super) text: Vec<u8>,
}

impl Token {
    /// Whether its text is but a stand-in, as endpoints tell of bytes that make no character alone.
    pub(super) fn is_part_of_character(&self) -> bool {
        let text = String::from_utf8_lossy(&self.text);
        text.contains(char::REPLACEMENT_CHARACTER) || text.starts_with("bytes:")
    }
}

impl Choice {
    /// The log probabilities of the tokens; `None` where there are none.
    pub(super) fn logprobs(&self) -> Option<Vec<f32>> {
        let logprobs = self.tokens.iter().map(|token| token.logprob);
        (!self.tokens.is_empty()).then(|| logprobs.collect())
    }

    /// The margins of the tokens; `None` where one is missing.
    pub(super) fn margins(&self) -> Option<Vec<f32>> {
        let margins = self.tokens.iter().map(|token| token.margin);
        (!self.tokens.is_empty()).then(|| margins.collect())?
    }
}

/// The tokens that the endpoint counted.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Usage {
    pub(super) prompt: Option<usize>,
    /// Of all continuations together.
    pub(super) written: Option<usize>,
}

/// The continuations of an answer, in their order. `None` where it holds none, or one without text.
pub(super) fn choices(answer: &Value, route: Route) -> Option<Vec<Choice>> {
    let mut choices: Vec<&Value> = answer.get("choices")?.as_array()?.iter().collect();
    // A stable sort: those without an index keep their order.
    choices.sort_by_key(|choice| choice.get("index").and_then(Value::as_u64));
    let whole = |choice: &Value| {
        let text = match route {
            Route::Completions => choice.get("text")?,
            Route::Chat => choice.pointer("/message/content")?,
        };
        let text = text.as_str().or(text.is_null().then_some(""))?;
        Some(Choice {
            text: text.to_owned(),
            tokens: tokens(choice),
            finish: finish(choice).or(Some(Finish::End)),
        })
    };
    choices.into_iter().map(whole).collect()
}

/// A piece of a streamed continuation.
pub(super) fn piece(event: &Value, route: Route) -> Choice {
    let Some(choice) = event.pointer("/choices/0") else {
        return Choice::default();
    };
    let text = match route {
        Route::Completions => choice.get("text"),
        Route::Chat => choice.pointer("/delta/content"),
    };
    Choice {
        text: text.and_then(Value::as_str).unwrap_or_default().to_owned(),
        tokens: tokens(choice),
        finish: finish(choice),
    }
}

/// The tokens that an answer, or an event of a stream, says were used.
pub(super) fn usage(answer: &Value) -> Result<Usage, Absurd> {
    let told = |name: &str| answer.get("usage")?.get(name);
    Ok(Usage {
        prompt: bounds::count("usage.prompt_tokens", told("prompt_tokens"))?,
        written: bounds::count("usage.completion_tokens", told("completion_tokens"))?,
    })
}

/// Tokens in the form of OpenAI's completions, or in that of its conversations, which llama-server
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
                    logprob: bounds::logprob(value)?,
                    margin: tops.and_then(|tops| {
                        margin(tops.get(at)?.as_object()?.values().map(bounds::logprob))
                    }),
                    text: text.unwrap_or_default().into(),
                })
            })
            .collect(),
        (None, _) => list("content")
            .into_iter()
            .flatten()
            .map(|token| {
                Some(Token {
                    logprob: bounds::logprob(token.get("logprob")?)?,
                    margin: token.get("top_logprobs").and_then(|tops| {
                        let logprob = |top: &Value| bounds::logprob(top.get("logprob")?);
                        margin(tops.as_array()?.iter().map(logprob))
                    }),
                    text: bytes_of(token),
                })
            })
            .collect(),
    };
    tokens.unwrap_or_default()
}

/// The gap between the two greatest of some probabilities, by their natural logs.
fn margin(logprobs: impl Iterator<Item = Option<f32>>) -> Option<f32> {
    let mut logprobs = logprobs.collect::<Option<Vec<f32>>>()?;
    logprobs.sort_by(|a, b| b.total_cmp(a));
    let [first, second, ..] = logprobs.as_slice() else {
        return None;
    };
    Some(first.exp() - second.exp())
}

/// The text of a token of a conversation. Its bytes are told beside it, as it may be a part of a
/// character.
fn bytes_of(token: &Value) -> Vec<u8> {
    let bytes = token.get("bytes").and_then(Value::as_array);
    let bytes: Option<Vec<u8>> = bytes.and_then(|bytes| {
        let each = bytes.iter();
        each.map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
    });
    let text = token.get("token").and_then(Value::as_str);
    bytes.unwrap_or_else(|| text.unwrap_or_default().into())
}

/// Only vLLM tells whether a stop string came; elsewhere one counts as an end.
fn finish(choice: &Value) -> Option<Finish> {
    let reason = choice.get("finish_reason")?.as_str()?;
    let by_string = choice.get("stop_reason").is_some_and(Value::is_string);
    Some(match reason {
        "length" => Finish::Length,
        "stop" if by_string => Finish::StopString,
        _ => Finish::End,
    })
}
