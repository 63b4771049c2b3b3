//! The documents of a corpus, and the passages of one.

use std::sync::Arc;

use ken_corpus::CorpusError;

use super::call::{Call, Corpus};
use super::reply::Reply;
use crate::service::answers::Request;
use crate::service::resources::Served;
use crate::service::search_options::SearchOptions;
use crate::service::work;
use crate::wire::documents::{DocumentObject, PassageObject, paged};
use crate::wire::page::{Listed, Page, unknown_cursor};
use crate::wire::refusal::Refusal;

/// The documents, newest first.
pub(crate) async fn list(call: Call<Corpus>) -> Result<Reply<Listed<DocumentObject>>, Refusal> {
    let (prefix, page) = paged(call.query(), "prefix")?;
    let Corpus(name) = call.path;
    let listed = page_of_documents(&call.served, &call.request, name, prefix, page);
    Ok(Reply::json(&listed.await?))
}

/// A page of the documents of a corpus whose ids begin with a prefix.
///
/// # Errors
/// A corpus that is not there, not for the caller, or lists no documents; a page after what never was a document.
pub(crate) async fn page_of_documents(
    served: &Arc<Served>,
    request: &Request,
    name: String,
    prefix: String,
    page: Page,
) -> Result<Listed<DocumentObject>, Refusal> {
    let opened = SearchOptions::of(Some(name)).some_corpus(served, &request.caller)?;
    work::run(served, &served.searches, move |_, cancel| {
        let back_end = opened.retriever.back_end();
        let corpus = back_end.corpus().ok_or_else(not_listed)?;
        let documents = corpus.documents(page.after(), page.newest_first());
        // Reading many documents ends when the request is cancelled.
        let documents = documents.map(|document| {
            cancel.check()?;
            document.map_err(refused)
        });
        let chosen = documents.filter(|document| match document {
            Ok(document) => document.id.starts_with(&prefix) && back_end.admits(&document.metadata),
            Err(_) => true,
        });
        let shown = chosen.map(|document| document.map(DocumentObject::from));
        page.first(shown, |document| &document.doc_id)
    })
    .await
}

/// The passages of a document, in the order of its text.
pub(crate) async fn passages(call: Call<Corpus>) -> Result<Reply<Listed<PassageObject>>, Refusal> {
    let (document, page) = paged(call.query(), "document")?;
    let Corpus(name) = call.path;
    let listed = page_of_passages(&call.served, &call.request, name, document, page);
    Ok(Reply::json(&listed.await?))
}

/// A page of the passages of a document.
///
/// # Errors
/// A corpus that is not there, not for the caller, or lists no documents; a document that is not there, or not named; a
/// page after what is no passage of it.
pub(crate) async fn page_of_passages(
    served: &Arc<Served>,
    request: &Request,
    name: String,
    document: String,
    page: Page,
) -> Result<Listed<PassageObject>, Refusal> {
    let opened = SearchOptions::of(Some(name)).some_corpus(served, &request.caller)?;
    if document.is_empty() {
        let message = "it has to name the document whose passages are listed";
        return Err(Refusal::bad("missing_parameter", message).of("document"));
    }
    work::run(served, &served.searches, move |_, _| {
        let back_end = opened.retriever.back_end();
        let corpus = back_end.corpus().ok_or_else(not_listed)?;
        let passages = corpus.passages_of(&document, page.after());
        let passages = passages.map_err(refused)?.ok_or_else(|| {
            let message = format!("there is no document {document:?}");
            Refusal::not_found("unknown_document", message)
        })?;
        let admitted = passages.filter(|passage| match passage {
            Ok((passage, _)) => back_end.admits(&passage.metadata),
            Err(_) => true,
        });
        let shown = admitted.map(|passage| {
            let (passage, is_live) = passage.map_err(|error| Refusal::failed(&error))?;
            Ok(PassageObject::of(passage, is_live))
        });
        page.first(shown, |passage| &passage.passage_id)
    })
    .await
}

/// The refusal of a page. What is unknown is what it comes after.
fn refused(error: CorpusError) -> Refusal {
    match error {
        CorpusError::UnknownDocument { id } | CorpusError::UnknownPassage { id } => {
            unknown_cursor("after", &id)
        }
        other => Refusal::failed(&other),
    }
}

fn not_listed() -> Refusal {
    let message =
        "a corpus in Milvus or behind a search service lists no documents: it knows passages only";
    Refusal::bad("documents_not_listed", message)
}
