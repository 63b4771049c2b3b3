//! The table of routes, one row each. From it follow the router, the checks of scopes, OpenAPI's description and the
//! routes that tests visit; a test compares it with the table in `docs/reference/server.md`.

use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, on};

use super::call::{Call, Shared};
use super::openapi::described;
use super::permission::Permission::{self, AnyKey, Everybody};
use super::reply::{Reply, Text};
use super::route::Route;
use super::{
    access, ask, changes, chat, completions, console, corpora, corrections, decide, documents,
    embeddings, evals, feedback, file_batches, files, guarantee, jobs, knows, mcp, measure, models,
    prune, reload, rerank, responses, retrieve, search, state, store_files, studies, tokens,
    traces, vector_stores,
};
use crate::access::keys::Scope;
use crate::wire::documents::{DOCUMENTS, PASSAGES};
use crate::wire::refusal::Refusal;
use crate::wire::responses::INPUT;
use crate::wire::traces::{FILTERS, PAGE};
use crate::wire::vector_stores::FILES;

const ASK: Permission = Permission::Scopes(&[Scope::Ask]);
const SEARCH: Permission = Permission::Scopes(&[Scope::Search]);
const WRITE: Permission = Permission::Scopes(&[Scope::Write]);
const ADMIN: Permission = Permission::Scopes(&[Scope::Admin]);
const ADMIN_OR_WRITE: Permission = Permission::Scopes(&[Scope::Admin, Scope::Write]);
const ADMIN_OR_ASK: Permission = Permission::Scopes(&[Scope::Admin, Scope::Ask]);

/// A row is a route's summary, if it is described, its method, path, permission and handler, and its parameters in
/// the query.
macro_rules! table {
    ($($(#[doc = $summary:literal])* $method:ident $path:literal $permission:ident $handler:path
        $(, query $query:expr)?;)*) => {
        /// All routes of the server.
        #[must_use]
        pub fn routes() -> Vec<Route> {
            vec![$(Route {
                $(query: $query,)?
                ..Route::new(Method::$method, $path, $permission, concat!($($summary),*), $handler)
            }),*]
        }
    };
}

table! {
    /// Answer a conversation's last message; with `stream`, as server-sent events
    POST "/v1/chat/completions" ASK chat::complete;
    /// Answer a question or a conversation; with `stream`, as named events
    POST "/v1/responses" ASK responses::respond;
    /// A stored response
    GET "/v1/responses/{id}" ASK responses::kept::one;
    /// Delete it
    DELETE "/v1/responses/{id}" ASK responses::kept::delete;
    /// The items of its input
    GET "/v1/responses/{id}/input_items" ASK responses::kept::input, query INPUT.to_vec();
    /// Continue raw text, with log probabilities
    POST "/v1/completions" ASK completions::complete;
    /// Tokenize a text
    POST "/tokenize" ASK tokens::tokenize;
    /// Turn tokens into text
    POST "/detokenize" ASK tokens::detokenize;
    /// The special tokens and the chat template of the model
    GET "/tokenizer_info" ASK tokens::info;
    /// Embed texts
    POST "/v1/embeddings" SEARCH embeddings::embed;
    /// The policies as models, and the embedder
    GET "/v1/models" AnyKey models::list;
    /// One of them
    GET "/v1/models/{*id}" AnyKey models::one;
    /// Rank texts by how well they fit a query
    POST "/v1/rerank" SEARCH rerank::rerank;
    /// Rank texts by how well they fit a query, where Cohere's clients look for it
    POST "/v2/rerank" SEARCH rerank::rerank;
    /// Find passages for many queries, as search agents ask
    POST "/retrieve" SEARCH retrieve::retrieve;
    /// Answer a question with its whole trace
    POST "/v1/ken/ask" ASK ask::ask;
    /// Whether a question needs retrieval, and the evidence to read for it
    POST "/v1/ken/decide" ASK decide::decide;
    /// Find passages
    POST "/v1/ken/search" SEARCH search::search;
    /// What the model knows about a question, without answering it
    POST "/v1/ken/knows" ASK knows::knows;
    /// What the caller may do
    GET "/v1/ken/access" AnyKey access::report;

    /// Rate an answer, and give right ones
    POST "/v1/ken/feedback" ASK feedback::take;
    /// The guarantee of the policy, and what watching it has shown since
    GET "/v1/ken/guarantee" AnyKey guarantee::report;
    /// Read the settings again, and serve what they name
    POST "/v1/ken/reload" ADMIN reload::reload;
    /// Answer by the policy that a study chose from now on, and write it into the settings
    POST "/v1/ken/policy" ADMIN reload::choose;
    /// How the last questions were answered, newest first
    GET "/v1/ken/traces" ADMIN_OR_ASK traces::list, query [PAGE, FILTERS].concat();
    /// How one of them was answered
    GET "/v1/ken/traces/{id}" ADMIN_OR_ASK traces::one;
    /// The questions, as JSON Lines to probe on; if texts are kept
    GET "/v1/ken/traces/questions" ADMIN_OR_ASK traces::questions, query FILTERS.to_vec();
    /// The studies, comparisons and probes in the folder of the setting `studies`
    GET "/v1/ken/studies" ADMIN studies::list;
    /// One of its files
    GET "/v1/ken/studies/{name}/{*file}" ADMIN studies::file;
    /// Questions with right answers, as JSON Lines to evaluate on
    GET "/v1/ken/evals/questions" ADMIN evals::list;
    /// Evaluate on the question of a trace from now on, or on another one
    POST "/v1/ken/evals/questions" ADMIN evals::make;
    /// Remove it
    DELETE "/v1/ken/evals/questions/{id}" ADMIN evals::delete;
    /// Measure policies on questions: compare some, or choose one; the job shows the progress
    POST "/v1/ken/evals/jobs" ADMIN measure::begin;
    /// Questions with the source that was right, as JSON Lines that a datastore imports
    GET "/v1/ken/corrections" ADMIN corrections::list;
    /// Say which source was right; a served policy datastore votes so from now on
    POST "/v1/ken/corrections" ADMIN corrections::make;
    /// Forget it; what it changed in a datastore stays
    DELETE "/v1/ken/corrections/{id}" ADMIN corrections::delete;

    /// The files that were uploaded
    GET "/v1/files" WRITE files::list;
    /// Upload a file, to be put into corpora
    POST "/v1/files" WRITE files::upload;
    /// One of them
    GET "/v1/files/{id}" WRITE files::one;
    /// The content of a file, as it was uploaded
    GET "/v1/files/{id}/content" WRITE files::content;
    /// Remove it from all corpora, and delete it
    DELETE "/v1/files/{id}" WRITE files::delete;
    /// The corpora as vector stores
    GET "/v1/vector_stores" WRITE vector_stores::list;
    /// Make a corpus
    POST "/v1/vector_stores" WRITE vector_stores::make;
    /// One of them
    GET "/v1/vector_stores/{id}" WRITE vector_stores::one;
    /// Change its name or its metadata
    POST "/v1/vector_stores/{id}" WRITE vector_stores::change;
    /// Remove a corpus that was made here
    DELETE "/v1/vector_stores/{id}" WRITE vector_stores::delete;
    /// The files that were put into it
    GET "/v1/vector_stores/{id}/files" WRITE store_files::list, query FILES.to_vec();
    /// Put a file into it
    POST "/v1/vector_stores/{id}/files" WRITE store_files::attach;
    /// One of them; when it is `completed`, it is searched
    GET "/v1/vector_stores/{id}/files/{file}" WRITE store_files::one;
    /// Change its attributes
    POST "/v1/vector_stores/{id}/files/{file}" WRITE store_files::describe;
    /// Remove a file from it
    DELETE "/v1/vector_stores/{id}/files/{file}" WRITE store_files::detach;
    /// Its text as it is searched
    GET "/v1/vector_stores/{id}/files/{file}/content" WRITE store_files::content;
    /// Put files into it
    POST "/v1/vector_stores/{id}/file_batches" WRITE file_batches::make;
    /// How far one of these batches is
    GET "/v1/vector_stores/{id}/file_batches/{batch}" WRITE file_batches::one;
    /// The files of a batch
    GET "/v1/vector_stores/{id}/file_batches/{batch}/files" WRITE file_batches::list_files, query FILES.to_vec();
    /// Cancel it; files that are searched by then stay
    POST "/v1/vector_stores/{id}/file_batches/{batch}/cancel" WRITE file_batches::cancel;
    /// Find passages
    POST "/v1/vector_stores/{id}/search" SEARCH vector_stores::search;

    /// Changes of corpora, with `write`, and measurements on them, with `admin`; newest first
    GET "/v1/ken/jobs" ADMIN_OR_WRITE jobs::list;
    /// One of them
    GET "/v1/ken/jobs/{id}" ADMIN_OR_WRITE jobs::one;
    /// Cancel it; what it has published stays
    POST "/v1/ken/jobs/{id}/cancel" ADMIN_OR_WRITE jobs::cancel;
    /// Make a corpus
    POST "/v1/ken/corpora" WRITE changes::make;
    /// A corpus with its generations
    GET "/v1/ken/corpora/{name}" AnyKey changes::one;
    /// Remove a corpus that was made here
    DELETE "/v1/ken/corpora/{name}" WRITE changes::remove;
    /// Upload documents; those of known ids are replaced, and files that cannot be read are left out
    POST "/v1/ken/corpora/{name}/documents" WRITE changes::upload;
    /// The documents, newest first
    GET "/v1/ken/corpora/{name}/documents" SEARCH documents::list, query DOCUMENTS.to_vec();
    /// Delete a document
    DELETE "/v1/ken/corpora/{name}/documents/{*id}" WRITE changes::delete_document;
    /// Bring an earlier generation back, as a new one
    POST "/v1/ken/corpora/{name}/rollback" WRITE changes::roll_back;
    /// Leave documents or passages out of every result
    POST "/v1/ken/corpora/{name}/prune" WRITE prune::prune;
    /// Restore what is left out, by document, passage or reason
    POST "/v1/ken/corpora/{name}/restore" WRITE prune::restore;
    /// The documents with passages that are left out, newest first
    GET "/v1/ken/corpora/{name}/pruned" SEARCH prune::list;
    /// The corpora
    GET "/v1/ken/corpora" AnyKey corpora::list;
    /// The passages of a document, in the order of its text
    GET "/v1/ken/corpora/{name}/passages" SEARCH documents::passages, query PASSAGES.to_vec();
    /// A passage
    GET "/v1/ken/corpora/{name}/passages/{*id}" SEARCH corpora::passage;

    /// Whether the server runs; needs no key
    GET "/health" Everybody state::health;
    /// Whether it takes work; needs no key
    GET "/ready" Everybody state::ready;
    /// Metrics for Prometheus
    GET "/metrics" ADMIN state::metrics;
    /// This description
    GET "/openapi.json" AnyKey description;

    POST "/mcp" AnyKey mcp::take;
    // The console holds no data of the server, and asks for a key itself.
    GET "/" Everybody console::page;
    GET "/console/{version}/{file}" Everybody console::file;
}

/// The paths that need no key.
pub(super) static OPEN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let open = routes()
        .into_iter()
        .filter(|route| route.permission == Everybody);
    open.map(|route| route.path).collect()
});

/// The description as bytes: it takes a while to make, and never changes.
static DESCRIPTION: LazyLock<Bytes> = LazyLock::new(|| {
    // Cannot fail: no map has keys other than strings, and no part fails.
    let described = serde_json::to_vec(&described(&routes()));
    described.unwrap_or_default().into()
});

async fn description(_: Call) -> Result<Reply<Text>, Refusal> {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((headers, DESCRIPTION.clone()).into_response().into())
}

/// The router of all routes.
pub(super) fn router() -> Router<Shared> {
    routes().into_iter().fold(Router::new(), |router, route| {
        let method = match route.method {
            Method::GET => MethodFilter::GET,
            Method::DELETE => MethodFilter::DELETE,
            _ => MethodFilter::POST,
        };
        let path = route.path;
        let answer =
            move |State(shared): State<Shared>, request: Request| (route.handler)(shared, request);
        router.route(path, on(method, answer))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The routes in the table of the documentation, each with its scopes, `any` or `none`.
    fn documented() -> BTreeMap<String, Vec<String>> {
        let page = include_str!("../../../../docs/reference/server.md");
        let quoted = |text: &str| -> Vec<String> {
            let parts = text.split('`').skip(1).step_by(2);
            parts.map(str::to_owned).collect()
        };
        let mut documented = BTreeMap::new();
        let mut before = Vec::new();
        for row in page.lines() {
            let cells: Vec<&str> = row.split(" | ").collect();
            let [first, .., last] = cells.as_slice() else {
                continue;
            };
            if !first.contains("` /") && !first.contains(" /") {
                continue;
            }
            let keys = match last.trim_end_matches(" |").trim() {
                "likewise" => before.clone(),
                "that of the tool" => vec!["any".to_owned()],
                word @ ("any" | "none") => vec![word.to_owned()],
                scopes => quoted(scopes),
            };
            before.clone_from(&keys);
            for address in quoted(first) {
                let (methods, path) = address.split_once(" /").unwrap();
                for method in methods.split(", ") {
                    let known = documented.insert(format!("{method} /{path}"), keys.clone());
                    assert_eq!(known, None, "{method} /{path}");
                }
            }
        }
        documented
    }

    #[test]
    fn the_documentation_has_the_routes_and_who_may_use_them() {
        let mut documented = documented();
        for route in routes() {
            let name = format!("{} {}", route.method, route.path.replace("{*", "{"));
            let mut keys = match route.permission {
                Permission::Everybody => vec!["none".to_owned()],
                Permission::AnyKey => vec!["any".to_owned()],
                Permission::Scopes(scopes) => scopes.iter().map(ToString::to_string).collect(),
            };
            if name == "GET /console/{version}/{file}" {
                // Part of the page at `/`.
                continue;
            }
            let mut listed = documented.remove(&name).unwrap_or_default();
            keys.sort();
            listed.sort();
            assert_eq!(listed, keys, "{name}");
        }
        assert!(documented.is_empty(), "{documented:?}");
    }
}
