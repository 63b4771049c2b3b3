//! `/v1/ken/ask`: a question in, the answer with its whole trace out.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use ken_answer::Exchange;

use super::state::App;
use super::stream::whole;
use crate::access::keys::Scope;
use crate::service::answering::{Answered, Request, start};
use crate::service::asked::{Asked, Generated};
use crate::service::served::Served;
use crate::wire::body;
use crate::wire::ken::{AskRequest, AskResponse};
use crate::wire::refusal::Refusal;

/// Answers a question.
pub(crate) async fn ask(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Ask)?;
    let asked: AskRequest = body::read(body).await?;
    Ok(body::json(&answer(&app.served, asked, request).await?))
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
    let before = asked.before.into_iter().map(|said| Exchange {
        question: said.question,
        answer: said.answer,
    });
    let asked = Asked {
        question: asked.question,
        before: before.collect(),
        generated: Generated {
            max_tokens: asked.max_tokens,
            temperature: asked.temperature,
            top_p: None,
            seed: asked.seed,
        },
        traced: asked.ken.trace.unwrap_or(true),
        ..Asked::by(None, &asked.ken)?
    };
    let Answered {
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
