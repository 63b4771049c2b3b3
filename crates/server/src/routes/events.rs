//! Server-sent events: data, comments, and the body that carries them. Events of chat completions have no names,
//! since clients take named ones for chunks.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::mpsc::UnboundedReceiver;

/// An event. JSON has no line breaks of its own.
pub(crate) fn data(value: &impl Serialize) -> Bytes {
    let mut event = b"data: ".to_vec();
    // Cannot fail: no map has keys other than strings, and no part fails.
    let _ = serde_json::to_writer(&mut event, value);
    event.extend_from_slice(b"\n\n");
    event.into()
}

/// An event with a name.
pub(crate) fn named(name: &str, value: &impl Serialize) -> Bytes {
    let named = [b"event: ", name.as_bytes(), b"\n", &data(value)];
    named.concat().into()
}

/// A comment that shows that the server is still there.
pub(crate) fn ping() -> Bytes {
    Bytes::from_static(b": ping\n\n")
}

/// The last event.
pub(crate) fn done() -> Bytes {
    Bytes::from_static(b"data: [DONE]\n\n")
}

/// A response that sends the events as they arrive. When the client goes away, the receiver is dropped.
pub(crate) fn response(events: UnboundedReceiver<Bytes>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        // Otherwise nginx would collect the events of a stream.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(Events(events))).into_response()
}

struct Events(UnboundedReceiver<Bytes>);

impl Stream for Events {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}
