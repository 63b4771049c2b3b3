//! Reading the JSON body of a request, within limits of size and time; and writing one.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::refusal::Refusal;

/// The largest body, in bytes.
const LARGEST: usize = 4 << 20;

/// How long a client may take to send one.
const SENT_WITHIN: Duration = Duration::from_secs(30);

/// The bytes of a body.
///
/// # Errors
/// A body that is too large, too slow, cut off or missing.
pub(crate) async fn bytes(body: Body) -> Result<Bytes, Refusal> {
    let bytes = bytes_or_none(body).await?;
    match bytes.is_empty() {
        true => Err(Refusal::bad("missing_body", "the request has no body")),
        false => Ok(bytes),
    }
}

/// The bytes of a body that may be left out.
///
/// # Errors
/// A body that is too large, too slow or cut off.
pub(crate) async fn bytes_or_none(body: Body) -> Result<Bytes, Refusal> {
    refuse_larger(&body, LARGEST as u64)?;
    let received = tokio::time::timeout(SENT_WITHIN, axum::body::to_bytes(body, LARGEST)).await;
    match received {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(unreadable(&error)),
        Err(_) => {
            let message = "the body did not arrive in time";
            let status = StatusCode::REQUEST_TIMEOUT;
            Err(Refusal::new(status, "body_timeout", message))
        }
    }
}

/// Refuses a body that says itself that it is too large, before any of it is read.
///
/// # Errors
/// A body of more than `most` bytes.
pub(crate) fn refuse_larger(body: &Body, most: u64) -> Result<(), Refusal> {
    match body.size_hint().lower() > most {
        true => Err(too_large(most)),
        false => Ok(()),
    }
}

/// A body has more bytes than it may have.
pub(crate) fn too_large(most: u64) -> Refusal {
    let message = format!("the body has more than {most} bytes");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
}

/// The value in a body.
///
/// # Errors
/// As [`bytes`], and a body that is no JSON or of another form.
pub(crate) async fn read<T: DeserializeOwned>(body: Body) -> Result<T, Refusal> {
    value(&bytes(body).await?)
}

/// The value in the bytes of a body.
///
/// # Errors
/// A body that is no JSON or of another form.
pub(crate) fn value<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        // Where a name is expected, the parser takes any other value for broken JSON.
        let is_json =
            error.is_data() || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
        let (code, what) = match is_json {
            true => ("invalid_value", "the body is not as expected"),
            false => ("invalid_json", "the body is not JSON"),
        };
        Refusal::bad(code, format!("{what}: {error}"))
    })
}

fn unreadable(error: &axum::Error) -> Refusal {
    // The limit's own error type is not public.
    match std::error::Error::source(error).map(ToString::to_string) {
        Some(cause) if cause.contains("length limit") => too_large(LARGEST as u64),
        _ => Refusal::bad("body_cut", "the body was cut off"),
    }
}

/// A response of JSON Lines, to be kept as a file.
pub(crate) fn json_lines(values: impl Iterator<Item = impl Serialize>) -> Response {
    let mut lines = Vec::new();
    for value in values {
        // What is serialized here has neither maps with strange keys nor failing parts.
        let _ = serde_json::to_writer(&mut lines, &value);
        lines.push(b'\n');
    }
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"questions.jsonl\"",
        ),
    ];
    (headers, lines).into_response()
}

/// A response with a JSON body.
pub(crate) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => {
            let error = std::io::Error::other(error);
            Refusal::failed(&error).into_response()
        }
    }
}
