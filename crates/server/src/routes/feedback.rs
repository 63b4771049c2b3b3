//! `/v1/ken/feedback`: what people say of an answer.

use super::call::{Call, JsonBody};
use super::reply::Reply;
use crate::service::feedback;
use crate::wire::feedback::{FeedbackRequest, FeedbackResponse};
use crate::wire::refusal::Refusal;

pub(crate) async fn take(
    call: Call,
    body: JsonBody<FeedbackRequest>,
) -> Result<Reply<FeedbackResponse>, Refusal> {
    let given = body.read().await?;
    given.check()?;
    // Feedback goes to a file.
    let taken = call.blocking(|call| feedback::take(&call.served, call.caller(), given));
    Ok(Reply::json(&taken.await?))
}
