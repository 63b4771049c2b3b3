//! `/v1/files`: files that clients upload, to be put into corpora.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;

use super::path::Path;
use super::state::App;
use super::upload::{Received, receive};
use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::clock::unix_seconds;
use crate::service::library::files::{FileRecord, START};
use crate::service::library::job::Work;
use crate::service::library::{Library, new_id};
use crate::service::served::Served;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::files::{Deleted, FileObject};
use crate::wire::page::Page;
use crate::wire::refusal::Refusal;

/// The purpose where nobody says.
const PURPOSE: &str = "assistants";

/// Takes a file.
pub(crate) async fn upload(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let library = app.served.library()?;
    let id = new_id(START);
    let folder = library.files.content(&id);
    let served = Arc::clone(&app.served);
    let kept = receive(headers, body, folder, move |received| {
        let library = served.library()?;
        let kept = received.and_then(|received| keep(library, &id, received, &request.caller));
        if kept.is_err() {
            // What stays is removed when the server starts again.
            let _ = library.files.remove(&id);
        }
        kept
    });
    Ok(body::json(&FileObject::from(kept.await?)))
}

fn keep(
    library: &Library,
    id: &str,
    received: Received,
    caller: &Caller,
) -> Result<FileRecord, Refusal> {
    let Received { files, mut fields } = received;
    let [(filename, bytes)] = files.as_slice() else {
        let message = format!("one file is expected, not {}", files.len());
        return Err(Refusal::bad("missing_file", message).of("file"));
    };
    if *bytes == 0 {
        return Err(Refusal::bad("empty_file", "the file is empty").of("file"));
    }
    library.recognize(&library.files.root(id))?;
    let file = FileRecord {
        id: id.to_owned(),
        filename: filename.clone(),
        bytes: *bytes,
        purpose: fields
            .remove("purpose")
            .unwrap_or_else(|| PURPOSE.to_owned()),
        created: unix_seconds(),
        key: caller.key().map(str::to_owned),
    };
    let kept = library.files.keep(&file);
    kept.map_err(|error| Refusal::failed(&error))?;
    Ok(file)
}

/// Whether the caller may see a file: a key that is for some corpora sees what came by itself.
fn is_seen(file: &FileRecord, caller: &Caller) -> bool {
    caller.may_read_all() || file.key.as_deref() == caller.key()
}

/// A file that the caller may see.
///
/// # Errors
/// One that is not there, or not for the caller.
pub(crate) fn find(library: &Library, id: &str, caller: &Caller) -> Result<FileRecord, Refusal> {
    let found = library.files.find(id);
    let found = found.map_err(|error| Refusal::failed(&error))?;
    found.filter(|file| is_seen(file, caller)).ok_or_else(|| {
        let message = format!("there is no file {id:?}");
        Refusal::new(StatusCode::NOT_FOUND, "unknown_file", message).of("file_id")
    })
}

/// The files, newest first.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    address: Uri,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let page = Page::read(address.query())?;
    let served = Arc::clone(&app.served);
    let files = blocking(move || {
        let all = served.library()?.files.all();
        let mut all = all.map_err(|error| Refusal::failed(&error))?;
        all.retain(|file| is_seen(file, &request.caller));
        all.sort_by(|one, other| (other.created, &other.id).cmp(&(one.created, &one.id)));
        Ok(all)
    });
    let files = files.await?.into_iter().map(FileObject::from).collect();
    Ok(body::json(&page.of(files, |file| &file.id)))
}

/// One of them.
pub(crate) async fn one(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let served = Arc::clone(&app.served);
    let file = blocking(move || find(served.library()?, &id, &request.caller));
    Ok(body::json(&FileObject::from(file.await?)))
}

/// Takes a file out of all corpora, and forgets it.
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let served = Arc::clone(&app.served);
    let file = id.clone();
    let jobs = blocking(move || {
        let library = served.library()?;
        find(library, &file, &request.caller)?;
        let corpora = holding(&served, library, &file)?;
        if !corpora.iter().all(|corpus| request.caller.may_read(corpus)) {
            let message = "the file is in a corpus that the key is not for";
            let status = StatusCode::FORBIDDEN;
            return Err(Refusal::new(status, "insufficient_scope", message));
        }
        let mut jobs = Vec::new();
        for corpus in &corpora {
            let cancelled = library.cancel_attaching(corpus, &file);
            cancelled.map_err(|error| Refusal::failed(&error))?;
            let file = file.clone();
            jobs.push(library.submit(corpus, Work::Detach { file }, request.caller.key())?);
        }
        Ok(jobs)
    });
    for job in &jobs.await? {
        super::jobs::ended(job).await?;
    }
    let (served, file) = (Arc::clone(&app.served), id.clone());
    blocking(move || {
        let removed = served.library()?.files.remove(&file);
        removed.map_err(|error| Refusal::failed(&error))
    })
    .await?;
    Ok(body::json(&Deleted {
        id,
        object: "file",
        deleted: true,
        generation: None,
    }))
}

/// The corpora that a file was put into.
fn holding(served: &Served, library: &Library, file: &str) -> Result<Vec<String>, Refusal> {
    let failed = |error| Refusal::failed(&error);
    let made = library.stores.made().map_err(failed)?;
    let made = made.into_iter().map(|made| made.name);
    let opened = served.corpora.all();
    let opened = opened.iter().map(|opened| opened.name.clone());
    let mut names: Vec<String> = made.chain(opened).collect();
    names.sort_unstable();
    names.dedup();
    let mut holding = Vec::new();
    for name in names {
        let member = library.stores.file(&name, file).map_err(failed)?;
        holding.extend(member.map(|_| name));
    }
    Ok(holding)
}
