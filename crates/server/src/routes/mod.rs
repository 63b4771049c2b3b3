//! The routes: each reads its request, has the work done, and words the response. What stands around all
//! of them, from the request's id to the log, is in `guard`.

mod access;
pub(crate) mod address;
pub(crate) mod ask;
mod changes;
mod chat;
mod citing;
mod console;
mod conversation;
pub(crate) mod corpora;
mod corrections;
mod embeddings;
mod evals;
mod events;
mod feedback;
mod files;
mod guarantee;
mod guard;
mod jobs;
pub(crate) mod knows;
mod mcp;
mod models;
mod openapi;
mod path;
mod prune;
mod reload;
mod responses;
pub(crate) mod search;
mod state;
mod stream;
mod studies;
mod traces;
mod upload;
mod vector_stores;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};

use crate::access::caller::Access;
use crate::service::live::Live;
use crate::wire::refusal::Refusal;
use state::Shared;

/// All routes over what is served. `ending` is raised when the server takes no more work.
pub(crate) fn router(live: Arc<Live>, access: Arc<Access>, ending: Arc<AtomicBool>) -> Router {
    let shared = Shared {
        live,
        access,
        ending,
    };
    console::routes()
        .route("/health", get(state::health))
        .route("/ready", get(state::ready))
        .route("/metrics", get(state::metrics))
        .route("/openapi.json", get(openapi::document))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::one))
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/responses", post(responses::respond))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/ken/ask", post(ask::ask))
        .route("/v1/ken/search", post(search::search))
        .route("/v1/ken/knows", post(knows::knows))
        .route("/v1/files", get(files::list).post(files::upload))
        .route("/v1/files/{id}", get(files::one).delete(files::delete))
        .route(
            "/v1/vector_stores",
            get(vector_stores::list).post(vector_stores::make),
        )
        .route(
            "/v1/vector_stores/{id}",
            get(vector_stores::one).delete(vector_stores::delete),
        )
        .route(
            "/v1/vector_stores/{id}/files",
            get(vector_stores::list_files).post(vector_stores::attach),
        )
        .route(
            "/v1/vector_stores/{id}/files/{file}",
            get(vector_stores::one_file).delete(vector_stores::detach),
        )
        .route("/v1/vector_stores/{id}/search", post(vector_stores::search))
        .route("/v1/ken/access", get(access::report))
        .route("/v1/ken/feedback", post(feedback::take))
        .route("/v1/ken/guarantee", get(guarantee::report))
        .route("/v1/ken/reload", post(reload::reload))
        .route("/v1/ken/traces", get(traces::list))
        .route("/v1/ken/traces/questions", get(traces::questions))
        .route("/v1/ken/traces/{id}", get(traces::one))
        .route(
            "/v1/ken/evals/questions",
            get(evals::list).post(evals::make),
        )
        .route("/v1/ken/evals/questions/{id}", delete(evals::delete))
        .route(
            "/v1/ken/corrections",
            get(corrections::list).post(corrections::make),
        )
        .route("/v1/ken/corrections/{id}", delete(corrections::delete))
        .route("/v1/ken/jobs", get(jobs::list))
        .route("/v1/ken/jobs/{id}", get(jobs::one))
        .route("/v1/ken/jobs/{id}/cancel", post(jobs::cancel))
        .route("/v1/ken/corpora", get(corpora::list).post(changes::make))
        .route(
            "/v1/ken/corpora/{name}",
            get(changes::one).delete(changes::remove),
        )
        .route("/v1/ken/corpora/{name}/documents", post(changes::upload))
        .route(
            "/v1/ken/corpora/{name}/documents/{*id}",
            delete(changes::delete_document),
        )
        .route("/v1/ken/corpora/{name}/rollback", post(changes::roll_back))
        .route("/v1/ken/corpora/{name}/prune", post(prune::prune))
        .route("/v1/ken/corpora/{name}/pruned", get(prune::list))
        .route("/v1/ken/corpora/{name}/restore", post(prune::restore))
        .route(
            "/v1/ken/corpora/{name}/passages/{*id}",
            get(corpora::passage),
        )
        .route("/v1/ken/studies", get(studies::list))
        .route("/v1/ken/studies/{name}/{*file}", get(studies::file))
        .route("/mcp", post(mcp::take))
        .fallback(missing)
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(shared.clone(), guard::around))
        .with_state(shared)
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
