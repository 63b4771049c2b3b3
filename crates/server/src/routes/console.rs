//! The console: a page for browsers at `/`. Its files are in the program and are found by their names alone, so no
//! path leads out of them. Their addresses hold a hash of all of them, so browsers keep them for good, and load all
//! of the new ones after an update.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::call::{Call, Names};
use super::reply::{File, Reply, secured};
use crate::access::caller::Caller;
use crate::wire::refusal::Refusal;

/// What the page may do: load the server's own files, and talk to it. Nothing of another origin, no script
/// or style in the page itself, no text that is read as markup, and no page around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// One year: for files that never change at their address.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// For files that browsers check each time, which costs little if they have not changed.
const ASKED_FOR: &str = "no-cache";

/// The placeholder in the page for the hash in the addresses of its files.
const VERSION: &str = "{version}";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[
            // Saved reports hold it too.
            ("figure.js", ken_report::FIGURE_SCRIPT.as_bytes()),
            $(($name, include_bytes!(concat!("../../console/", $name)))),*
        ]
    };
}

/// The page's files, by name.
const FILES: &[(&str, &[u8])] = files![
    "access.js",
    "answer.js",
    "api.js",
    "chart.js",
    "chat.js",
    "chats.js",
    "chosen.js",
    "corpora.js",
    "documents.js",
    "dom.js",
    "dropzone.js",
    "exchange.js",
    "feedback.js",
    "format.js",
    "icon.svg",
    "jobs.js",
    "knowledge.js",
    "main.js",
    "markdown.js",
    "measure.js",
    "metrics.js",
    "passage.js",
    "policies.js",
    "probed.js",
    "pruned.js",
    "question.js",
    "report.js",
    "search.js",
    "sentences.js",
    "studies.js",
    "style.css",
    "trace.js",
    "traces.js",
    "traffic.js",
    "upload.js",
];

/// The page with placeholders in the addresses of its files.
const INDEX: &str = include_str!("../../console/index.html");

/// The hash in the addresses of the files.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (name, bytes) in FILES {
        for part in [name.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hex(&hash.finalize())
});

/// The page, and its tag.
static WHOLE_PAGE: LazyLock<(Bytes, String)> = LazyLock::new(|| {
    let page = INDEX.replace(VERSION, &HASH);
    let tag = hex(&Sha256::digest(&page));
    (Bytes::from(page), tag)
});

/// Enough digits of a hash to tell versions apart.
fn hex(hash: &[u8]) -> String {
    let digits = hash.iter().take(8).map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// The page.
pub(crate) async fn page(call: Call) -> Result<Reply<File>, Refusal> {
    let (page, tag) = &*WHOLE_PAGE;
    let kind = "text/html; charset=utf-8";
    Ok(respond(&call.headers, kind, ASKED_FOR, tag, page.clone()).into())
}

/// The version and the name of a file. No file has a name that is not UTF-8.
pub(crate) struct FileName(String, String);

impl Names for FileName {
    type Text = (String, String);

    fn unreadable() -> Refusal {
        Refusal::unknown_route()
    }

    fn checked((version, name): (String, String), _: &Caller) -> Result<Self, Refusal> {
        Ok(Self(version, name))
    }
}

/// One of its files.
pub(crate) async fn file(call: Call<FileName>) -> Result<Reply<File>, Refusal> {
    let FileName(version, name) = &call.path;
    let file = FILES.iter().find(|(known, _)| known == name);
    let file = file.filter(|_| *version == *HASH);
    let (_, bytes) = file.ok_or_else(Refusal::unknown_route)?;
    let kind = match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "image/svg+xml",
    };
    let bytes = Bytes::from_static(bytes);
    Ok(respond(&call.headers, kind, FOR_GOOD, &HASH, bytes).into())
}

/// A file with its headers; without its bytes, if the browser has them already.
fn respond(
    headers: &HeaderMap,
    kind: &'static str,
    kept: &'static str,
    tag: &str,
    bytes: Bytes,
) -> Response {
    let tag = format!("\"{tag}\"");
    let known = headers.get(header::IF_NONE_MATCH);
    let known = known.and_then(|known| known.to_str().ok());
    let is_known = known.is_some_and(|known| {
        let mut tags = known.split(',').map(str::trim);
        tags.any(|one| one == "*" || one.trim_start_matches("W/") == tag)
    });
    let response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
    };
    let mut response = secured(response, POLICY);
    let all = response.headers_mut();
    all.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        all.insert(header::ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_served() {
        let names = std::fs::read_dir("console").unwrap().map(|entry| {
            let entry = entry.unwrap();
            entry.file_name().into_string().unwrap()
        });
        let mut names: BTreeSet<String> = names.collect();
        assert!(names.remove("index.html") && names.insert("figure.js".to_owned()));
        let served: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(served, names);
    }

    #[test]
    fn the_page_and_its_files_name_only_what_is_there() {
        let page = String::from_utf8(WHOLE_PAGE.0.to_vec()).unwrap();
        let own = format!("/console/{}/", *HASH);
        let is_there = |name: &str| FILES.iter().any(|(known, _)| *known == name);
        let mut count = 0;
        for address in page.split("=\"/").skip(1) {
            let address = format!("/{}", address.split('"').next().unwrap());
            let name = address
                .strip_prefix(&own)
                .unwrap_or_else(|| panic!("{address}"));
            assert!(is_there(name), "{name}");
            count += 1;
        }
        assert!(count >= 3);
        for (name, bytes) in FILES.iter().filter(|(name, _)| name.ends_with(".js")) {
            let text = std::str::from_utf8(bytes).unwrap();
            for imported in text.split(" from \"").skip(1) {
                let imported = imported.split('"').next().unwrap();
                assert!(
                    imported.strip_prefix("./").is_some_and(is_there),
                    "{name}: {imported}"
                );
            }
        }
    }
}
