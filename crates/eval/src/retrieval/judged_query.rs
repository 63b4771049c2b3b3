//! Queries with the judgments of their documents, and notices about ids that queries, judgments and corpora do not
//! share.

use std::collections::BTreeSet;

use ken_answer::Retriever;

use super::error::{RetrievalError, examples};
use super::qrels::{Judgments, Qrels};
use super::queries::SearchQuery;
use super::trec_run::TrecRun;

/// A query with judged documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedQuery {
    /// Its id.
    pub id: String,
    /// The text to search for.
    pub text: String,
    /// The relevance of the judged documents, by id.
    pub judgments: Judgments,
}

/// The judged queries, in order, with notices about ids that do not match. Queries without judgments belong to other
/// splits and are left out.
///
/// # Errors
/// [`RetrievalError::NoQueryKnown`].
pub fn judged_queries(
    queries: Vec<SearchQuery>,
    mut qrels: Qrels,
) -> Result<(Vec<JudgedQuery>, Option<String>), RetrievalError> {
    let asked_ids = examples(queries.iter().map(|query| query.id.as_str()));
    let judged = qrels.0.len();
    let joined = queries.into_iter().filter_map(|SearchQuery { id, text }| {
        let judgments = qrels.0.remove(&id)?;
        Some(JudgedQuery {
            id,
            text,
            judgments,
        })
    });
    let joined: Vec<JudgedQuery> = joined.collect();
    let unknown = &qrels.0;
    let ids = examples(unknown.keys().map(String::as_str));
    if joined.is_empty() {
        return Err(RetrievalError::NoQueryKnown {
            judged,
            judged_ids: ids,
            asked_ids,
        });
    }
    let notice = (!unknown.is_empty()).then(|| {
        format!(
            "{} of the {judged} judged queries are not among those that are asked, and do not count: {ids}",
            unknown.len()
        )
    });
    Ok((joined, notice))
}

/// Notices about relevant documents that are neither in a corpus nor in any run over it. They count as not found.
///
/// # Errors
/// [`RetrievalError::NoDocumentKnown`]; a corpus that cannot be read.
pub fn unknown_documents(
    queries: &[JudgedQuery],
    runs: &[TrecRun],
    retriever: &Retriever,
) -> Result<Option<String>, RetrievalError> {
    let relevant = queries.iter().flat_map(|query| &query.judgments);
    let relevant = relevant.filter(|(_, relevance)| **relevance > 0);
    let relevant: BTreeSet<&str> = relevant.map(|(id, _)| id.as_str()).collect();
    let ranked = queries.iter().flat_map(|query| {
        let by_run = runs.iter().flat_map(move |run| run.of(&query.id));
        by_run.map(|scored| scored.document.as_str())
    });
    let ranked: BTreeSet<&str> = ranked.collect();
    let mut unknown: Vec<&str> = Vec::new();
    for id in relevant.difference(&ranked) {
        if !retriever.back_end().has_document(id)? {
            unknown.push(id);
        }
    }
    let (judged, lacking) = (relevant.len(), unknown.len());
    let ids = examples(unknown);
    match lacking {
        0 => Ok(None),
        _ if lacking == judged => Err(RetrievalError::NoDocumentKnown { judged, ids }),
        _ => Ok(Some(format!(
            "the corpus lacks {lacking} of the {judged} relevant documents, which count as not found: {ids}"
        ))),
    }
}
