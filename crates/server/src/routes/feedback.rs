//! `/v1/ken/feedback`: what is said of an answer.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::feedback;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::feedback::FeedbackRequest;
use crate::wire::refusal::Refusal;

/// Takes it.
pub(crate) async fn take(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Ask)?;
    let given: FeedbackRequest = body::read(body).await?;
    given.check()?;
    let served = Arc::clone(&app.served);
    // What is said is written to a file.
    let taken = blocking(move || feedback::take(&served, &request.caller, given));
    Ok(body::json(&taken.await?))
}
