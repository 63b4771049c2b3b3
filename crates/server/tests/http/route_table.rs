//! All routes of the server, with what each takes and which scopes open it.

use ken_server::Scope;
use serde_json::{Value, json};

use crate::client::{request, upload};
use crate::fixture::{FRANCE, OIL};

/// What a route takes beside its path.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    Nothing,
    /// A body of JSON, such as this.
    Json(fn() -> Value),
    /// The same; it may be left out.
    JsonOrNothing(fn() -> Value),
    File,
}

pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// As it is described, with the names of its parts in braces.
    pub(crate) path: &'static str,
    /// The same with parts that are there, or could be.
    pub(crate) example: &'static str,
    pub(crate) takes: Takes,
    /// Each of which opens it; none where any key does.
    pub(crate) scopes: &'static [Scope],
}

impl Route {
    /// As a person calls it.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether no key is needed.
    pub(crate) fn is_open(&self) -> bool {
        ["/health", "/ready"].contains(&self.path)
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
            Takes::File => upload(self.example, headers, &[("a.md", b"A text.")], &[]),
            _ => {
                let body = self
                    .body()
                    .map_or_else(String::new, |body| body.to_string());
                request(self.method, self.example, headers, &body)
            }
        }
    }
}

fn route(
    method: &'static str,
    path: &'static str,
    example: &'static str,
    takes: Takes,
    scopes: &'static [Scope],
) -> Route {
    Route {
        method,
        path,
        example,
        takes,
        scopes,
    }
}

const ASK: &[Scope] = &[Scope::Ask];
const SEARCH: &[Scope] = &[Scope::Search];
const WRITE: &[Scope] = &[Scope::Write];
const ADMIN: &[Scope] = &[Scope::Admin];
const ASK_OR_ADMIN: &[Scope] = &[Scope::Ask, Scope::Admin];
const ANY: &[Scope] = &[];

/// Routes that answer questions, search and embed.
fn asking() -> Vec<Route> {
    let chat = || json!({"model": "ken/always", "messages": [{"role": "user", "content": OIL}]});
    let respond = || json!({"model": "ken/never", "input": FRANCE});
    let embed = || json!({"model": "ken/embedder", "input": ["the oil"]});
    let ask = || json!({"question": OIL});
    let search = || json!({"query": "oil"});
    let knows = || json!({"question": FRANCE, "policy": "certainty@0.5"});
    let ping = || json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let take = Takes::Json;
    let (chats, responses) = ("/v1/chat/completions", "/v1/responses");
    let (model, embeddings) = ("/v1/models/{id}", "/v1/embeddings");
    vec![
        route("POST", chats, chats, take(chat), ASK),
        route("POST", responses, responses, take(respond), ASK),
        route("POST", embeddings, embeddings, take(embed), SEARCH),
        route("GET", "/v1/models", "/v1/models", Takes::Nothing, ANY),
        route("GET", model, "/v1/models/ken/always", Takes::Nothing, ANY),
        route("POST", "/v1/ken/ask", "/v1/ken/ask", take(ask), ASK),
        route(
            "POST",
            "/v1/ken/search",
            "/v1/ken/search",
            take(search),
            SEARCH,
        ),
        route("POST", "/v1/ken/knows", "/v1/ken/knows", take(knows), ASK),
        route("POST", "/mcp", "/mcp", take(ping), ANY),
    ]
}

/// Routes by which a server is watched.
fn watching() -> Vec<Route> {
    let feedback = || json!({"request_id": "req_0", "rating": "bad"});
    let question = || json!({"question": "Who?", "golden_answers": ["Ida"]});
    let correction = || json!({"question": "Who?", "source": "self"});
    let mut all = vec![
        route(
            "POST",
            "/v1/ken/reload",
            "/v1/ken/reload",
            Takes::Nothing,
            ADMIN,
        ),
        route(
            "POST",
            "/v1/ken/feedback",
            "/v1/ken/feedback",
            Takes::Json(feedback),
            ASK,
        ),
        route(
            "POST",
            "/v1/ken/evals/questions",
            "/v1/ken/evals/questions",
            Takes::Json(question),
            ADMIN,
        ),
        route(
            "POST",
            "/v1/ken/corrections",
            "/v1/ken/corrections",
            Takes::Json(correction),
            ADMIN,
        ),
    ];
    for (method, path, example, scopes) in [
        ("GET", "/v1/ken/access", "/v1/ken/access", ANY),
        ("GET", "/v1/ken/guarantee", "/v1/ken/guarantee", ANY),
        ("GET", "/v1/ken/traces", "/v1/ken/traces", ASK_OR_ADMIN),
        (
            "GET",
            "/v1/ken/traces/questions",
            "/v1/ken/traces/questions",
            ASK_OR_ADMIN,
        ),
        (
            "GET",
            "/v1/ken/traces/{id}",
            "/v1/ken/traces/req_0",
            ASK_OR_ADMIN,
        ),
        (
            "GET",
            "/v1/ken/evals/questions",
            "/v1/ken/evals/questions",
            ADMIN,
        ),
        (
            "DELETE",
            "/v1/ken/evals/questions/{id}",
            "/v1/ken/evals/questions/eval_0",
            ADMIN,
        ),
        ("GET", "/v1/ken/corrections", "/v1/ken/corrections", ADMIN),
        (
            "DELETE",
            "/v1/ken/corrections/{id}",
            "/v1/ken/corrections/none",
            ADMIN,
        ),
        ("GET", "/v1/ken/studies", "/v1/ken/studies", ADMIN),
        (
            "GET",
            "/v1/ken/studies/{name}/{file}",
            "/v1/ken/studies/nq/report.html",
            ADMIN,
        ),
        ("GET", "/metrics", "/metrics", ADMIN),
        ("GET", "/health", "/health", ANY),
        ("GET", "/ready", "/ready", ANY),
        ("GET", "/openapi.json", "/openapi.json", ANY),
    ] {
        all.push(route(method, path, example, Takes::Nothing, scopes));
    }
    all
}

/// Routes of files and corpora.
fn keeping() -> Vec<Route> {
    let store = || json!({"name": "made"});
    let attach = || json!({"file_id": "file-0"});
    let find = || json!({"query": "oil"});
    let corpus = || json!({"name": "made-too"});
    let back = || json!({"generation": 1});
    let prune = || json!({"documents": ["none.md"]});
    let restore = || json!({"reasons": ["none"]});
    let mut all = vec![
        route("POST", "/v1/files", "/v1/files", Takes::File, WRITE),
        route(
            "POST",
            "/v1/vector_stores",
            "/v1/vector_stores",
            Takes::JsonOrNothing(store),
            WRITE,
        ),
        route(
            "POST",
            "/v1/vector_stores/{id}/files",
            "/v1/vector_stores/notes/files",
            Takes::Json(attach),
            WRITE,
        ),
        route(
            "POST",
            "/v1/vector_stores/{id}/search",
            "/v1/vector_stores/notes/search",
            Takes::Json(find),
            SEARCH,
        ),
        route(
            "POST",
            "/v1/ken/corpora",
            "/v1/ken/corpora",
            Takes::Json(corpus),
            WRITE,
        ),
        route(
            "POST",
            "/v1/ken/corpora/{name}/documents",
            "/v1/ken/corpora/notes/documents",
            Takes::File,
            WRITE,
        ),
        route(
            "POST",
            "/v1/ken/corpora/{name}/rollback",
            "/v1/ken/corpora/notes/rollback",
            Takes::Json(back),
            WRITE,
        ),
        route(
            "POST",
            "/v1/ken/corpora/{name}/prune",
            "/v1/ken/corpora/notes/prune",
            Takes::Json(prune),
            WRITE,
        ),
        route(
            "POST",
            "/v1/ken/corpora/{name}/restore",
            "/v1/ken/corpora/notes/restore",
            Takes::Json(restore),
            WRITE,
        ),
    ];
    for (method, path, example, scopes) in [
        ("GET", "/v1/files", "/v1/files", WRITE),
        ("GET", "/v1/files/{id}", "/v1/files/file-0", WRITE),
        ("DELETE", "/v1/files/{id}", "/v1/files/file-0", WRITE),
        ("GET", "/v1/vector_stores", "/v1/vector_stores", WRITE),
        (
            "GET",
            "/v1/vector_stores/{id}",
            "/v1/vector_stores/notes",
            WRITE,
        ),
        (
            "DELETE",
            "/v1/vector_stores/{id}",
            "/v1/vector_stores/notes",
            WRITE,
        ),
        (
            "GET",
            "/v1/vector_stores/{id}/files",
            "/v1/vector_stores/notes/files",
            WRITE,
        ),
        (
            "GET",
            "/v1/vector_stores/{id}/files/{file}",
            "/v1/vector_stores/notes/files/file-0",
            WRITE,
        ),
        (
            "DELETE",
            "/v1/vector_stores/{id}/files/{file}",
            "/v1/vector_stores/notes/files/file-0",
            WRITE,
        ),
        ("GET", "/v1/ken/jobs", "/v1/ken/jobs", WRITE),
        ("GET", "/v1/ken/jobs/{id}", "/v1/ken/jobs/job_0", WRITE),
        (
            "POST",
            "/v1/ken/jobs/{id}/cancel",
            "/v1/ken/jobs/job_0/cancel",
            WRITE,
        ),
        ("GET", "/v1/ken/corpora", "/v1/ken/corpora", ANY),
        (
            "GET",
            "/v1/ken/corpora/{name}",
            "/v1/ken/corpora/notes",
            ANY,
        ),
        (
            "DELETE",
            "/v1/ken/corpora/{name}",
            "/v1/ken/corpora/notes",
            WRITE,
        ),
        (
            "DELETE",
            "/v1/ken/corpora/{name}/documents/{id}",
            "/v1/ken/corpora/notes/documents/none.md",
            WRITE,
        ),
        (
            "GET",
            "/v1/ken/corpora/{name}/pruned",
            "/v1/ken/corpora/notes/pruned",
            SEARCH,
        ),
        (
            "GET",
            "/v1/ken/corpora/{name}/passages/{id}",
            "/v1/ken/corpora/notes/passages/house.md%230",
            SEARCH,
        ),
    ] {
        all.push(route(method, path, example, Takes::Nothing, scopes));
    }
    all
}

/// All of them.
pub(crate) fn routes() -> Vec<Route> {
    [asking(), watching(), keeping()]
        .into_iter()
        .flatten()
        .collect()
}
