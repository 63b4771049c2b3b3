//! Measured set-ups, with their answers and costs.

use std::collections::BTreeMap;
use std::str::FromStr;

use ken_answer::Policy;
use ken_eval::record::Record;
use ken_eval::split::{AboutSubject, half};
use ken_eval::statistics::{mean, number, percentile};
use serde::Serialize;

use super::prices::Prices;
use super::quantity::Quantity;
use crate::study::{Cell, Condition, Curve, Measured, StudiedCondition, StudiedModel};

/// A measured set-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Its name: the model, `@`, the scale, and the settings that differ within the study.
    pub name: String,
    /// The model.
    pub model: String,
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
    /// The policy.
    pub policy: String,
    /// Accuracy over all questions.
    pub accuracy: BTreeMap<&'static str, f64>,
    /// The known costs.
    pub costs: BTreeMap<&'static str, f64>,
    /// The scores of its answers; empty if only averages are known.
    #[serde(skip)]
    pub answers: Vec<Answered>,
}

/// The scores of a set-up's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answered {
    /// The half that the question belongs to: set-ups are chosen on the first and reported on the second.
    pub half: usize,
    em: f64,
    f1: f64,
    contains: f64,
}

impl Answered {
    /// The score by an accuracy; NaN for a cost.
    pub fn accuracy(&self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Em => self.em,
            Quantity::F1 => self.f1,
            Quantity::Contains => self.contains,
            _ => f64::NAN,
        }
    }
}

/// The half on which set-ups are chosen.
pub(crate) const CHOOSING: usize = 0;

/// The half on which they are reported.
pub(crate) const REPORTING: usize = 1;

impl Candidate {
    /// A quantity over all questions; `None` if unknown.
    pub fn value(&self, quantity: Quantity) -> Option<f64> {
        let known = match quantity.is_accuracy() {
            true => &self.accuracy,
            false => &self.costs,
        };
        known.get(quantity.name()).copied()
    }

    /// A quantity for choosing: accuracy on the first half of the questions if single answers are known.
    pub(crate) fn value_for_choice(&self, quantity: Quantity) -> Option<f64> {
        if !quantity.is_accuracy() || self.answers.is_empty() {
            return self.value(quantity);
        }
        mean(&self.on_half(quantity, CHOOSING))
    }

    /// The scores on the questions of a half.
    pub(crate) fn on_half(&self, quantity: Quantity, half: usize) -> Vec<f64> {
        let of_it = self.answers.iter().filter(|answer| answer.half == half);
        of_it.map(|answer| answer.accuracy(quantity)).collect()
    }

    /// Breaks ties: fewer parameters win, then fewer shards, then shorter prompts.
    pub(super) fn size(&self) -> [f64; 3] {
        let known = |quantity| self.value(quantity).unwrap_or(f64::INFINITY);
        [Quantity::Parameters, Quantity::Shards, Quantity::Tokens].map(known)
    }
}

/// The set-ups of a data set in a table of scores.
pub fn candidates_of_table(curves: &[Curve], dataset: &str) -> Vec<Candidate> {
    let of_it = curves.iter().filter(|curve| curve.dataset == dataset);
    let candidates = of_it.flat_map(|curve| {
        curve.scores.iter().map(|(&n, scores)| Candidate {
            name: format!("{}@{n}", curve.model),
            model: curve.model.clone(),
            condition: Condition {
                n,
                ..Condition::FROM_MEMORY
            },
            policy: policy_at(n).to_string(),
            accuracy: [("em", scores.em), ("f1", scores.f1)].into(),
            costs: [
                ("parameters", curve.parameters as f64),
                ("shards", f64::from(n)),
            ]
            .into(),
            answers: Vec::new(),
        })
    });
    candidates.collect()
}

/// The set-ups of a data set in a study: every complete cell, and every policy composed from it.
pub fn candidates_of_study(measured: &Measured, dataset: &str, prices: &Prices) -> Vec<Candidate> {
    let manifest = &measured.manifest;
    let naming = Naming::of(measured);
    let mut candidates = Vec::new();
    for (cell, records) in &measured.cells {
        let model = &manifest.models[&cell.model];
        let conditions = &mut manifest.conditions.iter();
        let Some(condition) = conditions.find(|studied| studied.condition == cell.condition) else {
            continue;
        };
        if cell.dataset != dataset {
            continue;
        }
        let timed = &manifest.datasets[dataset].timed;
        let mut add = |policy: Policy, records: &[Record]| {
            let policy = policy.to_string();
            let costs = costs(model, condition, records, timed);
            let accuracy = |value: fn(&Record) -> f64| {
                mean(&records.iter().map(value).collect::<Vec<_>>()).unwrap_or_default()
            };
            candidates.push(Candidate {
                name: naming.name(cell, &policy),
                model: cell.model.clone(),
                condition: cell.condition,
                policy,
                accuracy: [
                    ("em", accuracy(|record| number(record.em))),
                    ("f1", accuracy(|record| record.f1)),
                    ("contains", accuracy(|record| number(record.contains))),
                ]
                .into(),
                costs: prices.added(costs),
                answers: answers(records, manifest.seed),
            });
        };
        add(policy_at(cell.condition.n), records);
        if cell.condition.n == 0 {
            continue;
        }
        for policy in &manifest.policies {
            let policy = Policy::from_str(policy).ok();
            if let Some((policy, records)) =
                policy.and_then(|p| Some((p, measured.under(p, cell)?)))
            {
                add(policy, &records);
            }
        }
    }
    candidates
}

fn policy_at(n: u32) -> Policy {
    match n {
        0 => Policy::NEVER,
        _ => Policy::ALWAYS,
    }
}

fn answers(records: &[Record], seed: u64) -> Vec<Answered> {
    let answers = records.iter().map(|record| Answered {
        half: half(seed, record.subject()),
        em: number(record.em),
        f1: record.f1,
        contains: number(record.contains),
    });
    answers.collect()
}

/// The costs per question of answering as in these records.
fn costs(
    model: &StudiedModel,
    condition: &StudiedCondition,
    records: &[Record],
    timed: &[String],
) -> BTreeMap<&'static str, f64> {
    let mean_of =
        |value: &dyn Fn(&Record) -> f64| mean(&records.iter().map(value).collect::<Vec<_>>());
    let longest = records.iter().map(Record::token_count).fold(0.0, f64::max);
    let memory = model
        .weight_bytes
        .zip(model.bytes_per_token)
        .zip(condition.index_bytes)
        .map(|((weights, token), index)| weights as f64 + token as f64 * longest + index as f64);
    // Only questions that were answered one at a time have their own times.
    let alone = records.iter().filter(|record| timed.contains(&record.id));
    let times: Vec<f64> = alone
        .filter_map(|record| record.timing_ms.get("total").copied())
        .collect();
    let tokens = mean_of(&Record::token_count);
    let known = [
        (Quantity::Parameters, Some(model.parameters as f64)),
        (Quantity::Shards, Some(f64::from(condition.condition.n))),
        (Quantity::Memory, memory),
        (
            Quantity::Disk,
            condition.disk_bytes.map(|bytes| bytes as f64),
        ),
        (Quantity::P50, percentile(&times, 50.0)),
        (Quantity::P95, percentile(&times, 95.0)),
        (Quantity::Tokens, tokens),
        (Quantity::ModelCalls, mean_of(&|r| r.calls.model as f64)),
        (
            Quantity::RetrieverCalls,
            mean_of(&|record| record.calls.retriever as f64),
        ),
        (
            Quantity::Flop,
            tokens.map(|tokens| 2.0 * model.parameters as f64 * tokens),
        ),
    ];
    let known = known.into_iter();
    known
        .filter_map(|(quantity, value)| Some((quantity.name(), value?)))
        .collect()
}

/// The retrieval settings that differ within the study, so that names include them.
struct Naming {
    k: bool,
    pruned: bool,
    order: bool,
}

impl Naming {
    fn of(measured: &Measured) -> Self {
        let retrievals: Vec<_> = measured.scales().into_keys().collect();
        let differs = |of: fn(&crate::study::Retrieval) -> String| {
            retrievals.iter().any(|r| of(r) != of(&retrievals[0]))
        };
        Self {
            k: differs(|retrieval| retrieval.k.to_string()),
            pruned: differs(|retrieval| retrieval.pruned.to_string()),
            order: differs(|retrieval| retrieval.order.to_string()),
        }
    }

    fn name(&self, cell: &Cell, policy: &str) -> String {
        let mut name = format!("{}@{}", cell.model, cell.condition.n);
        if cell.condition.n == 0 {
            return name;
        }
        let retrieval = cell.condition.retrieval;
        let parts = [
            self.k.then(|| format!("k={}", retrieval.k)),
            self.pruned.then(|| format!("pruned={}", retrieval.pruned)),
            (self.order && retrieval.order != Default::default())
                .then(|| retrieval.order.to_string()),
            (policy != "always").then(|| policy.to_owned()),
        ];
        for part in parts.into_iter().flatten() {
            name += &format!(":{part}");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_server_tells_are_unknown_costs() {
        let model = StudiedModel {
            reference: "s".to_owned(),
            adapter: None,
            fingerprint: String::new(),
            parameters: 1,
            weight_bytes: Some(100),
            bytes_per_token: Some(2),
        };
        let sizes = |bytes| {
            let condition = StudiedCondition {
                condition: Condition::FROM_MEMORY,
                passages: 1,
                index_bytes: bytes,
                disk_bytes: bytes,
            };
            let costs = costs(&model, &condition, &[Record::default()], &[]);
            [Quantity::Memory, Quantity::Disk].map(|quantity| costs.get(quantity.name()).copied())
        };
        assert_eq!(sizes(Some(5)), [Some(105.0), Some(5.0)]);
        assert_eq!(sizes(None), [None, None]);
    }
}
