//! `/mcp`: the Model Context Protocol over HTTP. Each message, or batch of them, is a request of its own with one
//! response, and there is no session.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::sync::mpsc::unbounded_channel;

use super::address::Addresses;
use super::call::Call;
use super::events;
use super::reply::Reply;
use crate::mcp::progress::{Tell, token};
use crate::mcp::protocol::{Message, Sent, check_version, respond};
use crate::wire::body;
use crate::wire::refusal::Refusal;

/// Takes a message, or a batch of them.
pub(crate) async fn take(call: Call, body: body::SentBody) -> Result<Reply<Value>, Refusal> {
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
        Sent::One(Message::Request { id, method, params })
            if token(&params).is_some() && takes_events(&call) =>
        {
            return Ok(streamed(call, addresses, (id, method, params)).into());
        }
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

/// Whether the client reads events.
fn takes_events(call: &Call) -> bool {
    let accepted = call.headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|accepted| accepted.to_str().ok());
    accepted.any(|accepted| accepted.contains("text/event-stream"))
}

/// The response to a request as the last of its events, after those on its progress.
fn streamed(call: Call, addresses: Addresses, request: (Value, String, Value)) -> Response {
    let (send, body) = unbounded_channel();
    tokio::spawn(async move {
        let (sender, (id, method, params)) = (send.clone(), request);
        let tell: Tell = Arc::new(move |message| {
            // A client that has gone needs no events.
            let _ = sender.send(events::data(&message));
        });
        let asked = (&id, method.as_str(), &params);
        let response = respond(&call.served, &call.request, &addresses, asked, Some(&tell));
        tokio::select! {
            response = response => {
                let _ = send.send(events::data(&response));
            }
            () = send.closed() => {}
        }
    });
    events::response(body)
}

/// The response to a message that wants one.
async fn responded(call: &Call, addresses: &Addresses, message: Message) -> Option<Value> {
    match message {
        Message::Request { id, method, params } => {
            let asked = (&id, method.as_str(), &params);
            Some(respond(&call.served, &call.request, addresses, asked, None).await)
        }
        Message::Notification { .. } => None,
        Message::Broken(response) => Some(response),
    }
}
