//! What is known of a question, and what a policy does to many.

use crate::choice::{Decision, decide};
use crate::{Abstention, Policy};

/// A question with known correctness and the signals that are recorded of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The signal that decides whether it retrieves. What is no number does, whatever the threshold.
    pub question: f64,
    /// The signal that reviews the evidence, or vouches for the answer with it. What is no number keeps the evidence, and
    /// vouches for nothing.
    pub review: f64,
    /// The correctness of the answer from memory, in `[0, 1]`.
    pub memory: f64,
    /// The correctness of the answer of always retrieving, in `[0, 1]`.
    pub always: f64,
    /// The correctness of the answer at each k of a policy that chooses it, in `[0, 1]`: `[ks]`.
    pub at_k: Vec<f64>,
    /// Which of two random halves the question belongs to. What does not follow from one order of candidates is looked
    /// for on the first and proved on the second.
    pub second_half: bool,
}

impl Observation {
    /// Of a policy of one signal and no choice of k.
    #[must_use]
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

    /// What retrieval wins; a loss by it counts as 0 and does not offset what other questions win.
    pub(super) fn beneficial(&self) -> f64 {
        self.lost_by(self.memory)
    }

    fn lost_by(&self, answer: f64) -> f64 {
        (self.always - answer).max(0.0)
    }

    /// Whether no decision loses anything between all and nothing.
    pub(super) fn loses_all_or_nothing(&self) -> bool {
        let mut answers = self.at_k.iter().chain([&self.memory]);
        answers.all(|answer| [0.0, 1.0].contains(&self.lost_by(*answer)))
    }

    /// Whether its answers from memory and of always retrieving are right or wrong and nothing between.
    pub(super) fn is_right_or_wrong(&self) -> bool {
        [self.memory, self.always]
            .iter()
            .all(|right| [0.0, 1.0].contains(right))
    }
}

/// What a policy does to questions, summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Questions that retrieve.
    pub retrieved: f64,
    /// Questions that are answered with evidence.
    pub used: f64,
    /// Search results that are read; of a policy that does not choose k, questions with evidence.
    pub results: f64,
    /// Right answers.
    pub right: f64,
    /// What always retrieving answers right and the policy does not.
    pub lost: f64,
    /// Of that, what memory does not answer right either.
    pub missed: f64,
    /// Answers that are given.
    pub given: f64,
    /// The wrong ones among these.
    pub wrong: f64,
    /// The wrong ones among those that are withheld.
    pub withheld_wrong: f64,
}

impl Tally {
    /// What a policy does to some questions. `always_k`: the search results that are read where the policy does not
    /// limit them.
    pub(super) fn of(
        policy: &Policy,
        abstain: Option<Abstention>,
        observations: &[Observation],
        always_k: usize,
    ) -> Self {
        observations.iter().fold(Self::default(), |sum, one| {
            let helps = one.always > one.memory;
            let decision = decide(policy, Some(one.question), Some(one.review), helps);
            let is_given = decision == Decision::Spared
                || abstain.is_none_or(|abstain| abstain.vouches(Some(one.review)));
            sum.plus(Self::one(policy, one, decision, is_given, always_k), 1.0)
        })
    }

    /// What a decision does to a question.
    pub(super) fn one(
        policy: &Policy,
        one: &Observation,
        decision: Decision,
        is_given: bool,
        always_k: usize,
    ) -> Self {
        let (answer, results) = match decision {
            Decision::Spared | Decision::Dropped => (one.memory, 0),
            Decision::Kept(None) => (one.always, always_k),
            Decision::Kept(Some(k)) => {
                let mut answers = policy.ks.values().iter().zip(&one.at_k);
                let answer = answers.find(|(other, _)| **other == k);
                (answer.map_or(one.always, |(_, right)| *right), k)
            }
        };
        let number = |is: bool| f64::from(u8::from(is));
        let lost = one.lost_by(answer);
        Self {
            retrieved: number(decision != Decision::Spared),
            used: number(decision.is_kept()),
            results: results as f64,
            right: answer,
            lost,
            missed: lost.min(one.beneficial()),
            given: number(is_given),
            wrong: number(is_given) * (1.0 - answer),
            withheld_wrong: number(!is_given) * (1.0 - answer),
        }
    }

    /// The sum with another, or the difference.
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
