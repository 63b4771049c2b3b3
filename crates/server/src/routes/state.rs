//! What all routes share, and how the server is: alive, ready, busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::access::caller::Access;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::served::Served;
use crate::wire::body;
use crate::wire::refusal::Refusal;

/// What all routes share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) served: Arc<Served>,
    pub(crate) access: Arc<Access>,
    /// Raised when the server takes no more work.
    pub(crate) ending: Arc<AtomicBool>,
}

/// The server runs.
pub(crate) async fn health() -> Response {
    body::json(&json!({ "status": "ok" }))
}

/// The server takes work: models and corpora are open before it listens at all.
pub(crate) async fn ready(State(app): State<App>) -> Result<Response, Refusal> {
    match app.ending.load(Ordering::Relaxed) {
        true => Err(Refusal::ending()),
        false => Ok(body::json(&json!({ "status": "ready" }))),
    }
}

/// The metrics, as Prometheus reads them.
pub(crate) async fn metrics(
    State(app): State<App>,
    Extension(request): Extension<Request>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    if let Some(watch) = &app.served.watch {
        let standing = app.served.standing(watch);
        let policy = &watch.guarantee.policy;
        app.served
            .metrics
            .guarantee(policy, standing, &watch.tests());
    }
    let text = app.served.metrics.text(app.served.answers.load());
    Ok(([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}
