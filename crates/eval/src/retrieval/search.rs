//! Rankings of documents by a retriever of passages: a document has the score of its best passage.

use std::collections::HashSet;

use ken_answer::{AnswerError, Retriever, SearchResult};
use ken_index::Mode;

use super::trec_run::DocumentScore;

/// The `k` best documents for each query, best first; fewer if the search finds no more. Searches deeper until the
/// passages belong to that many documents.
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
        let asked: Vec<&str> = open.iter().map(|&index| queries[index]).collect();
        let found_passages = retriever.search_many(&asked, mode, depth)?;
        let mut too_few = Vec::new();
        for (index, results) in open.into_iter().zip(found_passages) {
            let is_all = results.len() < depth;
            ranked[index] = documents(results);
            if ranked[index].len() < k && !is_all {
                too_few.push(index);
            }
            ranked[index].truncate(k);
        }
        open = too_few;
        depth = depth.saturating_mul(2);
    }
    Ok(ranked)
}

/// The documents of passages, each at the position of its first passage.
fn documents(results: Vec<SearchResult>) -> Vec<DocumentScore> {
    let mut seen = HashSet::new();
    let documents = results.into_iter().map(|result| DocumentScore {
        document: result.passage.doc_id,
        score: result.score,
    });
    documents
        .filter(|result| seen.insert(result.document.clone()))
        .collect()
}
