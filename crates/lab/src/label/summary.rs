//! Statistics of labels over all questions. Callers format them.

use ken_eval::statistics::share;
use serde::Serialize;

use super::contexts::SELF;
use super::record::SourceRecord;

/// The aggregate of a run. Values are `None` if no question has a label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceSummary {
    /// Number of questions.
    pub n: usize,
    /// How many questions failed.
    pub failed: usize,
    /// How many have no label since they have no golden answers.
    pub unlabeled: usize,
    /// Every source, the model itself first.
    pub sources: Vec<SourceShare>,
    /// The share of labeled questions for which both rules prefer the same source.
    pub agreement: Option<f64>,
    /// The share of questions for which writing down what the model knows changes whether the model or a corpus makes
    /// the golden answer most likely, by their most helpful contexts: the model's is the question alone before, and
    /// its texts after (SR-RAG, Fig. 3). `None` if no label has both.
    pub changed_by_writing: Option<f64>,
}

/// How often a source is preferred.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceShare {
    /// `self`, or the name of a corpus.
    pub source: String,
    /// The share of labeled questions for which the majority rule prefers it.
    pub majority: Option<f64>,
    /// The share for which the rule of sums prefers it.
    pub sum: Option<f64>,
    /// The share of labeled questions whose golden answer is more likely after its most helpful context than without
    /// context (SR-RAG, Fig. 3); `None` if no label has both.
    pub above_null: Option<f64>,
}

/// Whether the golden answer is more likely after the best context of a source than without context.
fn above_null(record: &SourceRecord, name: &str) -> Option<bool> {
    let null = record.null_logprob?;
    let label = record.sources.iter().find(|label| label.source == name)?;
    let best = record.contexts.get(label.best?)?;
    Some(best.logprob > null)
}

/// Whether the most helpful source changes once the model has written down what it knows.
fn changed_by_writing(record: &SourceRecord) -> Option<bool> {
    let null = record.null_logprob?;
    let best = |own: bool| {
        let contexts = record.contexts.iter();
        let contexts = contexts.filter(|context| (context.source == SELF) == own);
        contexts.map(|context| context.logprob).reduce(f64::max)
    };
    let (written, read) = (best(true)?, best(false)?);
    Some((null > read) != (written > read))
}

/// Summarizes `records`.
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
    use ken_testing::with;

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
        let written = written.iter().map(|likelihood| context(SELF, *likelihood));
        let read = read.iter().map(|likelihood| context("notes", *likelihood));
        with!(SourceRecord::default(), null_logprob: Some(null.ln()), contexts: written.chain(read).collect())
    }

    #[test]
    fn writing_changes_what_helps_most() {
        let changed = |null, written: &[f64], read: &[f64]| {
            let records = [record(null, written, read)];
            summarize_sources(&records).changed_by_writing
        };
        // The texts help although the question alone does not, or mislead although it does not.
        assert_eq!(changed(0.1, &[0.0, 0.4], &[0.2, 0.3]), Some(1.0));
        assert_eq!(changed(0.4, &[0.1, 0.2], &[0.3]), Some(1.0));
        assert_eq!(changed(0.4, &[0.5], &[0.3]), Some(0.0));
        assert_eq!(changed(0.1, &[0.2], &[0.3]), Some(0.0));
        assert_eq!(changed(0.1, &[0.2], &[]), None);
    }
}
