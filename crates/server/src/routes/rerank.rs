//! `/v1/rerank`: texts of a client, ranked by how well they fit a query.

use std::ops::Range;
use std::sync::Arc;

use super::call::{Call, JsonBody};
use super::embeddings::counted;
use super::reply::Reply;
use crate::service::cancel::Cancel;
use crate::service::resources::Served;
use crate::service::search_options::SearchOptions;
use crate::service::{policies, readable, work};
use crate::wire::refusal::Refusal;
use crate::wire::rerank::{RankedText, RerankRequest, RerankResponse, RerankResult, RerankUsage};

/// The most texts at once.
const MOST_TEXTS: usize = 1000;

/// How many texts are scored before other requests have their turn.
const SLICE: usize = 16;

/// Ranks texts.
pub(crate) async fn rerank(
    call: Call,
    body: JsonBody<RerankRequest>,
) -> Result<Reply<RerankResponse>, Refusal> {
    let asked = body.read().await?;
    if let Some(other) = asked.model.filter(|model| model != policies::RERANKER) {
        return Err(policies::other_than(policies::RERANKER, &other));
    }
    let texts: Arc<[String]> = asked.documents.into_iter().map(String::from).collect();
    refuse_empty(&texts, &asked.query)?;
    let corpus = SearchOptions::of(asked.ken.corpus).some_corpus(&call.served, call.caller())?;
    let most = corpus.retriever.embedder().max_tokens();
    refuse_unreadable(&texts, &asked.query, most)?;
    let slices = || {
        let starts = (0..texts.len()).step_by(SLICE);
        starts.map(|start| start..(start + SLICE).min(texts.len()))
    };
    let (gate, deadline) = (&call.served.searches, work::deadline(&call.served));
    // Counts all texts before scoring any, so that a refused request costs nothing.
    let (own, query, given) = (Arc::clone(&corpus), asked.query.clone(), Arc::clone(&texts));
    let count = move |_: &Served, _: &Cancel, slice: Range<usize>| {
        let tokens = |text| counted(own.retriever.embedder(), text);
        let read = given[slice]
            .iter()
            .map(|text| tokens(text) + tokens(&query));
        Ok(read.sum::<usize>())
    };
    let counts = work::in_pieces(&call.served, gate, deadline, slices(), count).await?;
    let total_tokens = counts.into_iter().sum();
    let reserved = call.caller().reserve(total_tokens)?;
    let (query, given) = (asked.query, Arc::clone(&texts));
    let score = move |_: &Served, cancel: &Cancel, slice: Range<usize>| {
        let retriever = corpus.retriever.clone().bound(&cancel.token());
        let scores = retriever.relevance(&query, given[slice].to_vec());
        scores.map_err(|error| cancel.refusal(error))
    };
    let scores = work::in_pieces(&call.served, gate, deadline, slices(), score).await?;
    reserved.settle(total_tokens);
    let mut ranked: Vec<(usize, f32)> = scores.into_iter().flatten().enumerate().collect();
    // A stable sort keeps equal scores in their order.
    ranked.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    ranked.truncate(asked.top_n.unwrap_or(usize::MAX));
    let result = |(index, relevance_score)| RerankResult {
        index,
        relevance_score,
        document: asked.return_documents.then(|| RankedText {
            text: texts[index].clone(),
        }),
    };
    Ok(Reply::json(&RerankResponse {
        id: call.request.id.clone(),
        model: policies::RERANKER,
        results: ranked.into_iter().map(result).collect(),
        usage: RerankUsage { total_tokens },
    }))
}

/// Refuses a request without texts or without a query.
fn refuse_empty(texts: &[String], query: &str) -> Result<(), Refusal> {
    if texts.is_empty() || texts.len() > MOST_TEXTS || texts.iter().any(String::is_empty) {
        let message = format!("it must be 1 to {MOST_TEXTS} texts, none of them empty");
        return Err(Refusal::invalid("documents", message));
    }
    match query.trim().is_empty() {
        true => Err(Refusal::invalid("query", "it must not be empty")),
        false => Ok(()),
    }
}

/// Refuses texts that a reranker of at most so many tokens cannot read to their end.
fn refuse_unreadable(texts: &[String], query: &str, most: Option<usize>) -> Result<(), Refusal> {
    readable::check(query, most).map_err(|refusal| refusal.of("query"))?;
    for (index, text) in texts.iter().enumerate() {
        readable::check(text, most)
            .map_err(|refusal| refusal.of(&format!("documents[{index}]")))?;
    }
    Ok(())
}
