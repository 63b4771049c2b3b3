//! How the server is: alive, ready, busy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::http::header;
use axum::response::IntoResponse;
use serde_json::json;

use super::call::Call;
use super::reply::{Reply, Text};
use crate::metrics::Format;
use crate::service::gate::Load;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::refusal::Refusal;

/// The server runs.
pub(crate) async fn health(_: Call) -> Result<Reply<Text>, Refusal> {
    Ok(body::json(&json!({ "status": "ok" })).into())
}

/// Whether the server takes work. It opens models and corpora before it serves at all; it is not ready when it ends,
/// or when its model server is gone. The response names the gates that are full: they refuse further work of their
/// kind for the moment, but serve a client that comes back later.
pub(crate) async fn ready(call: Call) -> Result<Reply<Text>, Refusal> {
    if call.shared.ending.load(Ordering::Relaxed) {
        return Err(Refusal::ending());
    }
    let served = Arc::clone(&call.served);
    let is_there = blocking(move || Ok(served.upstream.is_there(served.pipeline.model.as_ref())));
    if !is_there.await? {
        return Err(Refusal::no_model_server());
    }
    let gates: BTreeMap<&str, Load> = call.served.gates().into_iter().collect();
    let full = gates.iter().filter(|(_, load)| load.is_full());
    let full: Vec<&str> = full.map(|(gate, _)| *gate).collect();
    let state = json!({ "status": "ready", "full": full, "gates": gates });
    Ok(body::json(&state).into())
}

/// The metrics, as Prometheus reads them.
pub(crate) async fn metrics(call: Call) -> Result<Reply<Text>, Refusal> {
    call.caller().must_read_all("metrics are")?;
    let served = &call.served;
    let accepts = call.headers.get(header::ACCEPT);
    let accepts = accepts.and_then(|accepts| accepts.to_str().ok());
    let format = Format::accepted(accepts.unwrap_or_default());
    if let Some(watch) = &served.watch {
        let standing = served.standing(watch);
        let policy = &watch.guarantee.policy;
        served.metrics.guarantee(policy, standing, &watch.tests());
        if let Some(drift) = watch.drift() {
            served.metrics.drift(policy, &drift);
        }
    }
    let text = served.metrics.text(&served.gates(), format);
    let headers = [(header::CONTENT_TYPE, format.content_type())];
    Ok((headers, text).into_response().into())
}
