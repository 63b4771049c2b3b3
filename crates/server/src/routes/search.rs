//! `/v1/ken/search`: the passages that fit a query.

use std::sync::Arc;
use std::time::Instant;

use ken_answer::{AnswerError, SearchResult};

use super::call::{Call, JsonBody};
use super::reply::Reply;
use crate::service::answers::{Request, milliseconds};
use crate::service::corpora::Opened;
use crate::service::resources::Served;
use crate::service::search_options::SearchOptions;
use crate::service::{readable, work};
use crate::wire::ken::{Retrieved, SearchRequest, SearchResponse};
use crate::wire::refusal::Refusal;

/// The default number of passages.
const FOUND: usize = 10;

pub(crate) async fn search(
    call: Call,
    body: JsonBody<SearchRequest>,
) -> Result<Reply<SearchResponse>, Refusal> {
    let asked = body.read().await?;
    let response = find(&call.served, asked, &call.request);
    Ok(Reply::json(&response.await?))
}

/// The passages that fit a query.
///
/// # Errors
/// A value that cannot be taken, and whatever keeps the search from running.
pub(crate) async fn find(
    served: &Arc<Served>,
    asked: SearchRequest,
    request: &Request,
) -> Result<SearchResponse, Refusal> {
    let searched = SearchOptions::by(&asked)?;
    let corpora = searched.some_corpora(served, &request.caller)?;
    check(&corpora, &asked.query).map_err(|refusal| refusal.of("query"))?;
    work::run(served, &served.searches, move |served, cancel| {
        let started = Instant::now();
        let (k, mode) = searched.amount(FOUND, served.pipeline.settings.mode);
        let hits = searched.hits(served, &corpora, cancel, (&asked.query, mode, k))?;
        let mut states = corpora.iter().map(|corpus| corpus.state());
        let corpus = states.next().ok_or(AnswerError::NoCorpus)?;
        Ok(SearchResponse {
            corpus,
            other_corpora: states.collect(),
            hits: hits.into_iter().map(hit).collect(),
            ms: milliseconds(started.elapsed()),
        })
    })
    .await
}

/// Searches for several queries, one after the other; other requests have their turn in between. `named` is the name
/// of the list of queries, and the default number of passages for each.
///
/// # Errors
/// A query that is too long, and whatever keeps the search from running.
pub(super) async fn find_each<P>(
    call: &Call<P>,
    searched: SearchOptions,
    corpora: &[Arc<Opened>],
    queries: Vec<String>,
    named: (&str, usize),
) -> Result<Vec<Vec<SearchResult>>, Refusal> {
    let (name, default_k) = named;
    for query in &queries {
        check(corpora, query).map_err(|refusal| refusal.of(name))?;
    }
    let (k, mode) = searched.amount(default_k, call.served.pipeline.settings.mode);
    let corpora = corpora.to_vec();
    work::in_pieces(
        &call.served,
        &call.served.searches,
        work::deadline(&call.served),
        queries,
        move |served, cancel, query| searched.hits(served, &corpora, cancel, (&query, mode, k)),
    )
    .await
}

/// Refuses a query that one of the corpora cannot read to its end.
fn check(corpora: &[Arc<Opened>], query: &str) -> Result<(), Refusal> {
    let mut most = corpora
        .iter()
        .map(|corpus| corpus.retriever.embedder().max_tokens());
    most.try_for_each(|most| readable::check(query, most))
}

fn hit(result: SearchResult) -> Retrieved {
    Retrieved {
        passage_id: result.passage.id.0,
        doc_id: result.passage.doc_id,
        title: result.passage.title,
        location: result.passage.location.into(),
        text: result.text,
        chunk: result.chunk.map(Into::into),
        score: Some(result.score),
        corpus: result.corpus,
        in_prompt: None,
        metadata: result.passage.metadata,
    }
}
