//! Rankings of documents by a retriever, which finds passages: a document has the score of its best passage.

use std::collections::HashSet;

use ken_answer::{AnswerError, Retriever, SearchResult};
use ken_index::Mode;

use super::trec_run::DocumentScore;

/// The `k` best documents for each query, best first; fewer where the search finds no more. It searches deeper until its
/// passages are of so many documents.
///
/// # Errors
/// As [`Retriever::search`].
pub fn ranked_documents(
    retriever: &Retriever,
    queries: &[&str],
    mode: Mode,
    k: usize,
) -> Result<Vec<Vec<DocumentScore>>, AnswerError> {
    let mut ranked: Vec<Vec<DocumentScore>> = vec![Vec::new(); queries.len()];
    let mut open: Vec<usize> = (0..queries.len()).collect();
    let mut depth = k;
    while !open.is_empty() {
        let asked: Vec<&str> = open.iter().map(|&at| queries[at]).collect();
        let found = retriever.search_many(&asked, mode, depth)?;
        let mut too_few = Vec::new();
        for (at, results) in open.into_iter().zip(found) {
            let is_all = results.len() < depth;
            ranked[at] = documents(results);
            if ranked[at].len() < k && !is_all {
                too_few.push(at);
            }
            ranked[at].truncate(k);
        }
        open = too_few;
        depth = depth.saturating_mul(2);
    }
    Ok(ranked)
}

/// The documents of passages, each where its first passage stands.
fn documents(results: Vec<SearchResult>) -> Vec<DocumentScore> {
    let mut seen = HashSet::new();
    let documents = results.into_iter().map(|result| DocumentScore {
        document: result.passage.doc_id,
        score: result.score,
    });
    documents
        .filter(|one| seen.insert(one.document.clone()))
        .collect()
}
