//! What each policy answers under each condition of a study, and what it loses compared with the better of never and
//! always retrieving from the whole corpus, with always, and with itself on the whole corpus (Zero-RAG, Tables 1 to
//! 3, 5 and 7).

use std::str::FromStr;

use ken_answer::Policy;
use ken_eval::record::Record;
use ken_eval::statistics::number;
use serde::Serialize;

use crate::study::{Cell, Condition, Measure, Measured, PruneRatio, Retrieval};

/// A policy under a condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyOutcome {
    /// The data set.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// Active shards.
    pub n: u32,
    /// How passages are retrieved.
    pub retrieval: Retrieval,
    /// The policy.
    pub policy: String,
    /// Exact match.
    pub em: Measure,
    /// Token F1.
    pub f1: Measure,
    /// The share of answers that contain a golden answer.
    pub contains: Measure,
    /// The share of questions that the policy retrieves for.
    pub retrieves: Measure,
    /// Tokens per question.
    pub tokens: Measure,
    /// The gain in exact match over the better of `never`, which needs no corpus, and always retrieving from the
    /// whole corpus, by their exact match on these questions; if equal, over the latter.
    pub against_better: Measure,
    /// The gain in exact match over always retrieving from the whole corpus.
    pub against_always: Measure,
    /// The gain in exact match over the same policy with the whole corpus; empty if this is the whole corpus.
    pub against_whole: Measure,
}

/// All policies of a study together with always retrieving; empty if the study has no policies and pruned nothing.
pub(super) fn outcomes(measured: &Measured) -> Vec<PolicyOutcome> {
    let manifest = &measured.manifest;
    let retrievals = measured.scales();
    let is_pruned = retrievals.keys().any(|r| r.pruned != PruneRatio::NONE);
    if manifest.policies.is_empty() && !is_pruned {
        return Vec::new();
    }
    let named = manifest.policies.iter();
    let named = named.filter_map(|name| Policy::from_str(name).ok());
    let policies: Vec<Policy> = std::iter::once(Policy::ALWAYS).chain(named).collect();
    let mut all = Vec::new();
    for (&retrieval, scales) in &retrievals {
        for &n in scales {
            let datasets = manifest.datasets.keys();
            let models = manifest.models_by_size();
            for (dataset, &model) in
                datasets.flat_map(|dataset| models.iter().map(move |model| (dataset, model)))
            {
                let cell = |retrieval| Cell::new(dataset, model, Condition { n, retrieval });
                let whole = Retrieval {
                    pruned: PruneRatio::NONE,
                    ..retrieval
                };
                let always = under(measured, Policy::ALWAYS, &cell(whole));
                let never = under(measured, Policy::NEVER, &cell(whole));
                let better = better(never.as_deref(), always.as_deref());
                for &policy in &policies {
                    let Some(now) = under(measured, policy, &cell(retrieval)) else {
                        continue;
                    };
                    let same = match retrieval.pruned {
                        PruneRatio::NONE => None,
                        _ => under(measured, policy, &cell(whole)),
                    };
                    let place = (cell(retrieval), policy);
                    let before = [better, always.as_deref(), same.as_deref()];
                    all.push(outcome(place, &now, before, manifest.seed));
                }
            }
        }
    }
    all
}

/// The records of a policy, its cell's own or composed of two cells.
fn under(measured: &Measured, policy: Policy, cell: &Cell) -> Option<Vec<Record>> {
    if policy == Policy::ALWAYS {
        measured.cells.get(cell).cloned()
    } else {
        measured.under(policy, cell)
    }
}

/// The arm with more right answers; `None` unless both were measured.
fn better<'r>(never: Option<&'r [Record]>, always: Option<&'r [Record]>) -> Option<&'r [Record]> {
    let right = |records: &[Record]| records.iter().filter(|record| record.em).count();
    let (never, always) = never.zip(always)?;
    Some(if right(never) > right(always) {
        never
    } else {
        always
    })
}

fn outcome(
    (cell, policy): (Cell, Policy),
    now: &[Record],
    [better, always, same]: [Option<&[Record]>; 3],
    seed: u64,
) -> PolicyOutcome {
    let measure = |of: fn(&Record) -> f64| {
        let values: Vec<f64> = now.iter().map(of).collect();
        Measure::mean(&values, seed)
    };
    let gain = |before: Option<&[Record]>| {
        let Some(before) = before else {
            return Measure::default();
        };
        if now == before {
            return Measure {
                value: Some(0.0),
                interval: Some([0.0, 0.0]),
            };
        }
        let pairs = now.iter().zip(before);
        let gained = pairs.map(|(now, before)| number(now.em) - number(before.em));
        Measure::difference(&gained.collect::<Vec<_>>(), seed)
    };
    PolicyOutcome {
        dataset: cell.dataset,
        model: cell.model,
        n: cell.condition.n,
        retrieval: cell.condition.retrieval,
        policy: policy.to_string(),
        em: measure(|record| number(record.em)),
        f1: measure(|record| record.f1),
        contains: measure(|record| number(record.contains)),
        retrieves: measure(|record| number(record.calls.retriever > 0)),
        tokens: measure(Record::token_count),
        against_better: gain(better),
        against_always: gain(always),
        against_whole: gain(same),
    }
}
