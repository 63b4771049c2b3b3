//! `/v1/ken/corrections`: of questions, the source that was right.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ken_answer::datastore::SELF;

use super::evals::asked_of;
use super::path::Path;
use super::state::{App, Shared};
use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::clock::unix_seconds;
use crate::service::correcting::apply;
use crate::service::corrections::Correction;
use crate::service::feedback::unknown;
use crate::service::served::Served;
use crate::service::traces::Happened;
use crate::service::traces::past::Feedback;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::corrections::{Corrected, CorrectionObject, MakeCorrection};
use crate::wire::files::Deleted;
use crate::wire::refusal::Refusal;
use crate::wire::traces::LONGEST_QUESTION;

/// All of them, oldest first.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    let all = app.served.corrections.all(&request.caller).into_iter();
    Ok(body::json_lines(all.map(object)))
}

fn object(correction: Correction) -> CorrectionObject {
    let Correction {
        id,
        question,
        source,
        ..
    } = correction;
    CorrectionObject {
        id,
        question,
        source,
    }
}

/// Takes one: of the question of a trace, or of another.
pub(crate) async fn make(
    State(shared): State<Shared>,
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    let given: MakeCorrection = body::read(body).await?;
    let trace = given.trace.clone();
    let (correction, corpora) = made(&app.served, &request.caller, given)?;
    // Before a datastore changes.
    app.served
        .corrections
        .check(&correction.id, &request.caller)?;
    let live = Arc::clone(&shared.live);
    let votes = apply(live, &app.served, &request.caller, &correction).await?;
    let served = Arc::clone(&app.served);
    let kept = blocking(move || {
        let (caller, now) = (&request.caller, unix_seconds());
        served
            .corrections
            .put(correction.clone(), corpora, caller, now)?;
        if let Some(id) = trace {
            let feedback = Feedback {
                source: Some(correction.source.clone()),
                at: unix_seconds(),
                ..Feedback::default()
            };
            let happened = Happened::Judged { id, feedback };
            served.kept("traces", served.traces.write(&happened, true));
            served.traces.take(happened);
        }
        Ok(correction)
    });
    let corrected = Corrected {
        correction: object(kept.await?),
        votes,
    };
    Ok((StatusCode::CREATED, body::json(&corrected)).into_response())
}

fn made(
    served: &Served,
    caller: &Caller,
    given: MakeCorrection,
) -> Result<(Correction, Vec<String>), Refusal> {
    let source = Some(given.source.clone()).filter(|source| source != SELF);
    let (question, mut corpora) = match (given.trace, given.question) {
        (Some(id), None) => {
            let past = served.traces.find(&id).filter(|past| past.is_for(caller));
            let past = past.ok_or_else(|| unknown(&id).of("trace"))?;
            served.keeps_texts()?;
            let question = past.question().filter(|_| !past.trace.small_talk);
            let question = question.ok_or_else(|| {
                let message = "the trace has no question that has a source";
                Refusal::bad("no_question", message).of("trace")
            })?;
            (question.to_owned(), past.corpora())
        }
        (None, Some(question)) => {
            let corpora = asked_of(caller, given.corpus.or(source.clone()))?;
            (question.trim().to_owned(), corpora)
        }
        _ => {
            let message = "either a `trace` or a `question` is expected";
            return Err(Refusal::bad("invalid_value", message));
        }
    };
    if !(1..=LONGEST_QUESTION).contains(&question.len()) {
        let message = format!("a question of 1 to {LONGEST_QUESTION} bytes is expected");
        return Err(Refusal::bad("invalid_value", message).of("question"));
    }
    // Which one was right says something of that one, too.
    corpora.extend(source.filter(|source| !corpora.contains(source)));
    Ok((Correction::new(question, given.source), corpora))
}

/// Forgets one. What it changed in a datastore stays there, where `ken datastore` can change it.
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    let served = Arc::clone(&app.served);
    let deleted = blocking(
        move || match served.corrections.remove(&id, &request.caller)? {
            true => Ok(Deleted {
                id,
                object: "correction",
                deleted: true,
                generation: None,
            }),
            false => {
                let message = format!("there is no correction {id:?}");
                let status = StatusCode::NOT_FOUND;
                Err(Refusal::new(status, "unknown_correction", message))
            }
        },
    );
    Ok(body::json(&deleted.await?))
}
