//! `/v1/ken/search`: the passages that fit a query.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use ken_answer::{AnswerError, SearchResult};

use super::state::App;
use crate::access::keys::Scope;
use crate::service::answering::{Request, milliseconds};
use crate::service::asked::Searched;
use crate::service::served::Served;
use crate::service::{readable, work};
use crate::wire::body;
use crate::wire::ken::{Retrieved, SearchRequest, SearchResponse};
use crate::wire::refusal::Refusal;

/// Passages found where nobody says how many.
const FOUND: usize = 10;

/// Searches.
pub(crate) async fn search(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Search)?;
    let asked: SearchRequest = body::read(body).await?;
    Ok(body::json(&find(&app.served, asked, &request).await?))
}

/// Searches.
///
/// # Errors
/// A value that cannot be taken, and whatever keeps it from being searched.
pub(crate) async fn find(
    served: &Arc<Served>,
    asked: SearchRequest,
    request: &Request,
) -> Result<SearchResponse, Refusal> {
    let searched = Searched::by(&asked)?;
    let corpus = searched.corpus(served, &request.caller)?;
    let corpus = corpus.ok_or(AnswerError::NoCorpus)?;
    readable::check(&asked.query, corpus.retriever.embedder().max_tokens())
        .map_err(|refusal| refusal.of("query"))?;
    work::run(
        served,
        |served| &served.searches,
        move |served, cancel| {
            let started = Instant::now();
            let retriever = searched.retriever(served, &corpus.retriever)?;
            let retriever = retriever.bound(&cancel.token());
            let (k, mode) = searched.amount(FOUND, served.pipeline.settings.mode);
            let hits = retriever.search(&asked.query, mode, k);
            let hits = hits.map_err(|error| cancel.refusal(error))?;
            Ok(SearchResponse {
                corpus: corpus.state(),
                hits: hits.into_iter().map(hit).collect(),
                ms: milliseconds(started.elapsed()),
            })
        },
    )
    .await
}

fn hit(found: SearchResult) -> Retrieved {
    Retrieved {
        passage_id: found.passage.id.0,
        doc_id: found.passage.doc_id,
        title: found.passage.title,
        text: found.text,
        chunk: found.chunk.map(Into::into),
        score: found.score,
        in_prompt: None,
        metadata: found.passage.metadata,
    }
}
