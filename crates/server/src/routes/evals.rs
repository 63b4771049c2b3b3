//! `/v1/ken/evals/questions`: questions with right answers, as `ken eval` reads them.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Map;

use super::path::Path;
use super::state::App;
use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::clock::unix_seconds;
use crate::service::evals::EvalQuestion;
use crate::service::feedback::unknown;
use crate::service::library::new_id;
use crate::service::served::Served;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::files::Deleted;
use crate::wire::refusal::Refusal;
use crate::wire::traces::{LONGEST_QUESTION, MakeEvalQuestion};

/// All of them, oldest first.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    let served = Arc::clone(&app.served);
    blocking(move || {
        Ok(body::json_lines(
            served.evals.all(&request.caller).into_iter(),
        ))
    })
    .await
}

/// Takes one: that of a trace, or another.
pub(crate) async fn make(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    let given: MakeEvalQuestion = body::read(body).await?;
    let (question, corpora) = made(&app.served, &request.caller, given)?;
    let served = Arc::clone(&app.served);
    let kept = blocking(move || {
        let caller = &request.caller;
        let now = unix_seconds();
        served.evals.put(question.clone(), corpora, caller, now)?;
        Ok(question)
    });
    Ok((StatusCode::CREATED, body::json(&kept.await?)).into_response())
}

fn made(
    served: &Served,
    caller: &Caller,
    given: MakeEvalQuestion,
) -> Result<(EvalQuestion, Vec<String>), Refusal> {
    let MakeEvalQuestion {
        trace,
        question,
        corpus,
        golden_answers,
    } = given;
    let (mut made, corpora) = match (trace, question) {
        (Some(id), None) => {
            let past = served.traces.find(&id).filter(|past| past.is_for(caller));
            let past = past.ok_or_else(|| unknown(&id).of("trace"))?;
            served.keeps_texts()?;
            let question = EvalQuestion::asked(&past).ok_or_else(|| {
                let message = "the trace has no question that could be evaluated on";
                Refusal::bad("no_question", message).of("trace")
            })?;
            (question, past.corpora())
        }
        (None, Some(question)) => {
            let question = EvalQuestion {
                id: new_id("eval_"),
                question,
                golden_answers: Vec::new(),
                metadata: Map::new(),
            };
            (question, asked_of(caller, corpus)?)
        }
        _ => {
            let message = "either a `trace` or a `question` is expected";
            return Err(Refusal::bad("invalid_value", message));
        }
    };
    let length = made.question.trim().len();
    if !(1..=LONGEST_QUESTION).contains(&length) {
        let message = format!("a question of 1 to {LONGEST_QUESTION} bytes is expected");
        return Err(Refusal::bad("invalid_value", message).of("question"));
    }
    if !golden_answers.is_empty() {
        made.golden_answers = golden_answers;
    }
    MakeEvalQuestion::check(&made.golden_answers)?;
    Ok((made, corpora))
}

/// The corpus that a question is asked of, which is of no trace: the one that is named, or else the only one that
/// the key is for.
///
/// # Errors
/// A corpus that the key is not for; none, where it is for some.
pub(super) fn asked_of(caller: &Caller, named: Option<String>) -> Result<Vec<String>, Refusal> {
    match (named, caller.corpora()) {
        (Some(corpus), _) => {
            caller.must_read(&corpus)?;
            Ok(vec![corpus])
        }
        (None, None) => Ok(Vec::new()),
        (None, Some([only])) => Ok(vec![only.clone()]),
        (None, Some(_)) => {
            let message = "the key is for some corpora: name the one that the question is asked of";
            Err(Refusal::bad("invalid_value", message).of("corpus"))
        }
    }
}

/// Removes one.
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    let served = Arc::clone(&app.served);
    let deleted = blocking(move || match served.evals.remove(&id, &request.caller)? {
        true => Ok(Deleted {
            id,
            object: "eval_question",
            deleted: true,
            generation: None,
        }),
        false => {
            let message = format!("there is no question {id:?}");
            let status = StatusCode::NOT_FOUND;
            Err(Refusal::new(status, "unknown_question", message))
        }
    });
    Ok(body::json(&deleted.await?))
}
