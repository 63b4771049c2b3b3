//! What labels say over all questions. Nothing is formatted here.

use ken_eval::statistics::share;
use serde::Serialize;

use super::contexts::SELF;
use super::record::SourceRecord;

/// The aggregate of a run. Values are `None` where no question has a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceSummary {
    /// Number of questions.
    pub n: usize,
    /// How many of them could not be labeled.
    pub failed: usize,
    /// How many have no label for want of golden answers.
    pub unlabeled: usize,
    /// Every source, the model itself first.
    pub sources: Vec<SourceShare>,
    /// The share of labeled questions for which both rules prefer the same source.
    pub agreement: Option<f64>,
    /// The share of questions for which writing down what the model knows changes whether it or a corpus makes the
    /// golden answer most likely: by the most helpful context of each, where the model has none but the
    /// question, and where it has its texts (SR-RAG, Fig. 3). `None` where no label tells.
    pub changed_by_writing: Option<f64>,
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
    /// context does (SR-RAG, Fig. 3); `None` where no label tells.
    pub above_null: Option<f64>,
}

/// Whether the best context of a source makes the golden answer more likely than no context does.
fn above_null(record: &SourceRecord, name: &str) -> Option<bool> {
    let null = record.null_logprob?;
    let label = record.sources.iter().find(|one| one.source == name)?;
    let best = record.contexts.get(label.best?)?;
    Some(best.logprob > null)
}

/// Whether the most helpful source is another one once the model has written down what it knows.
fn changed_by_writing(record: &SourceRecord) -> Option<bool> {
    let null = record.null_logprob?;
    let best = |own: bool| {
        let contexts = record.contexts.iter();
        let contexts = contexts.filter(|one| (one.source == SELF) == own);
        contexts.map(|one| one.logprob).reduce(f64::max)
    };
    let (written, read) = (best(true)?, best(false)?);
    Some((null > read) != (written > read))
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
        changed_by_writing: share(records.iter().filter_map(changed_by_writing)),
        agreement: share(labels.iter().map(|label| label.majority == label.sum)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::record::Context;

    fn record(null: f64, written: &[f64], read: &[f64]) -> SourceRecord {
        let context = |source: &str, likelihood: f64| Context {
            source: source.to_owned(),
            title: String::new(),
            text: String::new(),
            passage_id: None,
            logprob: likelihood.ln(),
        };
        let written = written.iter().map(|one| context(SELF, *one));
        let read = read.iter().map(|one| context("notes", *one));
        SourceRecord {
            null_logprob: Some(null.ln()),
            contexts: written.chain(read).collect(),
            ..SourceRecord::default()
        }
    }

    #[test]
    fn writing_changes_what_helps_most() {
        let changed = |null, written: &[f64], read: &[f64]| {
            let records = [record(null, written, read)];
            summarize_sources(&records).changed_by_writing
        };
        // The texts help where the question alone does not, or mislead where it does.
        assert_eq!(changed(0.1, &[0.0, 0.4], &[0.2, 0.3]), Some(1.0));
        assert_eq!(changed(0.4, &[0.1, 0.2], &[0.3]), Some(1.0));
        assert_eq!(changed(0.4, &[0.5], &[0.3]), Some(0.0));
        assert_eq!(changed(0.1, &[0.2], &[0.3]), Some(0.0));
        assert_eq!(changed(0.1, &[0.2], &[]), None);
    }
}
