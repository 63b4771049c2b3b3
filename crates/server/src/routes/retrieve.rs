//! `/retrieve`: the searches of an agent, many at once.

use super::call::{Call, JsonBody};
use super::reply::Reply;
use super::search;
use crate::service::search_options::SearchOptions;
use crate::wire::refusal::Refusal;
use crate::wire::retrieve::{RetrieveRequest, RetrieveResponse, Retrieved};

/// The most queries at once: a batch of a training run.
const MOST_QUERIES: usize = 2048;

/// The default number of passages for each query.
const FOUND: usize = 3;

/// Searches for each query.
pub(crate) async fn retrieve(
    call: Call,
    body: JsonBody<RetrieveRequest>,
) -> Result<Reply<RetrieveResponse>, Refusal> {
    let asked = body.read().await?;
    if asked.queries.is_empty() || asked.queries.len() > MOST_QUERIES {
        let message = format!("it must be 1 to {MOST_QUERIES} texts");
        return Err(Refusal::invalid("queries", message));
    }
    let searched = SearchOptions::of(asked.corpus).finding(asked.topk, "topk")?;
    let corpora = searched.some_corpora(&call.served, call.caller())?;
    let results = search::find_each(&call, searched, &corpora, asked.queries, ("queries", FOUND));
    let listed = results.await?.into_iter().map(|results| {
        let results = results.into_iter();
        let with_score = |hit| Retrieved::new(hit, asked.return_scores);
        results.map(with_score).collect()
    });
    Ok(Reply::json(&RetrieveResponse {
        result: listed.collect(),
    }))
}
