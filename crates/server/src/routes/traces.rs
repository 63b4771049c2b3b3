//! `/v1/ken/traces`: how the last questions were answered, and the questions themselves.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;

use super::path::Path;
use super::state::App;
use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::evals::EvalQuestion;
use crate::service::feedback::unknown;
use crate::service::served::Served;
use crate::service::traces::past::Past;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::refusal::Refusal;
use crate::wire::traces::{TraceObject, Wanted};

/// Those who ask see what became of their questions, and those who watch the server of all.
fn may_see(caller: &Caller) -> Result<(), Refusal> {
    let watches = caller.may(Scope::Admin);
    watches.or_else(|_| caller.may(Scope::Ask))
}

/// Those that are wanted and for the caller, newest first.
fn seen(served: &Served, caller: &Caller, wanted: &Wanted) -> Vec<Arc<Past>> {
    let mut all = served.traces.all();
    all.retain(|past| past.is_for(caller) && wanted.is(past));
    all
}

/// A page of them.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    address: Uri,
) -> Result<Response, Refusal> {
    may_see(&request.caller)?;
    let (wanted, page) = Wanted::paged(address.query())?;
    let served = Arc::clone(&app.served);
    let listed = blocking(move || {
        let seen = seen(&served, &request.caller, &wanted);
        let listed = page.of(seen, |past: &Arc<Past>| past.id());
        Ok(body::json(&listed.map(|past| TraceObject::from(&*past))))
    });
    listed.await
}

/// One of them.
pub(crate) async fn one(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    may_see(&request.caller)?;
    let found = app.served.traces.find(&id);
    let found = found.filter(|past| past.is_for(&request.caller));
    let past = found.ok_or_else(|| unknown(&id))?;
    Ok(body::json(&TraceObject::from(&*past)))
}

/// Their questions, oldest first, as `ken probe` and `ken eval` read them.
pub(crate) async fn questions(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    address: Uri,
) -> Result<Response, Refusal> {
    may_see(&request.caller)?;
    let wanted = Wanted::all(address.query())?;
    app.served.keeps_texts()?;
    let served = Arc::clone(&app.served);
    let written = blocking(move || {
        let seen = seen(&served, &request.caller, &wanted);
        let oldest_first = seen.iter().rev();
        let asked = oldest_first.filter_map(|past| EvalQuestion::asked(past));
        Ok(body::json_lines(asked))
    });
    written.await
}
