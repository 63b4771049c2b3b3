//! The passages that questions were probed with. Records hold their ids; the texts are in the corpus.

use ken_answer::{AnswerError, Retrieved, Retriever};
use ken_index::Mode;

use super::record::ProbeRecord;

/// Retrieves the passages again.
#[derive(Clone, Copy)]
pub struct ProbedEvidence<'a> {
    /// The retriever of the probed corpus.
    pub retriever: &'a Retriever,
    /// The search mode of the probe.
    pub mode: Mode,
}

impl ProbedEvidence<'_> {
    /// The passages that a question was probed with, best first; empty if the probe found none. `None` if the search
    /// finds different ones now.
    ///
    /// # Errors
    /// A search that fails.
    pub fn of(self, record: &ProbeRecord) -> Result<Option<Vec<Retrieved>>, AnswerError> {
        if record.evidence.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let found = self
            .retriever
            .search(&record.question, self.mode, record.evidence.len())?;
        let found: Vec<Retrieved> = found.into_iter().map(Retrieved::unread).collect();
        let ids = found.iter().map(|passage| passage.passage_id.as_str());
        let is_same = ids.eq(record.evidence.iter().map(String::as_str));
        Ok(is_same.then_some(found))
    }
}
