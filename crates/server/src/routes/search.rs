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

/// Passages found where nobody says how many.
const FOUND: usize = 10;

/// Searches.
pub(crate) async fn search(
    call: Call,
    body: JsonBody<SearchRequest>,
) -> Result<Reply<SearchResponse>, Refusal> {
    let asked = body.read().await?;
    let found = find(&call.served, asked, &call.request);
    Ok(Reply::json(&found.await?))
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
    let searched = SearchOptions::by(&asked)?;
    let corpora = searched.some_corpora(served, &request.caller)?;
    check(&corpora, &asked.query).map_err(|refusal| refusal.of("query"))?;
    work::run(
        served,
        |served| &served.searches,
        move |served, cancel| {
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
        },
    )
    .await
}

/// Searches for several queries, one after the other, between which others have their turn. `named` is what the list of
/// queries is called, and how many passages are found for each where nobody says.
///
/// # Errors
/// A query that is too long, and whatever keeps it from being searched.
pub(super) async fn find_each<P>(
    call: &Call<P>,
    searched: SearchOptions,
    corpora: &[Arc<Opened>],
    queries: Vec<String>,
    named: (&str, usize),
) -> Result<Vec<Vec<SearchResult>>, Refusal> {
    let (name, found) = named;
    for query in &queries {
        check(corpora, query).map_err(|refusal| refusal.of(name))?;
    }
    let (k, mode) = searched.amount(found, call.served.pipeline.settings.mode);
    let corpora = corpora.to_vec();
    work::in_pieces(
        &call.served,
        |served| &served.searches,
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

fn hit(found: SearchResult) -> Retrieved {
    Retrieved {
        passage_id: found.passage.id.0,
        doc_id: found.passage.doc_id,
        title: found.passage.title,
        location: found.passage.location.into(),
        text: found.text,
        chunk: found.chunk.map(Into::into),
        score: found.score,
        corpus: found.corpus,
        in_prompt: None,
        metadata: found.passage.metadata,
    }
}
