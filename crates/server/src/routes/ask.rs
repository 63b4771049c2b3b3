//! `/v1/ken/ask`: a question in, the answer with its whole trace out.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use ken_answer::Exchange;

use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::{Answered, News, Request, start};
use crate::service::asked::{Asked, Generated};
use crate::service::served::Served;
use crate::service::work::broken;
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
    let mut news = start(served, asked, request)?;
    loop {
        match news.recv().await {
            Some(News::Done(answered)) => {
                let Answered {
                    text,
                    truncated,
                    trace,
                    ..
                } = *answered;
                return Ok(AskResponse {
                    answer: text,
                    truncated,
                    trace,
                });
            }
            Some(News::Failed(refusal)) => return Err(refusal),
            Some(News::Begun(_) | News::Text(_)) => {}
            None => return Err(broken()),
        }
    }
}
