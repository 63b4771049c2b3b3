//! `/v1/ken/ask`: a question in, the answer with its whole trace out.

use ken_answer::Exchange;

use super::call::{Call, JsonBody};
use super::reply::Reply;
use super::stream::whole_watched;
use crate::service::answers::{AnswerEvent, Request, start};
use crate::service::options::{RequestOptions, SamplingOptions};
use crate::service::resources::Served;
use crate::wire::ken::{AskRequest, AskResponse, Said};
use crate::wire::refusal::Refusal;

pub(crate) async fn ask(
    call: Call,
    body: JsonBody<AskRequest>,
) -> Result<Reply<AskResponse>, Refusal> {
    let asked = body.read().await?;
    let answered = answer(&call.served, asked, call.request, |_| {});
    Ok(Reply::json(&answered.await?))
}

/// Answers a question; `watch` receives the events on the way.
///
/// # Errors
/// A value that cannot be taken, and whatever keeps the question from being answered.
pub(crate) async fn answer(
    served: &std::sync::Arc<Served>,
    asked: AskRequest,
    request: Request,
    watch: impl FnMut(&AnswerEvent) + Send,
) -> Result<AskResponse, Refusal> {
    let asked = RequestOptions {
        question: asked.question,
        before: exchanges(asked.before),
        sampling: SamplingOptions {
            max_tokens: asked.max_tokens,
            temperature: asked.temperature,
            top_p: None,
            seed: asked.seed,
        },
        traced: asked.ken.trace.unwrap_or(true),
        ..RequestOptions::by(None, &asked.ken)?
    };
    let (completion, _) = whole_watched(start(served, asked, request)?, watch).await?;
    Ok(AskResponse {
        answer: completion.text,
        truncated: completion.truncated,
        trace: completion.trace,
    })
}

/// The earlier exchanges of the conversation.
pub(super) fn exchanges(before: Vec<Said>) -> Vec<Exchange> {
    before
        .into_iter()
        .map(|Said { question, answer }| Exchange { question, answer })
        .collect()
}
