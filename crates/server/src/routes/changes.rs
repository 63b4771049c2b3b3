//! Changes of `/v1/ken/corpora`: making, uploading, deleting, bringing back.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ken_answer::BackEnd;

use super::corpora::summary;
use super::jobs;
use super::path::Path;
use super::state::App;
use super::upload::receive;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::clock::unix_seconds;
use crate::service::library::job::{Job, Work};
use crate::service::library::new_id;
use crate::service::library::stores::MadeCorpus;
use crate::service::work::blocking;
use crate::wire::body;
use crate::wire::jobs::{CorpusDetails, MakeCorpus, PastState, Rollback};
use crate::wire::ken::CorpusSummary;
use crate::wire::prune::PruningObject;
use crate::wire::refusal::Refusal;

/// Makes a corpus.
pub(crate) async fn make(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    app.served.library()?;
    let asked: MakeCorpus = body::read(body).await?;
    request.caller.must_read(&asked.name)?;
    let served = Arc::clone(&app.served);
    let made = MadeCorpus {
        name: asked.name,
        created: unix_seconds(),
        metadata: BTreeMap::new(),
    };
    let summary = blocking(move || {
        let library = served.library()?;
        library.make(&served.corpora, &made)?;
        Ok(CorpusSummary::empty(made.name, library.reference()))
    });
    Ok((StatusCode::CREATED, body::json(&summary.await?)).into_response())
}

/// A corpus with its history.
pub(crate) async fn one(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.must_read(&name)?;
    let served = Arc::clone(&app.served);
    let details = blocking(move || {
        let found = served.corpora.find(Some(&name), None);
        let Ok(Some(opened)) = found else {
            let library = served.library.as_ref();
            let made = library
                .map(|library| library.stores.find(&name))
                .transpose();
            let made = made.map_err(|error| Refusal::failed(&error))?.flatten();
            return match (made, library) {
                (Some(made), Some(library)) => Ok(CorpusDetails {
                    summary: CorpusSummary::empty(made.name, library.reference()),
                    prunings: Vec::new(),
                    history: Vec::new(),
                }),
                _ => Err(found.err().unwrap_or_else(Refusal::ending)),
            };
        };
        let searched = opened.retriever.back_end();
        let prunings = searched.prunings().map_err(Refusal::from)?;
        let history = match (searched, &opened.address) {
            (BackEnd::Local(_), Some(ken_setup::CorpusAddress::Folder(path))) => {
                ken_corpus::history(path).map_err(|error| Refusal::failed(&error))?
            }
            _ => Vec::new(),
        };
        let history = history.into_iter().map(|past| PastState {
            generation: past.generation,
            created_at: past.created_unix_s,
            change: past.change.to_string(),
            documents: past.documents,
            passages: past.passages,
            pruned: past.pruned,
            current: past.current,
        });
        Ok(CorpusDetails {
            summary: summary(&opened),
            prunings: prunings.into_iter().map(PruningObject::from).collect(),
            history: history.collect(),
        })
    });
    Ok(body::json(&details.await?))
}

/// Takes a change of a corpus on.
///
/// # Errors
/// A corpus that is not there, not for the caller, or not in a folder; too many jobs.
pub(crate) async fn submit(
    app: &App,
    request: &Request,
    corpus: String,
    work: Work,
) -> Result<Arc<Job>, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&corpus)?;
    let served = Arc::clone(&app.served);
    let caller = request.caller.clone();
    blocking(move || {
        let library = served.library()?;
        library.place(&served.corpora, &corpus)?;
        library.submit(&corpus, work, caller.key())
    })
    .await
}

/// Uploads documents. Those of ids that are there already take their places.
pub(crate) async fn upload(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(corpus): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&corpus)?;
    let library = app.served.library()?;
    library.place(&app.served.corpora, &corpus)?;
    let id = new_id("job_");
    let sent = library.jobs.sent(&id);
    let served = Arc::clone(&app.served);
    let job = receive(headers, body, sent.clone(), move |received| {
        let library = served.library()?;
        let job = received.and_then(|received| {
            if received.files.is_empty() {
                let message = "a file is expected";
                return Err(Refusal::bad("missing_file", message).of("file"));
            }
            library.recognize(&sent)?;
            library
                .jobs
                .submit(id, &corpus, Work::Ingest, request.caller.key())
        });
        if job.is_err() {
            // What stays is removed when the server starts again.
            let _ = ken_storage::remove(&sent);
        }
        job
    });
    Ok(jobs::begun(job.await?.as_ref()))
}

/// Deletes a document.
pub(crate) async fn delete_document(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path((corpus, id)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let documents = vec![id];
    let job = submit(&app, &request, corpus, Work::Delete { documents }).await?;
    jobs::outcome(&job).await
}

/// Brings an earlier generation back, as a new one.
pub(crate) async fn roll_back(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(corpus): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let Rollback { generation } = body::read(body).await?;
    let job = submit(&app, &request, corpus, Work::Rollback { generation }).await?;
    jobs::outcome(&job).await
}

/// Removes a corpus that a client made.
pub(crate) async fn remove(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(corpus): Path<String>,
) -> Result<Response, Refusal> {
    let job = drop_corpus(&app, &request, corpus).await?;
    jobs::outcome(&job).await
}

/// Begins to remove a corpus that a client made.
///
/// # Errors
/// One that is not there, not for the caller, or not made by a client.
pub(crate) async fn drop_corpus(
    app: &App,
    request: &Request,
    corpus: String,
) -> Result<Arc<Job>, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&corpus)?;
    let served = Arc::clone(&app.served);
    let caller = request.caller.clone();
    blocking(move || {
        let library = served.library()?;
        library.place(&served.corpora, &corpus)?;
        let made = library.stores.find(&corpus);
        if made.map_err(|error| Refusal::failed(&error))?.is_none() {
            let message = format!("the corpus {corpus:?} is one of the settings, and stays");
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "corpus_of_settings",
                message,
            ));
        }
        for job in library.jobs.open_of(&corpus) {
            library
                .cancel(&job)
                .map_err(|error| Refusal::failed(&error))?;
        }
        library.submit(&corpus, Work::Drop, caller.key())
    })
    .await
}
