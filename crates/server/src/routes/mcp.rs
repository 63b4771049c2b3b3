//! `/mcp`: the Model Context Protocol over HTTP. Each message, or batch of them, is a request of its own with one
//! response, and there is no session.

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::Value;

use super::address::Addresses;
use super::call::Call;
use super::reply::Reply;
use crate::mcp::protocol::{Message, Sent, check_version, respond};
use crate::wire::body;
use crate::wire::refusal::Refusal;

/// Takes a message, or a batch.
pub(crate) async fn take(call: Call, body: Body) -> Result<Reply<Value>, Refusal> {
    let bytes = body::bytes(body).await?;
    let refused = |response| Ok(Reply::with_status(StatusCode::BAD_REQUEST, &response));
    let version = call.headers.get("mcp-protocol-version");
    if let Some(version) = version.map(|version| version.to_str().unwrap_or_default())
        && let Err(response) = check_version(version)
    {
        return refused(response);
    }
    let addresses = Addresses::of(&call.headers);
    let response = match Sent::read(&bytes) {
        Sent::One(Message::Broken(response)) => return refused(response),
        Sent::One(message) => responded(&call, &addresses, message).await,
        Sent::Batch(messages) => {
            let mut responses = Vec::new();
            for message in messages {
                responses.extend(responded(&call, &addresses, message).await);
            }
            (!responses.is_empty()).then_some(Value::Array(responses))
        }
    };
    Ok(match response {
        Some(response) => Reply::json(&response),
        None => StatusCode::ACCEPTED.into_response().into(),
    })
}

/// The response to a message that wants one.
async fn responded(call: &Call, addresses: &Addresses, message: Message) -> Option<Value> {
    match message {
        Message::Request { id, method, params } => {
            let asked = (&id, method.as_str(), &params);
            Some(respond(&call.served, &call.request, addresses, asked).await)
        }
        Message::Notification { .. } => None,
        Message::Broken(response) => Some(response),
    }
}
