//! `/v1/ken/jobs`: changes of corpora, and how far they are.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::path::Path;
use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::library::Library;
use crate::service::library::job::{Job, Status};
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::jobs::JobObject;
use crate::wire::page::Page;
use crate::wire::refusal::Refusal;

/// How long a response waits for a change that is usually quick.
const WAIT: Duration = Duration::from_secs(20);

/// All that are remembered, newest first.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    address: Uri,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let all = app.served.library()?.jobs.all().into_iter();
    let seen = all.filter(|job| request.caller.may_read(&job.order.corpus));
    let seen = seen.map(|job| JobObject::from(job.as_ref())).collect();
    let page = Page::read(address.query())?;
    Ok(body::json(&page.of(seen, |job: &JobObject| &job.id)))
}

fn find(library: &Library, id: &str, request: &Request) -> Result<Arc<Job>, Refusal> {
    let found = library.jobs.find(id);
    let found = found.filter(|job| request.caller.may_read(&job.order.corpus));
    found.ok_or_else(|| {
        let message = format!("there is no job {id:?}, or it is long over");
        Refusal::new(StatusCode::NOT_FOUND, "unknown_job", message)
    })
}

/// One of them.
pub(crate) async fn one(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let job = find(app.served.library()?, &id, &request)?;
    Ok(body::json(&JobObject::from(job.as_ref())))
}

/// Cancels one. What it has published by then stays.
pub(crate) async fn cancel(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let job = find(app.served.library()?, &id, &request)?;
    let (served, cancelled) = (Arc::clone(&app.served), Arc::clone(&job));
    blocking(move || {
        let cancelled = served.library()?.cancel(&cancelled);
        cancelled.map_err(|error| Refusal::failed(&error))
    })
    .await?;
    Ok(body::json(&JobObject::from(job.as_ref())))
}

/// A job that was just begun, which goes on.
pub(crate) fn begun(job: &Job) -> Response {
    (StatusCode::ACCEPTED, body::json(&JobObject::from(job))).into_response()
}

/// Waits for a job's end; for some time.
///
/// # Errors
/// One that failed.
pub(crate) async fn ended(job: &Job) -> Result<(), Refusal> {
    job.ended(WAIT).await;
    let state = job.state();
    let Some(error) = state.error.filter(|_| state.status == Status::Failed) else {
        return Ok(());
    };
    let status = match error.code {
        "unknown_document" | "unknown_passage" | "unknown_generation" | "unknown_file"
        | "nothing_pruned" => StatusCode::NOT_FOUND,
        "corpus_locked" => StatusCode::CONFLICT,
        "disk_full" => StatusCode::INSUFFICIENT_STORAGE,
        "server_error" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    };
    Err(Refusal::new(status, error.code, error.message))
}

/// A job as a response, once it is over or has taken some time.
///
/// # Errors
/// One that failed.
pub(crate) async fn outcome(job: &Job) -> Result<Response, Refusal> {
    ended(job).await?;
    Ok(match job.state().status.is_over() {
        true => body::json(&JobObject::from(job)),
        false => begun(job),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::library::job::{Order, Work};

    #[tokio::test]
    async fn a_change_that_the_disk_has_no_room_for_is_told_so() {
        let job = Job::new(Order {
            id: "job-1".to_owned(),
            corpus: "notes".to_owned(),
            created: 0,
            place: 0,
            key: None,
            work: Work::Drop,
        });
        job.end(Status::Failed, None, Some(Refusal::disk_full().into()));
        let response = outcome(&job).await.err().unwrap().into_response();
        assert_eq!(response.status(), StatusCode::INSUFFICIENT_STORAGE);
    }
}
