//! The routes: each reads its request, has the work done, and words the response. The list of them with their
//! permissions is in `table`; what surrounds all of them, from the request's id to the log, is in `guard`.

mod access;
pub(crate) mod address;
pub(crate) mod ask;
mod call;
mod changes;
mod chat;
mod citations;
mod collection;
mod completions;
mod console;
mod conversation;
pub(crate) mod corpora;
mod corrections;
mod decide;
pub(crate) mod documents;
mod embeddings;
mod evals;
mod events;
mod feedback;
mod file_batches;
mod files;
mod guarantee;
mod guard;
mod jobs;
pub(crate) mod knows;
mod mcp;
mod measure;
mod models;
mod openapi;
pub(crate) mod permission;
mod pieces;
mod prune;
mod reload;
mod reply;
mod rerank;
mod responses;
mod retrieve;
pub(crate) mod route;
pub(crate) mod search;
mod state;
mod store_files;
mod stream;
mod studies;
pub(crate) mod table;
mod tokens;
mod traces;
mod upload;
mod vector_stores;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;

use crate::access::caller::Access;
use crate::service::live::Live;
use crate::wire::refusal::Refusal;
use call::Shared;

/// All routes over what is served. `ending` is raised when the server takes no more work.
pub(crate) fn router(live: Arc<Live>, access: Arc<Access>, ending: Arc<AtomicBool>) -> Router {
    let shared = Shared {
        live,
        access,
        ending,
    };
    table::router()
        .fallback(|| async { Refusal::unknown_route() })
        .method_not_allowed_fallback(other_method)
        .layer(from_fn_with_state(shared.clone(), guard::around))
        .with_state(shared)
}

async fn other_method() -> Refusal {
    let message = "the route takes another method";
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        message,
    )
}
