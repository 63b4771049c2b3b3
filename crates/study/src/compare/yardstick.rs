//! The one measure that all policies are held against: of the retrievals that are needless, the share that is
//! spared where hardly any accuracy is lost.

use ken_answer::Policy;
use ken_route::Goal;
use serde::Serialize;

use super::compose::{Answered, Decision};
use super::threshold::{Cut, cut, decisions, halves, uncut};
use crate::bootstrap::interval;
use crate::statistics::{mean, number, wilson_interval};

/// What may be lost of the accuracy of always retrieving.
pub const LOSS: f64 = 0.01;

/// Draws of an interval.
const DRAWS: usize = 2000;

/// What a policy spares at thresholds at which it loses at most [`LOSS`] of the accuracy of always retrieving
/// on other questions than those that it is measured on. Thresholds that are given do not count here. A
/// policy without thresholds is measured as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Yardstick {
    /// Of the questions that the model answers right from memory, the share that it answers from memory;
    /// `None` where there is none.
    pub needless_skipped: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub needless_skipped_interval: Option<[f64; 2]>,
    /// How much lower the exact match is than that of always retrieving.
    pub loss: Option<f64>,
    /// Its 95 % paired bootstrap interval, low and high.
    pub loss_interval: Option<[f64; 2]>,
    /// The share of questions that are answered with evidence.
    pub evidence_ratio: Option<f64>,
    /// The mean number of search results that are answered from.
    pub search_results: Option<f64>,
    /// The thresholds.
    #[serde(flatten)]
    pub cut: Cut,
}

/// Measures a policy.
pub(super) fn yardstick(policy: Policy, answered: &[Answered<'_>], seed: u64) -> Yardstick {
    let policy = uncut(policy);
    let cut = cut(
        policy,
        answered,
        &halves(answered, seed),
        Goal::AtMostLost(LOSS),
    );
    let decisions = decisions(policy, cut, answered, seed);
    of_decisions(answered, &decisions, cut, seed)
}

/// What answering questions as was decided spares and loses.
pub(super) fn of_decisions(
    answered: &[Answered<'_>],
    decisions: &[Decision],
    cut: Cut,
    seed: u64,
) -> Yardstick {
    let each = || answered.iter().zip(decisions);
    let known = each().filter(|(one, _)| one.never.em);
    let spared: Vec<bool> = known.map(|(_, decision)| !decision.is_kept()).collect();
    let losses =
        each().map(|(one, &decision)| number(one.always.em) - number(one.after(decision).em));
    let losses: Vec<f64> = losses.collect();
    let used: Vec<f64> = decisions.iter().map(|one| number(one.is_kept())).collect();
    let results: Vec<f64> = each()
        .map(|(one, &decision)| one.after(decision).retrieved.len() as f64)
        .collect();
    let skipped = spared.iter().filter(|one| **one).count();
    Yardstick {
        needless_skipped: mean(&spared.iter().map(|one| number(*one)).collect::<Vec<_>>()),
        needless_skipped_interval: wilson_interval(skipped, spared.len()),
        loss: mean(&losses),
        loss_interval: interval(&losses, DRAWS, seed, mean),
        evidence_ratio: mean(&used),
        search_results: mean(&results),
        cut,
    }
}
