//! The routes of the server, with good requests to each.

use ken_server::{Permission, Scope};
use serde_json::{Value, json};

use crate::client::{request, upload};
use crate::fixture::{FRANCE, OIL};

/// What a route takes besides its path.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    /// A body of JSON, such as this.
    Json(fn() -> Value),
    /// As `Json`, or no body.
    JsonOrNothing(fn() -> Value),
    File,
}

pub(crate) struct Route {
    pub(crate) method: String,
    /// As it is described, with the names of its parameters in braces.
    pub(crate) path: String,
    /// The path with parameters that exist, or could.
    pub(crate) example: String,
    pub(crate) takes: Takes,
    /// Any of them opens it; empty if any key does.
    pub(crate) scopes: &'static [Scope],
    /// Whether no key is needed.
    pub(crate) is_open: bool,
}

impl Route {
    /// As a person calls it.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether errors are those of the MCP.
    pub(crate) fn is_mcp(&self) -> bool {
        self.path == "/mcp"
    }

    /// A good body.
    pub(crate) fn body(&self) -> Option<Value> {
        match self.takes {
            Takes::Json(body) | Takes::JsonOrNothing(body) => Some(body()),
            Takes::Nothing | Takes::File => None,
        }
    }

    /// A good request.
    pub(crate) fn request(&self, headers: &[(&str, &str)]) -> Vec<u8> {
        match self.takes {
            Takes::File => upload(&self.example, headers, &[("a.md", b"A text.")], &[]),
            _ => {
                let body = self.body().map(|body| body.to_string());
                let body = body.unwrap_or_default();
                request(&self.method, &self.example, headers, &body)
            }
        }
    }
}

/// What a route takes. A new route with a body needs its own arm.
fn takes(method: &str, path: &str) -> Takes {
    let body: fn() -> Value = match (method, path) {
        ("POST", "/v1/chat/completions") => {
            || json!({"model": "ken/always", "messages": [{"role": "user", "content": OIL}]})
        }
        ("POST", "/v1/responses") => || json!({"model": "ken/never", "input": FRANCE}),
        ("POST", "/v1/completions") => || json!({"model": "ken", "prompt": "The oil"}),
        ("POST", "/tokenize") => || json!({"prompt": "The oil"}),
        ("POST", "/detokenize") => || json!({"tokens": [1]}),
        ("POST", "/v1/embeddings") => || json!({"model": "ken/embedder", "input": ["the oil"]}),
        ("POST", "/v1/rerank" | "/v2/rerank") => {
            || json!({"query": "oil", "documents": ["the oil", "a lamp"]})
        }
        ("POST", "/retrieve") => || json!({"queries": ["oil"]}),
        ("POST", "/v1/ken/ask" | "/v1/ken/decide") => || json!({"question": OIL}),
        ("POST", "/v1/ken/search" | "/v1/vector_stores/{id}/search") => || json!({"query": "oil"}),
        ("POST", "/v1/ken/knows") => || json!({"question": FRANCE, "policy": "certainty@0.5"}),
        ("POST", "/mcp") => || json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
        ("POST", "/v1/ken/feedback") => || json!({"request_id": "req_0", "rating": "bad"}),
        ("POST", "/v1/ken/evals/questions") => {
            || json!({"question": "Who?", "golden_answers": ["Ida"]})
        }
        ("POST", "/v1/ken/evals/jobs") => || json!({"kind": "tune"}),
        ("POST", "/v1/ken/policy") => || json!({"study": "none.tune.000000"}),
        ("POST", "/v1/ken/corrections") => || json!({"question": "Who?", "source": "self"}),
        ("POST", "/v1/vector_stores/{id}/files") => || json!({"file_id": "file-0"}),
        ("POST", "/v1/vector_stores/{id}") => || json!({"name": "Notes", "metadata": {"a": "b"}}),
        ("POST", "/v1/vector_stores/{id}/files/{file}") => || json!({"attributes": {"a": "b"}}),
        ("POST", "/v1/vector_stores/{id}/file_batches") => || json!({"file_ids": ["file-0"]}),
        ("POST", "/v1/ken/corpora") => || json!({"name": "made-too"}),
        ("POST", "/v1/ken/corpora/{name}/rollback") => || json!({"generation": 1}),
        ("POST", "/v1/ken/corpora/{name}/prune") => || json!({"documents": ["none.md"]}),
        ("POST", "/v1/ken/corpora/{name}/restore") => || json!({"reasons": ["none"]}),
        ("POST", "/v1/vector_stores") => {
            return Takes::JsonOrNothing(|| json!({"name": "made"}));
        }
        ("POST", "/v1/files" | "/v1/ken/corpora/{name}/documents") => return Takes::File,
        _ => return Takes::Nothing,
    };
    Takes::Json(body)
}

/// A path with names that exist, or could.
fn example(path: &str) -> String {
    let (start, end) = match path {
        "/v1/models/{id}" => return "/v1/models/ken/always".to_owned(),
        "/v1/ken/studies/{name}/{file}" => return "/v1/ken/studies/nq/report.html".to_owned(),
        path if path.contains("vector_stores/") => (path.replace("{id}", "notes"), "file-0"),
        path if path.contains("corpora/") => {
            let id = if path.contains("passages") {
                "house.md%230"
            } else {
                "none.md"
            };
            (path.replace("{name}", "notes"), id)
        }
        path if path.contains("files/") => (path.to_owned(), "file-0"),
        path if path.contains("responses/") => (path.to_owned(), "resp_0"),
        path if path.contains("traces/") => (path.to_owned(), "req_0"),
        path if path.contains("evals/") => (path.to_owned(), "eval_0"),
        path if path.contains("jobs/") => (path.to_owned(), "job_0"),
        path => (path.to_owned(), "none"),
    };
    let named = start.replace("{id}", end).replace("{file}", end);
    named.replace("{batch}", "vsfb_0")
}

/// All routes but those of the console, which are not part of the API.
pub(crate) fn routes() -> Vec<Route> {
    let all = ken_server::routes().into_iter();
    let all = all.filter(|route| route.path != "/" && !route.path.starts_with("/console/"));
    all.map(|route| {
        let (method, path) = (route.method.to_string(), route.path.replace("{*", "{"));
        Route {
            takes: takes(&method, &path),
            example: example(&path),
            scopes: match route.permission {
                Permission::Scopes(scopes) => scopes,
                Permission::AnyKey | Permission::Everybody => &[],
            },
            is_open: route.permission == Permission::Everybody,
            method,
            path,
        }
    })
    .collect()
}
