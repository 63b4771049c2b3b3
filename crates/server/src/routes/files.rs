//! `/v1/files`: files that clients upload, to be put into corpora.

use std::io::Read;
use std::sync::Arc;

use axum::http::header;
use axum::response::IntoResponse;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::call::{Call, Upload};
use super::reply::{File as Content, Reply};
use super::upload::{Received, receive};
use super::{jobs, pieces};
use crate::access::caller::Caller;
use crate::service::clock::unix_seconds;
use crate::service::library::files::{FileRecord, START, safe_name};
use crate::service::library::job::{Job, Work};
use crate::service::library::{Library, new_id};
use crate::service::resources::Served;
use crate::service::work::blocking;
use crate::wire::files::{Deleted, FileObject};
use crate::wire::page::Listed;
use crate::wire::query;
use crate::wire::refusal::Refusal;

/// The longest piece of a file to send at once, in bytes.
const PIECE: u64 = 64 << 10;

/// The default purpose.
const PURPOSE: &str = "assistants";

/// What the names of the fields begin with that say when a file expires.
const EXPIRES: &str = "expires_after";

/// Takes a file.
pub(crate) async fn upload(call: Call, body: Upload) -> Result<Reply<FileObject>, Refusal> {
    let library = call.served.library()?;
    let id = new_id(START);
    let folder = library.files.content(&id);
    let headers = call.headers.clone();
    let kept = receive(headers, body.0, folder, safe_name, move |received| {
        let library = call.served.library()?;
        let kept = received.and_then(|received| keep(library, &id, received, call.caller()));
        if kept.is_err() {
            // The server removes leftovers when it starts again.
            let _ = library.files.remove(&id);
        }
        kept
    });
    Ok(Reply::json(&FileObject::from(kept.await?)))
}

fn keep(
    library: &Library,
    id: &str,
    received: Received,
    caller: &Caller,
) -> Result<FileRecord, Refusal> {
    let Received { files, mut fields } = received;
    if fields.keys().any(|name| name.starts_with(EXPIRES)) {
        let message = "files stay until they are deleted: `expires_after` is not supported here";
        return Err(Refusal::bad("unsupported_parameter", message).of(EXPIRES));
    }
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
    library.files.keep(&file)?;
    Ok(file)
}

/// Whether the caller may see a file: a key for some corpora sees only the files that it uploaded.
fn is_seen(file: &FileRecord, caller: &Caller) -> bool {
    caller.may_read_all() || file.key.as_deref() == caller.key()
}

/// A file that the caller may see.
///
/// # Errors
/// A file that does not exist, or is not for the caller.
pub(crate) fn find(library: &Library, id: &str, caller: &Caller) -> Result<FileRecord, Refusal> {
    let file = library.files.find(id)?;
    file.filter(|file| is_seen(file, caller)).ok_or_else(|| {
        let message = format!("there is no file {id:?}");
        Refusal::not_found("unknown_file", message).of("file_id")
    })
}

/// The files, newest first; of one `purpose`, if the query names it.
pub(crate) async fn list(call: Call) -> Result<Reply<Listed<FileObject>>, Refusal> {
    let page = call.page()?;
    let files = call.blocking(|call| {
        let mut all = call.served.library()?.files.all()?;
        all.retain(|file| is_seen(file, call.caller()));
        for (_, purpose) in query::pairs(call.query()).filter(|(name, _)| name == "purpose") {
            all.retain(|file| file.purpose == purpose);
        }
        all.sort_by(|left, right| (right.created, &right.id).cmp(&(left.created, &left.id)));
        Ok(all.into_iter().map(FileObject::from).collect())
    });
    Ok(Reply::json(
        &page.of(files.await?, |file: &FileObject| &file.id)?,
    ))
}

/// One of them.
pub(crate) async fn one(call: Call<String>) -> Result<Reply<FileObject>, Refusal> {
    let file = call.blocking(|call| find(call.served.library()?, &call.path, call.caller()));
    Ok(Reply::json(&FileObject::from(file.await?)))
}

/// The bytes of a file as it was uploaded. Browsers save them and do not show them: a stranger may have written the
/// page.
pub(crate) async fn content(call: Call<String>) -> Result<Reply<Content>, Refusal> {
    let opened = call.blocking(|call| {
        let library = call.served.library()?;
        let record = find(library, &call.path, call.caller())?;
        let path = library.files.content(&record.id).join(&record.filename);
        let file = ken_storage::open(&path)?;
        Ok((record, file))
    });
    let (record, mut file) = opened.await?;
    let name = utf8_percent_encode(&record.filename, NON_ALPHANUMERIC);
    let headers = [
        (header::CONTENT_TYPE, kind_of(&record.filename).to_owned()),
        (header::CONTENT_LENGTH, record.bytes.to_string()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename*=UTF-8''{name}"),
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    let body = pieces::body(move || {
        let mut piece = Vec::new();
        file.by_ref().take(PIECE).read_to_end(&mut piece)?;
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    });
    Ok((headers, body).into_response().into())
}

/// The media type of a file by its name.
fn kind_of(name: &str) -> &'static str {
    let ending = name.rsplit('.').next().unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "txt" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "json" => "application/json",
        "jsonl" => "application/jsonl",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

/// Removes a file from all corpora, and deletes it.
pub(crate) async fn delete(call: Call<String>) -> Result<Reply<Deleted>, Refusal> {
    let (served, id) = (Arc::clone(&call.served), call.path.clone());
    for job in &call.blocking(detach_all).await? {
        jobs::ended(job).await?;
    }
    let deleted = Deleted::of("file", id.clone());
    blocking(move || Ok(served.library()?.files.remove(&id)?)).await?;
    Ok(Reply::json(&deleted))
}

/// Begins to remove a file from all corpora that hold it.
fn detach_all(call: &Call<String>) -> Result<Vec<Arc<Job>>, Refusal> {
    let (library, caller, file) = (call.served.library()?, call.caller(), &call.path);
    find(library, file, caller)?;
    let corpora = holding(&call.served, library, file)?;
    if !corpora.iter().all(|corpus| caller.may_read(corpus)) {
        let message = "the file is in a corpus that the key is not for";
        return Err(Refusal::forbidden("insufficient_scope", message));
    }
    let detach = |corpus: &String| {
        library.cancel_attaching(corpus, file)?;
        let file = file.clone();
        library.submit(corpus, Work::Detach { file }, caller.key())
    };
    corpora.iter().map(detach).collect()
}

/// The corpora that hold a file.
fn holding(served: &Served, library: &Library, file: &str) -> Result<Vec<String>, Refusal> {
    let made = library.stores.made()?.into_iter().map(|made| made.name);
    let opened = served.corpora.all();
    let opened = opened.iter().map(|opened| opened.name.clone());
    let mut names: Vec<String> = made.chain(opened).collect();
    names.sort_unstable();
    names.dedup();
    let mut holding = Vec::new();
    for name in names {
        let member = library.stores.file(&name, file)?;
        holding.extend(member.map(|_| name));
    }
    Ok(holding)
}
