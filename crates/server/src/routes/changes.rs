//! Changes of `/v1/ken/corpora`: making, uploading, deleting, rolling back.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use ken_answer::BackEnd;
use ken_setup::CorpusAddress;

use super::call::{Call, Corpus, JsonBody, Upload};
use super::corpora::{shown, summary};
use super::jobs;
use super::reply::Reply;
use super::upload::receive;
use crate::service::clock::unix_seconds;
use crate::service::library::files::safe_path;
use crate::service::library::job::{Job, Work};
use crate::service::library::new_id;
use crate::service::library::stores::MadeCorpus;
use crate::service::resources::Served;
use crate::wire::jobs::{CorpusDetails, JobObject, MakeCorpus, PastState, Rollback};
use crate::wire::ken::CorpusSummary;
use crate::wire::prune::PruningObject;
use crate::wire::refusal::Refusal;

/// Makes a corpus.
pub(crate) async fn make(
    call: Call,
    body: JsonBody<MakeCorpus>,
) -> Result<Reply<CorpusSummary>, Refusal> {
    call.served.library()?;
    let MakeCorpus { name } = body.read().await?;
    call.caller().must_read(&name)?;
    let made = MadeCorpus {
        name,
        title: None,
        created: unix_seconds(),
        metadata: BTreeMap::new(),
    };
    let summary = call.blocking(|call| {
        let library = call.served.library()?;
        library.make(&call.served.corpora, &made)?;
        Ok(CorpusSummary::empty(made.name, &shown(&library.reference)))
    });
    Ok(Reply::with_status(StatusCode::CREATED, &summary.await?))
}

/// A corpus with its history.
pub(crate) async fn one(call: Call<Corpus>) -> Result<Reply<CorpusDetails>, Refusal> {
    let details = call
        .blocking(|call| details(&call.served, &call.path.0))
        .await?;
    Ok(Reply::json(&details))
}

fn details(served: &Served, name: &str) -> Result<CorpusDetails, Refusal> {
    let found = served.corpora.find(Some(name), None);
    let Ok(Some(opened)) = found else {
        if let Some(library) = &served.library
            && let Some(made) = library.stores.find(name)?
        {
            return Ok(CorpusDetails {
                summary: CorpusSummary::empty(made.name, &shown(&library.reference)),
                prunings: Vec::new(),
                history: Vec::new(),
            });
        }
        return Err(found.err().unwrap_or_else(Refusal::ending));
    };
    let searched = opened.retriever.back_end();
    let prunings = searched.prunings()?.into_iter();
    let history = match (searched, &opened.address) {
        (BackEnd::Local(_), Some(CorpusAddress::Folder(path))) => {
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
        prunings: prunings.map(PruningObject::from).collect(),
        history: history.collect(),
    })
}

/// Submits a change of the corpus in the path.
///
/// # Errors
/// A corpus that does not exist or is not in a folder; too many jobs.
pub(crate) async fn submit(call: Call<Corpus>, work: Work) -> Result<Arc<Job>, Refusal> {
    call.blocking(|call| {
        let (library, Corpus(corpus)) = (call.served.library()?, &call.path);
        library.place(&call.served.corpora, corpus)?;
        library.submit(corpus, work, call.caller().key())
    })
    .await
}

/// Uploads documents. They replace those with the same ids.
pub(crate) async fn upload(call: Call<Corpus>, body: Upload) -> Result<Reply<JobObject>, Refusal> {
    let library = call.served.library()?;
    library.place(&call.served.corpora, &call.path.0)?;
    let id = new_id("job_");
    let sent = library.jobs.sent(&id);
    let headers = call.headers.clone();
    let job = receive(headers, body.0, sent.clone(), safe_path, move |received| {
        let library = call.served.library()?;
        let job = received.and_then(|received| {
            if received.files.is_empty() {
                let message = "a file is expected";
                return Err(Refusal::bad("missing_file", message).of("file"));
            }
            library.recognize(&sent)?;
            let (jobs, key) = (&library.jobs, call.caller().key());
            jobs.submit(id, &call.path.0, Work::Ingest, key)
        });
        if job.is_err() {
            // The server removes leftovers when it starts again.
            let _ = ken_storage::remove(&sent);
        }
        job
    });
    Ok(jobs::begun(job.await?.as_ref()))
}

/// Deletes a document.
pub(crate) async fn delete_document(
    call: Call<(Corpus, String)>,
) -> Result<Reply<JobObject>, Refusal> {
    let (call, id) = call.split();
    let documents = vec![id];
    let job = submit(call, Work::Delete { documents }).await?;
    jobs::outcome(&job).await
}

/// Publishes an earlier generation again, as a new one.
pub(crate) async fn roll_back(
    call: Call<Corpus>,
    body: JsonBody<Rollback>,
) -> Result<Reply<JobObject>, Refusal> {
    let Rollback { generation } = body.read().await?;
    let job = submit(call, Work::Rollback { generation }).await?;
    jobs::outcome(&job).await
}

/// Removes a corpus that a client made.
pub(crate) async fn remove(call: Call<Corpus>) -> Result<Reply<JobObject>, Refusal> {
    jobs::outcome(drop_corpus(call).await?.as_ref()).await
}

/// Begins to remove the corpus in the path.
///
/// # Errors
/// A corpus that does not exist, or that no client made.
pub(crate) async fn drop_corpus(call: Call<Corpus>) -> Result<Arc<Job>, Refusal> {
    call.blocking(|call| {
        let (library, Corpus(corpus)) = (call.served.library()?, &call.path);
        library.place(&call.served.corpora, corpus)?;
        if library.stores.find(corpus)?.is_none() {
            let message = format!("the corpus {corpus:?} is one of the settings, and stays");
            return Err(Refusal::forbidden("corpus_of_settings", message));
        }
        for job in library.jobs.open_of(corpus) {
            library.cancel(&job)?;
        }
        library.submit(corpus, Work::Drop, call.caller().key())
    })
    .await
}
