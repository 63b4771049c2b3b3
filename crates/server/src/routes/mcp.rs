//! `/mcp`: the Model Context Protocol over HTTP. Each message is a request of its own with one response,
//! and there is no session.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::address::Addresses;
use super::state::App;
use crate::mcp::protocol::{Message, respond};
use crate::service::answering::Request;
use crate::wire::body;
use crate::wire::refusal::Refusal;

/// Takes a message.
pub(crate) async fn take(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let bytes = body::bytes(body).await?;
    Ok(match Message::read(&bytes) {
        Message::Request { id, method, params } => {
            let addresses = Addresses::of(&headers);
            let asked = (&id, method.as_str(), &params);
            body::json(&respond(&app.served, &request, &addresses, asked).await)
        }
        Message::Notification { .. } => StatusCode::ACCEPTED.into_response(),
        Message::Broken(response) => {
            (StatusCode::BAD_REQUEST, body::json(&response)).into_response()
        }
    })
}
