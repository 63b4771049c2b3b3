//! Leaving passages of a corpus out of every result, and restoring them. It scores nothing: a person, or `ken prune`,
//! chooses the passages.

use super::call::{Call, Corpus, JsonBody};
use super::changes::submit;
use super::jobs;
use super::reply::Reply;
use crate::service::library::job::Work;
use crate::service::library::pruning::{Prune, Restore};
use crate::service::search_options::SearchOptions;
use crate::service::work;
use crate::wire::jobs::JobObject;
use crate::wire::page::Listed;
use crate::wire::prune::{PruneRequest, PrunedDocumentObject};
use crate::wire::refusal::Refusal;

/// The default reason.
const BY_HAND: &str = "by hand";

/// The longest reason, in bytes.
const LONGEST_REASON: usize = 200;

/// Leaves documents and passages out.
pub(crate) async fn prune(
    call: Call<Corpus>,
    body: JsonBody<PruneRequest>,
) -> Result<Reply<JobObject>, Refusal> {
    let asked = body.read().await?;
    if asked.documents.is_empty() && asked.passages.is_empty() {
        let message = "`documents` or `passages` have to name what is left out";
        return Err(Refusal::bad("invalid_value", message));
    }
    let reason = asked.reason.unwrap_or_else(|| BY_HAND.to_owned());
    check(&reason)?;
    let passages = asked.passages.iter();
    let mut own = passages.filter_map(|mark| mark.reason.as_deref());
    own.try_for_each(check)?;
    let work = Work::Prune(Prune {
        documents: asked.documents,
        passages: asked.passages,
        reason,
    });
    jobs::outcome(submit(call, work).await?.as_ref()).await
}

/// Whether people can read and choose a reason.
fn check(reason: &str) -> Result<(), Refusal> {
    if reason.trim().is_empty() || reason.len() > LONGEST_REASON {
        let message = format!("it must have from 1 to {LONGEST_REASON} bytes");
        Err(Refusal::invalid("reason", message))
    } else {
        Ok(())
    }
}

/// Restores documents, passages, or everything that was left out for a reason.
pub(crate) async fn restore(
    call: Call<Corpus>,
    body: JsonBody<Restore>,
) -> Result<Reply<JobObject>, Refusal> {
    let asked = body.read().await?;
    if asked.documents.is_empty() && asked.passages.is_empty() && asked.reasons.is_empty() {
        let message = "`documents`, `passages` or `reasons` have to name what is restored";
        return Err(Refusal::bad("invalid_value", message));
    }
    jobs::outcome(submit(call, Work::Restore(asked)).await?.as_ref()).await
}

/// The documents with passages that are left out, newest first.
pub(crate) async fn list(
    call: Call<Corpus>,
) -> Result<Reply<Listed<PrunedDocumentObject>>, Refusal> {
    let page = call.page()?;
    let Corpus(name) = &call.path;
    let corpus = SearchOptions::of(Some(name.clone())).some_corpus(&call.served, call.caller())?;
    let listed = work::run(&call.served, &call.served.searches, move |_, _| {
        let documents = corpus.retriever.back_end().pruned_documents()?;
        let documents = documents.into_iter().map(PrunedDocumentObject::from);
        let documents: Vec<PrunedDocumentObject> = documents.collect();
        page.of(documents, |document| &document.doc_id)
    });
    Ok(Reply::json(&listed.await?))
}
