//! `/mcp`: the Model Context Protocol over HTTP. Each message, or batch of them, is a request of its own with one
//! response, and there is no session.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::address::Addresses;
use super::state::App;
use crate::mcp::protocol::{Message, Sent, check_version, respond};
use crate::service::answering::Request;
use crate::wire::body;
use crate::wire::refusal::Refusal;

/// Takes a message, or a batch.
pub(crate) async fn take(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let bytes = body::bytes(body).await?;
    let refused = |response| (StatusCode::BAD_REQUEST, body::json(&response)).into_response();
    let version = headers.get("mcp-protocol-version");
    if let Some(version) = version.map(|version| version.to_str().unwrap_or_default())
        && let Err(response) = check_version(version)
    {
        return Ok(refused(response));
    }
    let addresses = Addresses::of(&headers);
    let response = match Sent::read(&bytes) {
        Sent::One(Message::Broken(response)) => return Ok(refused(response)),
        Sent::One(message) => responded(&app, &request, &addresses, message).await,
        Sent::Batch(messages) => {
            let mut responses = Vec::new();
            for message in messages {
                responses.extend(responded(&app, &request, &addresses, message).await);
            }
            (!responses.is_empty()).then_some(Value::Array(responses))
        }
    };
    Ok(match response {
        Some(response) => body::json(&response),
        None => StatusCode::ACCEPTED.into_response(),
    })
}

/// The response to a message that wants one.
async fn responded(
    app: &App,
    request: &Request,
    addresses: &Addresses,
    message: Message,
) -> Option<Value> {
    match message {
        Message::Request { id, method, params } => {
            let asked = (&id, method.as_str(), &params);
            Some(respond(&app.served, request, addresses, asked).await)
        }
        Message::Notification { .. } => None,
        Message::Broken(response) => Some(response),
    }
}
