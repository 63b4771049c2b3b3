//! `/v1/ken/ask`: a question in, the answer with its whole trace out.

use ken_answer::Exchange;

use super::call::{Call, JsonBody};
use super::reply::Reply;
use super::stream::whole;
use crate::service::answers::{Completion, Request, start};
use crate::service::options::{RequestOptions, SamplingOptions};
use crate::service::resources::Served;
use crate::wire::ken::{AskRequest, AskResponse, Said};
use crate::wire::refusal::Refusal;

/// Answers a question.
pub(crate) async fn ask(
    call: Call,
    body: JsonBody<AskRequest>,
) -> Result<Reply<AskResponse>, Refusal> {
    let asked = body.read().await?;
    let answered = answer(&call.served, asked, call.request);
    Ok(Reply::json(&answered.await?))
}

/// Answers a question.
///
/// # Errors
/// A value that cannot be taken, and whatever keeps it from being answered.
pub(crate) async fn answer(
    served: &std::sync::Arc<Served>,
    asked: AskRequest,
    request: Request,
) -> Result<AskResponse, Refusal> {
    let asked = RequestOptions {
        question: asked.question,
        before: said(asked.before),
        sampling: SamplingOptions {
            max_tokens: asked.max_tokens,
            temperature: asked.temperature,
            top_p: None,
            seed: asked.seed,
        },
        traced: asked.ken.trace.unwrap_or(true),
        ..RequestOptions::by(None, &asked.ken)?
    };
    let Completion {
        text,
        truncated,
        trace,
        ..
    } = whole(start(served, asked, request)?).await?;
    Ok(AskResponse {
        answer: text,
        truncated,
        trace,
    })
}

/// What was said before.
pub(super) fn said(before: Vec<Said>) -> Vec<Exchange> {
    let before = before.into_iter().map(|said| Exchange {
        question: said.question,
        answer: said.answer,
    });
    before.collect()
}
