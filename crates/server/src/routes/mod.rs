//! The routes: each reads its request, has the work done, and words the response. What stands around all
//! of them, from the request's id to the log, is in `guard`.

pub(crate) mod address;
pub(crate) mod ask;
mod chat;
pub(crate) mod corpora;
mod embeddings;
mod events;
mod guard;
pub(crate) mod knows;
mod mcp;
mod models;
mod openapi;
pub(crate) mod search;
mod state;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use crate::access::caller::Access;
use crate::service::served::Served;
use crate::wire::refusal::Refusal;
use state::App;

/// All routes over what is served. `ending` is raised when the server takes no more work.
pub(crate) fn router(served: Arc<Served>, access: Arc<Access>, ending: Arc<AtomicBool>) -> Router {
    let app = App {
        served,
        access,
        ending,
    };
    Router::new()
        .route("/health", get(state::health))
        .route("/ready", get(state::ready))
        .route("/metrics", get(state::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::one))
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/ken/ask", post(ask::ask))
        .route("/v1/ken/search", post(search::search))
        .route("/v1/ken/knows", post(knows::knows))
        .route("/v1/ken/corpora", get(corpora::list))
        .route(
            "/v1/ken/corpora/{name}/passages/{*id}",
            get(corpora::passage),
        )
        .route("/mcp", post(mcp::take))
        .fallback(missing)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(app.clone(), guard::around))
        .with_state(app)
}

async fn missing() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "unknown_route",
        "there is no such route",
    )
}

async fn other_method() -> Refusal {
    let message = "the route takes another method";
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        message,
    )
}
