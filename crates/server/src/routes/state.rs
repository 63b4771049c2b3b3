//! What all routes share, and how the server is: alive, ready, busy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Extension;
use axum::extract::{FromRef, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::access::caller::Access;
use crate::access::keys::Scope;
use crate::metrics::Format;
use crate::service::answering::Request;
use crate::service::gate::Load;
use crate::service::live::Live;
use crate::service::served::Served;
use crate::wire::body;
use crate::wire::refusal::Refusal;

/// What all requests share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) live: Arc<Live>,
    pub(crate) access: Arc<Access>,
    /// Raised when the server takes no more work.
    pub(crate) ending: Arc<AtomicBool>,
}

impl FromRef<Shared> for App {
    fn from_ref(shared: &Shared) -> Self {
        Self {
            served: Arc::clone(&shared.live.now().served),
            access: Arc::clone(&shared.access),
            ending: Arc::clone(&shared.ending),
        }
    }
}

/// What a request works with. What is served stays the same until it is done.
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

/// The server takes work: models and corpora are open before it listens at all. Only its end makes it not ready. Which
/// gates are full, so that further work of their kind is refused for the moment, is told; who comes back later is served.
pub(crate) async fn ready(State(app): State<App>) -> Result<Response, Refusal> {
    if app.ending.load(Ordering::Relaxed) {
        return Err(Refusal::ending());
    }
    let gates: BTreeMap<&str, Load> = app.served.gates().into_iter().collect();
    let full = gates.iter().filter(|(_, load)| load.is_full());
    let full: Vec<&str> = full.map(|(gate, _)| *gate).collect();
    let state = json!({ "status": "ready", "full": full, "gates": gates });
    Ok(body::json(&state))
}

/// The metrics, as Prometheus reads them.
pub(crate) async fn metrics(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    request.caller.must_read_all("metrics are")?;
    let accepts = headers.get(header::ACCEPT);
    let accepts = accepts.and_then(|accepts| accepts.to_str().ok());
    let format = Format::accepted(accepts.unwrap_or_default());
    if let Some(watch) = &app.served.watch {
        let standing = app.served.standing(watch);
        let policy = &watch.guarantee.policy;
        app.served
            .metrics
            .guarantee(policy, standing, &watch.tests());
        if let Some(drift) = watch.drift() {
            app.served.metrics.drift(policy, &drift);
        }
    }
    let text = app.served.metrics.text(&app.served.gates(), format);
    Ok(([(header::CONTENT_TYPE, format.content_type())], text).into_response())
}
