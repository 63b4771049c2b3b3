//! `/v1/ken/studies`: what was studied, compared and probed, and its files.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::path::Path;
use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::studies::Content;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::refusal::Refusal;
use crate::wire::studies::StudyList;

/// What a page of a study may do: show itself, and save its own figures. It stands alone in an origin of its
/// own, so whatever is in it reads nothing of the console and reaches no server.
const POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What stands with every file.
const AROUND: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// All of them.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    request.caller.must_read_all("studies are")?;
    let served = Arc::clone(&app.served);
    let studies = blocking(move || served.studies()?.all());
    Ok(body::json(&StudyList {
        studies: studies.await?,
    }))
}

/// A file of one of them.
pub(crate) async fn file(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path((name, file)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Admin)?;
    request.caller.must_read_all("studies are")?;
    let served = Arc::clone(&app.served);
    let content = blocking(move || served.studies()?.file(&name, &file)).await?;
    Ok(sent(content))
}

fn sent(Content { name, bytes }: Content) -> Response {
    let (kind, shown) = match name.rsplit('.').next() {
        Some("html") => ("text/html; charset=utf-8", "inline"),
        Some("csv") => ("text/csv; charset=utf-8", "attachment"),
        Some("jsonl") => ("application/jsonl", "attachment"),
        _ => ("application/json", "attachment"),
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, shown),
    ];
    let mut response = (headers, bytes).into_response();
    for (name, value) in AROUND {
        response.headers_mut().insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}
