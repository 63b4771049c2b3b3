//! What labels say over all questions. Nothing is formatted here.

use serde::Serialize;

use super::record::SourceRecord;
use crate::statistics::share;

/// The aggregate of a run. Values are `None` where no question has a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceSummary {
    /// Number of questions.
    pub n: usize,
    /// How many of them could not be labeled.
    pub failed: usize,
    /// How many have no label for want of golden answers.
    #[serde(rename = "unlabelled")]
    pub unlabeled: usize,
    /// Every source, the model itself first.
    pub sources: Vec<SourceShare>,
    /// The share of labeled questions for which both rules prefer the same source.
    pub agreement: Option<f64>,
}

/// How often a source is preferred.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceShare {
    /// `self`, or the name of a corpus.
    pub source: String,
    /// The share of labeled questions for which the majority rule prefers it.
    pub majority: Option<f64>,
    /// The same of the rule of sums.
    pub sum: Option<f64>,
    /// The share of labeled questions whose golden answer its most helpful context makes more likely than no
    /// context does (SR-RAG, Fig. 3); `None` where that was not recorded.
    pub above_null: Option<f64>,
}

/// Whether the best context of a source makes the golden answer more likely than no context does.
fn above_null(record: &SourceRecord, name: &str) -> Option<bool> {
    let null = record.null_logprob?;
    let label = record.sources.iter().find(|one| one.source == name)?;
    let best = record.contexts.get(label.best?)?;
    Some(best.logprob > null)
}

/// Counts `records`.
pub fn summarize_sources(records: &[SourceRecord]) -> SourceSummary {
    let labels: Vec<_> = records
        .iter()
        .filter_map(|record| record.preferred.as_ref())
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for source in records.iter().flat_map(|record| &record.sources) {
        if !names.contains(&source.source.as_str()) {
            names.push(&source.source);
        }
    }
    SourceSummary {
        n: records.len(),
        failed: records.iter().filter(|r| r.error.is_some()).count(),
        unlabeled: records.iter().filter(|r| r.unlabeled.is_some()).count(),
        sources: names
            .into_iter()
            .map(|name| SourceShare {
                source: name.to_owned(),
                majority: share(labels.iter().map(|label| label.majority == name)),
                sum: share(labels.iter().map(|label| label.sum == name)),
                above_null: share(records.iter().filter_map(|record| above_null(record, name))),
            })
            .collect(),
        agreement: share(labels.iter().map(|label| label.majority == label.sum)),
    }
}
