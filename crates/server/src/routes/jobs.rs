//! `/v1/ken/jobs`: changes of corpora, measurements on them, and their progress.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;

use super::call::Call;
use super::reply::Reply;
use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::service::library::job::{Job, Status};
use crate::wire::jobs::JobObject;
use crate::wire::page::Listed;
use crate::wire::refusal::Refusal;

/// How long a response waits for a change that is usually quick.
const WAIT: Duration = Duration::from_secs(20);

/// All remembered jobs, newest first.
pub(crate) async fn list(call: Call) -> Result<Reply<Listed<JobObject>>, Refusal> {
    let all = call.served.library()?.all_jobs().into_iter();
    let seen = all.filter(|job| may_see(call.caller(), job));
    let seen = seen.map(|job| JobObject::from(job.as_ref())).collect();
    let page = call.page()?;
    Ok(Reply::json(&page.of(seen, |job: &JobObject| &job.id)?))
}

/// Whether a caller may see a job: those who may start such a job may.
fn may_see(caller: &Caller, job: &Job) -> bool {
    let scope = match job.order.work.evaluation() {
        Some(_) => Scope::Admin,
        None => Scope::Write,
    };
    caller.may_read(&job.order.corpus) && caller.may(scope).is_ok()
}

fn find(call: &Call<String>) -> Result<Arc<Job>, Refusal> {
    let id = &call.path;
    let job = call.served.library()?.job(id);
    let job = job.filter(|job| may_see(call.caller(), job));
    job.ok_or_else(|| {
        let message = format!("there is no job {id:?}, or it is long over");
        Refusal::not_found("unknown_job", message)
    })
}

/// One of them.
pub(crate) async fn one(call: Call<String>) -> Result<Reply<JobObject>, Refusal> {
    Ok(Reply::json(&JobObject::from(find(&call)?.as_ref())))
}

/// Cancels a job. What it has published by then stays.
pub(crate) async fn cancel(call: Call<String>) -> Result<Reply<JobObject>, Refusal> {
    let cancelled = call.blocking(|call| {
        let job = find(call)?;
        call.served.library()?.cancel(&job)?;
        Ok(job)
    });
    Ok(Reply::json(&JobObject::from(cancelled.await?.as_ref())))
}

/// The reply for a job that has begun and goes on.
pub(crate) fn begun(job: &Job) -> Reply<JobObject> {
    Reply::with_status(StatusCode::ACCEPTED, &JobObject::from(job))
}

/// Waits for a job's end, for a limited time.
///
/// # Errors
/// A failed job.
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

/// The reply for a job, once it has ended or has taken some time.
///
/// # Errors
/// A failed job.
pub(crate) async fn outcome(job: &Job) -> Result<Reply<JobObject>, Refusal> {
    ended(job).await?;
    Ok(if job.state().status.is_over() {
        Reply::json(&JobObject::from(job))
    } else {
        begun(job)
    })
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse;

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
