//! A comparison broken down by a metadata field, at the thresholds of all questions.

use std::collections::{BTreeMap, BTreeSet};

use ken_answer::{Abstention, Policy};
use ken_policy::{Decision, Goal};
use serde::Serialize;

use super::compose::{Answered, compose};
use super::threshold::{Cut, cut, decisions, halves};
use super::yardstick::{LOSS, of_decisions};
use crate::dataset::Question;
use crate::record::Record;
use crate::statistics::share;
use crate::summary::summarize;

/// Most distinct numbers that are shown one by one; more go into four bins with equally many questions.
const NUMBERS: usize = 10;
const BINS: usize = 4;

/// A comparison by the values of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Breakdown {
    /// The field.
    pub field: String,
    /// Its values with their questions.
    pub groups: Vec<Group>,
}

/// The questions that share a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The value; a dash for questions without one.
    pub value: String,
    /// The number of questions.
    pub n: usize,
    /// The share of right answers without any retrieval.
    pub never_em: Option<f64>,
    /// The share of right answers with retrieval for every question.
    pub always_em: Option<f64>,
    /// Of the questions that memory answers right, the share that evidence turns wrong.
    pub misled: Option<f64>,
    /// The policies, in the order of the comparison.
    pub policies: Vec<GroupResult>,
}

/// A policy on a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupResult {
    /// The policy.
    pub policy: String,
    /// The share of right answers, at the thresholds of the comparison.
    pub em: Option<f64>,
    /// The share of questions that are answered.
    pub answered: Option<f64>,
    /// The share of wrong answers among those given.
    pub answered_wrong: Option<f64>,
    /// Of the withheld answers, the share that is wrong.
    pub right_abstentions: Option<f64>,
    /// The share of questions that retrieve.
    pub retrieval_ratio: Option<f64>,
    /// The share of questions that are answered with evidence.
    pub evidence_ratio: Option<f64>,
    /// Of the questions that memory answers right, the share that the policy answers from memory without reading
    /// evidence, at the thresholds of the yardstick.
    pub needless_skipped: Option<f64>,
}

/// Breaks a comparison down.
///
/// # Shapes
/// `questions`, `answered`: `[questions]`, in the same order.
pub(super) fn break_down(
    field: &str,
    questions: &[Question],
    policies: &[Policy],
    abstain: Option<Abstention>,
    answered: &[Answered<'_>],
    seed: u64,
) -> Breakdown {
    let halves = halves(answered, seed);
    let decided = policies.iter().map(|&policy| {
        let best = cut(policy, answered, &halves, Goal::BestAccuracy);
        let free = policy.open();
        let spares = cut(free, answered, &halves, Goal::AtMostLost(LOSS));
        Decided {
            policy,
            best: decisions(policy, best, answered, seed),
            sparing: decisions(free, spares, answered, seed),
        }
    });
    let decided: Vec<Decided> = decided.collect();
    let places: Vec<usize> = (0..questions.len()).collect();
    let groups = grouped_by(field, questions, &places).into_iter();
    let groups = groups.map(|(value, places)| {
        let own: Vec<Answered<'_>> = places.iter().map(|&place| answered[place]).collect();
        let known = own.iter().filter(|question| question.never.is_right());
        let result = |decided: &Decided| group_result(decided, &places, &own, abstain, seed);
        Group {
            value,
            n: own.len(),
            never_em: share(own.iter().map(|question| question.never.is_right())),
            always_em: share(own.iter().map(|question| question.always.is_right())),
            misled: share(known.map(|question| !question.always.is_right())),
            policies: decided.iter().map(result).collect(),
        }
    });
    Breakdown {
        field: field.to_owned(),
        groups: groups.collect(),
    }
}

/// The decisions of a policy: `[questions]`.
struct Decided {
    policy: Policy,
    /// At the thresholds of the comparison.
    best: Vec<Decision>,
    /// At the thresholds of the yardstick.
    sparing: Vec<Decision>,
}

/// Evaluates the decisions on a group, given by the indices of its questions.
fn group_result(
    decided: &Decided,
    places: &[usize],
    own: &[Answered<'_>],
    abstain: Option<Abstention>,
    seed: u64,
) -> GroupResult {
    let policy = decided.policy;
    let best = || places.iter().map(|&place| decided.best[place]);
    let sparing: Vec<Decision> = places.iter().map(|&place| decided.sparing[place]).collect();
    let records: Vec<Record> = (best().zip(own))
        .map(|(decision, question)| compose(policy, abstain, decision, question))
        .collect();
    let summary = summarize(&policy.to_string(), &records);
    let spared = of_decisions(policy.open(), own, &sparing, Cut::default(), seed);
    GroupResult {
        policy: policy.to_string(),
        em: summary.em,
        answered: summary.answered,
        answered_wrong: summary.answered_wrong,
        right_abstentions: summary.right_abstentions,
        retrieval_ratio: share(best().map(|decision| decision != Decision::Spared)),
        evidence_ratio: share(best().map(Decision::is_kept)),
        needless_skipped: spared.needless_skipped,
    }
}

/// Groups records by the values of a metadata field of their questions.
///
/// # Shapes
/// `questions`, `records`: `[questions]`, in the same order.
pub fn grouped_by<R: Clone>(
    field: &str,
    questions: &[Question],
    records: &[R],
) -> Vec<(String, Vec<R>)> {
    let values: Vec<String> = questions.iter().map(|q| q.value_of(field)).collect();
    let mut groups: BTreeMap<(usize, String), Vec<R>> = BTreeMap::new();
    for (group, record) in grouped(&values).into_iter().zip(records) {
        groups.entry(group).or_default().push(record.clone());
    }
    let groups = groups.into_iter();
    groups
        .map(|((_, value), records)| (value, records))
        .collect()
}

/// The group of each value, with its position among the groups: the value itself or, for many numbers, the bin.
///
/// # Shapes
/// Returns `[values]`.
fn grouped(values: &[String]) -> Vec<(usize, String)> {
    let numbers: Vec<Option<f64>> = values.iter().map(|value| value.parse().ok()).collect();
    let distinct: BTreeSet<&String> = values.iter().collect();
    let mut sorted: Vec<f64> = numbers.iter().copied().flatten().collect();
    sorted.sort_by(f64::total_cmp);
    if distinct.len() <= NUMBERS || sorted.len() * 2 < values.len() {
        return values.iter().map(|value| (0, value.clone())).collect();
    }
    let first = |bin: usize| sorted[bin * sorted.len() / BINS];
    let groups = numbers.iter().zip(values).map(|(number, value)| {
        let Some(number) = number else {
            return (BINS, value.clone());
        };
        let bin = (1..BINS).filter(|&bin| first(bin) <= *number).count();
        let within =
            |other: &&f64| **other >= first(bin) && (bin + 1 == BINS || **other < first(bin + 1));
        let last = sorted.iter().rev().find(within).copied().unwrap_or(*number);
        (bin, format!("{} to {last}", first(bin)))
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    #[test]
    fn few_values_are_groups_and_many_numbers_bins() {
        let kinds = grouped(&texts(&["plain", "-", "plain"]));
        assert_eq!(kinds[0], kinds[2]);
        assert_ne!(kinds[0], kinds[1]);
        let numbers: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
        let bins = grouped(&[numbers, texts(&["-"])].concat());
        assert_eq!(bins[0], (0, "1 to 5".to_owned()));
        assert_eq!(bins[4], bins[0]);
        assert_eq!(bins[19], (3, "16 to 20".to_owned()));
        assert_eq!(bins[20], (4, "-".to_owned()));
    }
}
