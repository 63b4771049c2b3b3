//! Measures and compares systems that rank documents for the same queries.

use std::collections::BTreeSet;

use serde::Serialize;

use super::error::RetrievalError;
use super::judged_query::JudgedQuery;
use super::measures::measures;
use super::trec_run::TrecRun;
use crate::bootstrap::{DRAWS, interval};
use crate::paired_interval::paired_interval;
use crate::randomization::randomization_test;
use crate::statistics::mean;

/// The result of measuring systems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetrievalEvaluation {
    /// The number of judged queries.
    pub n: usize,
    /// How many documents of each ranking count.
    pub k: usize,
    /// The seed of all random draws.
    pub seed: u64,
    /// The systems, in order.
    pub systems: Vec<SystemResult>,
    /// Notices about the files, to read before the numbers.
    pub notices: Vec<String>,
    /// The ids of the queries.
    #[serde(skip)]
    pub queries: Vec<String>,
}

/// A system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemResult {
    /// Its name: a search mode, or the name of its run.
    pub system: String,
    /// Its measures, the main one first.
    pub measures: Vec<MeasureValue>,
}

/// A measure with its values for a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasureValue {
    /// The name of the measure, such as `nDCG@10`.
    pub measure: String,
    /// The mean over all queries; `None` without queries.
    pub mean: Option<f64>,
    /// Its 95 % bootstrap interval, low and high.
    pub interval: Option<[f64; 2]>,
    /// The difference to the first system; `None` for the first system itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_first: Option<AgainstFirst>,
    /// The values by query.
    #[serde(skip)]
    pub each: Vec<f64>,
}

/// The difference of a system to the first one in a measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgainstFirst {
    /// The mean difference.
    pub difference: Option<f64>,
    /// Its 95 % [`paired_interval`], low and high.
    pub interval: Option<[f64; 2]>,
    /// The p value of the paired [`randomization_test`].
    pub p: Option<f64>,
    /// Queries for which the system is better.
    pub better: usize,
    /// Queries for which it is worse.
    pub worse: usize,
}

/// Measures the rankings of systems for queries, up to `k` documents each.
///
/// # Errors
/// [`RetrievalError::SystemNamedTwice`].
pub fn evaluate_retrieval(
    queries: &[JudgedQuery],
    runs: &[TrecRun],
    k: usize,
    seed: u64,
) -> Result<RetrievalEvaluation, RetrievalError> {
    let mut names = BTreeSet::new();
    if let Some(run) = runs.iter().find(|run| !names.insert(&run.name)) {
        let name = run.name.clone();
        return Err(RetrievalError::SystemNamedTwice { name });
    }
    let mut systems: Vec<SystemResult> = Vec::new();
    for run in runs {
        let system = measured(run, queries, systems.first(), k, seed);
        systems.push(system);
    }
    let without = queries.iter();
    let without = without.filter(|query| query.judgments.values().all(|relevance| *relevance <= 0));
    let without = Some(without.count()).filter(|count| *count > 0);
    let without = without.map(|count| {
        format!("no document is relevant to {count} of the queries, which count as 0 in every mean")
    });
    let notices = runs.iter().flat_map(|run| notices(run, queries, k));
    Ok(RetrievalEvaluation {
        n: queries.len(),
        k,
        seed,
        systems,
        notices: without.into_iter().chain(notices).collect(),
        queries: queries.iter().map(|query| query.id.clone()).collect(),
    })
}

/// A system with its measures.
fn measured(
    run: &TrecRun,
    queries: &[JudgedQuery],
    first: Option<&SystemResult>,
    k: usize,
    seed: u64,
) -> SystemResult {
    let measured = measures(k).into_iter().enumerate().map(|(index, measure)| {
        let values = queries.iter();
        let values: Vec<f64> = values
            .map(|query| measure.of(&query.judgments, run.of(&query.id)))
            .collect();
        let first = first.and_then(|first| first.measures.get(index));
        MeasureValue {
            measure: measure.name,
            mean: mean(&values),
            interval: interval(&values, DRAWS, seed, mean),
            against_first: first.map(|first| against(&values, &first.each, seed)),
            each: values,
        }
    });
    SystemResult {
        system: run.name.clone(),
        measures: measured.collect(),
    }
}

fn against(values: &[f64], first: &[f64], seed: u64) -> AgainstFirst {
    let pairs = values.iter().zip(first);
    let differences: Vec<f64> = pairs.map(|(value, first)| value - first).collect();
    let count = |is: fn(f64) -> bool| differences.iter().filter(|d| is(**d)).count();
    AgainstFirst {
        difference: mean(&differences),
        interval: paired_interval(&differences, seed),
        p: randomization_test(&differences, seed),
        better: count(|difference| difference > 0.0),
        worse: count(|difference| difference < 0.0),
    }
}

/// Notices about a run.
fn notices(run: &TrecRun, queries: &[JudgedQuery], k: usize) -> Vec<String> {
    let count = |is: &dyn Fn(&JudgedQuery) -> bool| queries.iter().filter(|q| is(q)).count();
    let silent = count(&|query| run.of(&query.id).is_empty());
    // The order of equal scores matters if the documents' relevance differs.
    let tied = count(&|query| {
        let ranked = run.of(&query.id);
        let counted = ranked.iter().zip(ranked.iter().skip(1)).take(k);
        let relevance = |document: &str| query.judgments.get(document).copied().unwrap_or(0).max(0);
        counted
            .filter(|(document, next)| document.score == next.score)
            .any(|(document, next)| relevance(&document.document) != relevance(&next.document))
    });
    let name = &run.name;
    let silent = (silent > 0).then(|| {
        format!("{name} ranks nothing for {silent} of the queries, which count as 0 in every mean")
    });
    let tied = (tied > 0).then(|| {
        format!(
            "{name} gives equal scores to documents of different relevance for {tied} of the queries: their order by id decides, \
             as in trec_eval, and not their ranks; give scores that differ if the ranks are meant"
        )
    });
    silent.into_iter().chain(tied).collect()
}
