//! `/v1/ken/feedback`: what would have been right answers to a question.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use super::guarantee::unwatched;
use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::looking::judge;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::feedback::{FeedbackRequest, FeedbackResponse};
use crate::wire::refusal::Refusal;

/// The most answers.
const MOST: usize = 20;

/// The most bytes of one.
const LONGEST: usize = 1000;

/// Takes what is right, of whoever asked, or of who may read all.
pub(crate) async fn take(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Ask)?;
    let given: FeedbackRequest = body::read(body).await?;
    let is_good = |answer: &String| !answer.trim().is_empty() && answer.len() <= LONGEST;
    if !(1..=MOST).contains(&given.answers.len()) || !given.answers.iter().all(is_good) {
        let message = format!("1 to {MOST} answers are expected, of 1 to {LONGEST} bytes each");
        return Err(Refusal::bad("invalid_value", message).of("answers"));
    }
    if app.served.watch.is_none() {
        return Err(unwatched());
    }
    let served = Arc::clone(&app.served);
    // What is found is written to a file.
    let response = blocking(move || {
        let may_any = request.caller.may(Scope::Admin).is_ok();
        let counts = judge(
            &served,
            &given.request_id,
            request.caller.key(),
            may_any,
            given.answers,
        );
        Ok(FeedbackResponse {
            request_id: given.request_id,
            counts,
        })
    });
    Ok(body::json(&response.await?))
}
