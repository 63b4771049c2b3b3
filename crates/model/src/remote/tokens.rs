//! Token counts of texts.

use serde_json::{Value, json};

use super::client::Client;
use super::error::RemoteError;
use super::limits;

/// Bytes of a text that are estimated as one token if the endpoint does not count. English has about twice as many
/// per token, Chinese one and a half times; only long numbers and the like may have fewer.
const BYTES_PER_TOKEN: usize = 2;
/// The most tokens of a chat message besides its text.
pub(super) const TOKENS_PER_MESSAGE: usize = 8;

/// An upper estimate of a text's tokens, by its length.
pub(super) fn estimate(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

/// The number of tokens of a text by the endpoint's own tokenizer; `special` includes those that it puts before every
/// prompt. vLLM and llama-server have this route at the same address but with different parameters.
pub(super) fn count(
    client: &Client,
    model: &str,
    text: &str,
    special: bool,
) -> Result<usize, RemoteError> {
    let url = client.root_url("tokenize");
    let body = json!({
        "model": model,
        "prompt": text,
        "add_special_tokens": special,
        "content": text,
        "add_special": special,
    });
    let response = client.post(&url, &body)?;
    count_in(client, &url, &response)
}

/// The count in a response.
pub(super) fn count_in(client: &Client, url: &str, response: &Value) -> Result<usize, RemoteError> {
    let tokens = response.get("tokens").and_then(Value::as_array);
    limits::count(response, "/count")
        .map_err(|detail| client.too_large(detail))?
        .or(tokens.map(Vec::len))
        .ok_or_else(|| RemoteError::missing(url, "count"))
}

/// Whether the endpoint counts tokens.
pub(super) fn probe(client: &Client, model: &str) -> Result<bool, RemoteError> {
    match count(client, model, "The sky is blue.", false) {
        Ok(count) => Ok(count > 0),
        Err(
            RemoteError::Status { .. }
            | RemoteError::Redirects { .. }
            | RemoteError::WebPage(_)
            | RemoteError::BadJson { .. }
            | RemoteError::MissingField { .. },
        ) => Ok(false),
        Err(error) => Err(error),
    }
}
