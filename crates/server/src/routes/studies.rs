//! `/v1/ken/studies`: studies, comparisons and probes, and their files.

use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::call::Call;
use super::reply::{File, Reply, secured};
use crate::wire::refusal::Refusal;
use crate::wire::studies::StudyList;

/// What a page of a study may do: show itself, and save its own figures. It is alone in an origin of its own, so
/// nothing in it reads the console or reaches a server.
const POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// All of them.
pub(crate) async fn list(call: Call) -> Result<Reply<StudyList>, Refusal> {
    call.caller().must_read_all("studies are")?;
    let studies = call.blocking(|call| call.served.studies()?.all()).await?;
    Ok(Reply::json(&StudyList { studies }))
}

/// A file of one of them.
pub(crate) async fn file(call: Call<(String, String)>) -> Result<Reply<File>, Refusal> {
    call.caller().must_read_all("studies are")?;
    let file = call.path.1.clone();
    let bytes = call.blocking(|call| {
        let (name, file) = &call.path;
        call.served.studies()?.file(name, file)
    });
    Ok(sent(&file, bytes.await?).into())
}

fn sent(name: &str, bytes: Vec<u8>) -> Response {
    let (kind, shown) = match name.rsplit('.').next() {
        Some("html") => ("text/html; charset=utf-8", "inline"),
        Some("csv") => ("text/csv; charset=utf-8", "attachment"),
        Some("jsonl") => ("application/jsonl", "attachment"),
        Some("toml") => ("application/toml", "attachment"),
        _ => ("application/json", "attachment"),
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, shown),
        (header::CACHE_CONTROL, "no-store"),
    ];
    secured((headers, bytes).into_response(), POLICY)
}
