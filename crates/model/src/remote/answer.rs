//! Reading what an endpoint wrote.

use serde_json::Value;

use super::route::Route;
use crate::language::Finish;

/// One continuation as the endpoint tells it, whole or in part.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) text: String,
    /// Empty where the endpoint does not tell.
    pub(super) logprobs: Vec<f32>,
    /// `None` where it has not ended yet.
    pub(super) finish: Option<Finish>,
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
            logprobs: logprobs(choice),
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
        logprobs: logprobs(choice),
        finish: finish(choice),
    }
}

/// The tokens that an answer, or an event of a stream, says were used.
pub(super) fn usage(answer: &Value) -> Usage {
    let count = |name: &str| {
        let count = answer.get("usage")?.get(name)?.as_u64()?;
        Some(count as usize)
    };
    Usage {
        prompt: count("prompt_tokens"),
        written: count("completion_tokens"),
    }
}

/// Log probabilities in the form of OpenAI's completions, or in that of its conversations, which
/// llama-server uses for both.
fn logprobs(choice: &Value) -> Vec<f32> {
    let Some(told) = choice.get("logprobs") else {
        return Vec::new();
    };
    let values: Vec<Option<f64>> = match told.get("token_logprobs").and_then(Value::as_array) {
        Some(values) => values.iter().map(Value::as_f64).collect(),
        None => told
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|token| token.get("logprob").and_then(Value::as_f64))
            .collect(),
    };
    let values: Option<Vec<f32>> = values
        .into_iter()
        .map(|value| value.map(|value| value as f32))
        .collect();
    values.unwrap_or_default()
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
