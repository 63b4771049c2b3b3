//! Counting the tokens of a text.

use serde_json::{Value, json};

use super::bounds;
use super::client::Client;
use super::error::RemoteError;

/// Bytes of a text that are taken for a token where the endpoint does not count. English has about
/// twice as many to a token, Chinese one and a half; only long numbers and the like may have fewer.
const BYTES_PER_TOKEN: usize = 2;
/// Tokens that a turn of a conversation may have beside its text.
pub(super) const TOKENS_PER_TURN: usize = 8;

/// How many tokens a text has at most, by its length.
pub(super) fn estimate(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// How many tokens a text has by the endpoint's own tokenizer; `special` counts those that it puts
/// before every prompt. vLLM and llama-server have this route under one address but by other names.
pub(super) fn count(
    client: &Client,
    model: &str,
    text: &str,
    special: bool,
) -> Result<usize, RemoteError> {
    let url = client.beside("tokenize");
    let body = json!({
        "model": model,
        "prompt": text,
        "add_special_tokens": special,
        "content": text,
        "add_special": special,
    });
    let answer = client.post(&url, &body)?;
    told(client, url, &answer)
}

/// The count of an answer.
pub(super) fn told(client: &Client, url: String, answer: &Value) -> Result<usize, RemoteError> {
    let count = bounds::count("count", answer.get("count"));
    let tokens = answer.get("tokens").and_then(Value::as_array);
    count
        .map_err(|absurd| client.absurd(&absurd))?
        .or(tokens.map(Vec::len))
        .ok_or(RemoteError::MissingField {
            url,
            field: "count",
        })
}

/// Whether the endpoint counts tokens.
pub(super) fn survey(client: &Client, model: &str) -> Result<bool, RemoteError> {
    match count(client, model, "The sky is blue.", false) {
        Ok(count) => Ok(count > 0),
        Err(
            RemoteError::Status { .. }
            | RemoteError::WebPage { .. }
            | RemoteError::BadJson { .. }
            | RemoteError::MissingField { .. },
        ) => Ok(false),
        Err(error) => Err(error),
    }
}
