//! The capital of gamblers who bet against a hypothesis, round after round: the evidence of tests that may be
//! looked at whenever one likes.
//!
//! What a fair bet makes of 1 has a mean of at most 1 given the past where the hypothesis holds, so the product of
//! such factors is a supermartingale, and ever grows to `1/δ` with probability at most `δ` (Ville 1939).
//! Averages of such capitals are one, too: here over several bets, since nobody knows how the hypothesis fails,
//! and over the round in which betting begins, since one that held for long may cease to.

use serde::{Deserialize, Serialize};

/// The most that a capital is kept at, so that it stays a number however much is won.
const MOST_CAPITAL: f64 = 1e300;

/// Gamblers, each with a bet of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Betting {
    /// For each bet, what the capitals that have begun to be bet have become.
    capitals: Vec<f64>,
    /// Rounds so far.
    observed: u64,
    /// The largest evidence so far: rejecting once is rejecting.
    most: f64,
}

impl Betting {
    /// Before the first round.
    pub(crate) fn new(bets: usize) -> Self {
        Self {
            capitals: vec![0.0; bets],
            observed: 0,
            most: 1.0,
        }
    }

    /// A round: by what factor each bet has changed, given its place.
    pub(crate) fn round(&mut self, factor: impl Fn(usize) -> f64) {
        self.observed += 1;
        let begins = share_begun(self.observed);
        for (place, capital) in self.capitals.iter_mut().enumerate() {
            *capital = ((*capital + begins) * factor(place)).min(MOST_CAPITAL);
        }
        let mean = self.capitals.iter().sum::<f64>() / self.capitals.len().max(1) as f64;
        self.most = self.most.max(mean + share_kept(self.observed));
    }

    /// By what factor the capital has grown at most.
    pub(crate) fn evidence(&self) -> f64 {
        self.most
    }

    /// Whether the hypothesis is rejected, with at most this probability of doing so where it holds.
    pub(crate) fn rejects(&self, delta: f64) -> bool {
        self.most * delta >= 1.0
    }

    /// Rounds so far.
    pub(crate) fn observed(&self) -> u64 {
        self.observed
    }
}

/// The share of the capital with which betting begins in a round, counted from 1. All shares sum to 1.
fn share_begun(round: u64) -> f64 {
    let round = round as f64;
    1.0 / (round * (round + 1.0))
}

/// The share with which betting has not begun after some rounds.
fn share_kept(observed: u64) -> f64 {
    1.0 / (observed as f64 + 1.0)
}

/// The evidence as it is defined, of the factors of every bet in every round: each capital for itself.
#[cfg(test)]
pub(crate) fn reference(rounds: &[Vec<f64>]) -> f64 {
    let mut most = 1.0_f64;
    for end in 1..=rounds.len() {
        let mut sum = share_kept(end as u64);
        for start in 1..=end {
            let bets = rounds[start - 1].len();
            for place in 0..bets {
                let grown: f64 = rounds[start - 1..end]
                    .iter()
                    .map(|round| round[place])
                    .product();
                sum += share_begun(start as u64) * grown / bets as f64;
            }
        }
        most = most.max(sum);
    }
    most
}
