//! Questions with known correctness, and the effect of a policy on them.

use crate::choice::{Decision, decide};
use crate::{Abstention, Policy};

/// A question with known correctness and its recorded signals.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The signal that decides whether it retrieves. NaN and infinity do, whatever the threshold.
    pub question: f64,
    /// The signal that reviews the evidence, or vouches for the answer with it. NaN keeps the evidence, and vouches for
    /// nothing.
    pub review: f64,
    /// The correctness of the answer from memory, in `[0, 1]`.
    pub memory: f64,
    /// The correctness of the answer of always retrieving, in `[0, 1]`.
    pub always: f64,
    /// The correctness of the answer at each k, in `[0, 1]`, if the policy chooses k: `[ks]`.
    pub at_k: Vec<f64>,
    /// Whether the question belongs to the second of two random halves. A promise that needs an order of candidates
    /// chooses it on the first and is proved on the second.
    pub second_half: bool,
}

impl Observation {
    /// An observation for a policy of one signal that does not choose k.
    pub fn of(score: f64, memory: f64, always: f64) -> Self {
        Self {
            question: score,
            review: score,
            memory,
            always,
            at_k: Vec::new(),
            second_half: false,
        }
    }

    /// The correctness that retrieval adds; if it takes some, 0, which does not offset the gains of other questions.
    pub(super) fn beneficial(&self) -> f64 {
        self.lost_by(self.memory)
    }

    fn lost_by(&self, answer: f64) -> f64 {
        (self.always - answer).max(0.0)
    }

    /// Whether every decision loses either all of an answer or nothing.
    pub(super) fn loses_all_or_nothing(&self) -> bool {
        let mut answers = self.at_k.iter().chain([&self.memory]);
        answers.all(|answer| [0.0, 1.0].contains(&self.lost_by(*answer)))
    }

    /// Whether its answers from memory and of always retrieving are fully right or fully wrong.
    pub(super) fn is_right_or_wrong(&self) -> bool {
        let mut answers = [self.memory, self.always].into_iter();
        answers.all(|right| [0.0, 1.0].contains(&right))
    }
}

/// The effect of a policy, summed over questions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Questions that retrieve.
    pub retrieved: f64,
    /// Questions that are answered with evidence.
    pub used: f64,
    /// Search results that are read; if the policy does not choose k, questions with evidence.
    pub results: f64,
    /// Right answers.
    pub right: f64,
    /// Answers that always retrieving gets right and the policy does not.
    pub lost: f64,
    /// Those of them that memory does not get right either.
    pub missed: f64,
    /// Answers that are given.
    pub given: f64,
    /// The wrong ones among these.
    pub wrong: f64,
    /// The wrong ones among those that are withheld.
    pub withheld_wrong: f64,
}

impl Tally {
    /// The effect of a policy on some questions. `always_k`: the search results to read if the policy does not limit
    /// them.
    pub(super) fn of(
        policy: &Policy,
        abstain: Option<Abstention>,
        observations: &[Observation],
        always_k: usize,
    ) -> Self {
        observations.iter().fold(Self::default(), |sum, case| {
            let helps = case.always > case.memory;
            let decision = decide(policy, Some(case.question), Some(case.review), helps);
            let is_given = decision == Decision::Spared
                || abstain.is_none_or(|abstain| abstain.vouches(Some(case.review)));
            sum.plus(Self::one(policy, case, decision, is_given, always_k), 1.0)
        })
    }

    /// The effect of a decision on a question.
    pub(super) fn one(
        policy: &Policy,
        case: &Observation,
        decision: Decision,
        is_given: bool,
        always_k: usize,
    ) -> Self {
        let (answer, results) = match decision {
            Decision::Spared | Decision::Dropped => (case.memory, 0),
            Decision::Kept(None) => (case.always, always_k),
            Decision::Kept(Some(k)) => {
                let mut answers = policy.ks.values().iter().zip(&case.at_k);
                let answer = answers.find(|(other, _)| **other == k);
                (answer.map_or(case.always, |(_, right)| *right), k)
            }
        };
        let number = |holds: bool| f64::from(u8::from(holds));
        let lost = case.lost_by(answer);
        Self {
            retrieved: number(decision != Decision::Spared),
            used: number(decision.is_kept()),
            results: results as f64,
            right: answer,
            lost,
            missed: lost.min(case.beneficial()),
            given: number(is_given),
            wrong: number(is_given) * (1.0 - answer),
            withheld_wrong: number(!is_given) * (1.0 - answer),
        }
    }

    /// Adds another tally times `sign`: 1 for the sum, -1 for the difference.
    pub(super) fn plus(self, other: Self, sign: f64) -> Self {
        Self {
            retrieved: self.retrieved + sign * other.retrieved,
            used: self.used + sign * other.used,
            results: self.results + sign * other.results,
            right: self.right + sign * other.right,
            lost: self.lost + sign * other.lost,
            missed: self.missed + sign * other.missed,
            given: self.given + sign * other.given,
            wrong: self.wrong + sign * other.wrong,
            withheld_wrong: self.withheld_wrong + sign * other.withheld_wrong,
        }
    }
}
