//! Leaving passages of a corpus out of every result, and restoring them. Nothing is scored here: which
//! passages go is chosen by a person, or by `ken prune`.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use ken_answer::AnswerError;

use super::changes::submit;
use super::jobs;
use super::path::Path;
use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::asked::Searched;
use crate::service::library::job::Work;
use crate::service::library::pruning::{Mark, Prune, Restore};
use crate::service::work;
use crate::wire::body;
use crate::wire::page::Page;
use crate::wire::prune::{PruneRequest, PrunedDocumentObject, RestoreRequest};
use crate::wire::refusal::Refusal;

/// The reason where none is given.
const BY_HAND: &str = "by hand";

/// The longest reason, in bytes.
const LONGEST_REASON: usize = 200;

/// Leaves documents and passages out.
pub(crate) async fn prune(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(corpus): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let asked: PruneRequest = body::read(body).await?;
    if asked.documents.is_empty() && asked.passages.is_empty() {
        let message = "`documents` or `passages` have to name what is left out";
        return Err(Refusal::bad("invalid_value", message));
    }
    let reason = checked(asked.reason.unwrap_or_else(|| BY_HAND.to_owned()))?;
    let passages = asked.passages.into_iter().map(|marked| {
        Ok(Mark {
            passage_id: marked.passage_id,
            score: marked.score,
            reason: marked.reason.map(checked).transpose()?,
        })
    });
    let work = Work::Prune(Prune {
        documents: asked.documents,
        passages: passages.collect::<Result<_, Refusal>>()?,
        reason,
    });
    jobs::outcome(submit(&app, &request, corpus, work).await?.as_ref()).await
}

/// A reason that people can read and choose.
fn checked(reason: String) -> Result<String, Refusal> {
    match reason.trim().is_empty() || reason.len() > LONGEST_REASON {
        true => {
            let message = format!("it must have from 1 to {LONGEST_REASON} bytes");
            Err(Refusal::bad("invalid_value", message).of("reason"))
        }
        false => Ok(reason),
    }
}

/// Restores documents, passages, or all that is left out for a reason.
pub(crate) async fn restore(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(corpus): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let RestoreRequest {
        documents,
        passages,
        reasons,
    } = body::read(body).await?;
    if documents.is_empty() && passages.is_empty() && reasons.is_empty() {
        let message = "`documents`, `passages` or `reasons` have to name what is restored";
        return Err(Refusal::bad("invalid_value", message));
    }
    let work = Work::Restore(Restore {
        documents,
        passages,
        reasons,
    });
    jobs::outcome(submit(&app, &request, corpus, work).await?.as_ref()).await
}

/// The documents of which passages are left out, newest first.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(corpus): Path<String>,
    address: Uri,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Search)?;
    request.caller.must_read(&corpus)?;
    let page = Page::read(address.query())?;
    let corpus = Searched::of(Some(corpus)).corpus(&app.served, &request.caller)?;
    let corpus = corpus.ok_or(AnswerError::NoCorpus)?;
    let listed = work::run(
        &app.served,
        |served| &served.searches,
        move |_, _| {
            let documents = corpus.retriever.back_end().pruned_documents()?;
            let documents = documents.into_iter().map(PrunedDocumentObject::from);
            Ok(page.of(documents.collect(), |one: &PrunedDocumentObject| {
                &one.doc_id
            }))
        },
    );
    Ok(body::json(&listed.await?))
}
