//! The capital of gamblers who bet against a hypothesis, round after round: the evidence of tests whose
//! result the caller may read after any round.
//!
//! If the hypothesis holds, the factor by which a bet multiplies its stake has a mean of at most 1 given the past. The
//! product of such factors is a supermartingale, which ever reaches `1/δ` with probability at most `δ` (Ville 1939).
//! So is an average of such capitals: here over several bets, since how the hypothesis fails is unknown, and over the
//! round in which betting begins, since a hypothesis that held for long may cease to.

use serde::{Deserialize, Serialize};

/// The cap of a capital, so that it stays finite.
const MOST_CAPITAL: f64 = 1e300;

/// Gamblers, each with a bet of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Betting {
    /// For each bet, the capital in play: the shares staked so far, times the factors since.
    capitals: Vec<f64>,
    /// Rounds so far.
    observed: u64,
    /// The largest evidence so far: a rejection is final.
    most: f64,
}

impl Betting {
    /// The state before the first round.
    pub(crate) fn new(bets: usize) -> Self {
        Self {
            capitals: vec![0.0; bets],
            observed: 0,
            most: 1.0,
        }
    }

    /// Plays a round. `factor` returns the factor by which the bet at an index multiplies its capital.
    pub(crate) fn round(&mut self, factor: impl Fn(usize) -> f64) {
        self.observed += 1;
        let begins = share_begun(self.observed);
        for (index, capital) in self.capitals.iter_mut().enumerate() {
            *capital = ((*capital + begins) * factor(index)).min(MOST_CAPITAL);
        }
        let mean = self.capitals.iter().sum::<f64>() / self.capitals.len().max(1) as f64;
        self.most = self.most.max(mean + share_kept(self.observed));
    }

    /// The largest factor by which the capital has grown.
    pub(crate) fn evidence(&self) -> f64 {
        self.most
    }

    /// Whether the hypothesis is rejected; one that holds ever is with probability at most `delta`.
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

/// The share of the capital that is not in play after some rounds.
fn share_kept(observed: u64) -> f64 {
    1.0 / (observed as f64 + 1.0)
}

/// The evidence by its definition, which follows each capital separately.
///
/// # Shapes
/// `rounds`: `[rounds, bets]`, the factor of each bet.
#[cfg(test)]
pub(crate) fn reference(rounds: &[Vec<f64>]) -> f64 {
    let mut most = 1.0_f64;
    for end in 1..=rounds.len() {
        let mut sum = share_kept(end as u64);
        for start in 1..=end {
            let bets = rounds[start - 1].len();
            for index in 0..bets {
                let grown: f64 = rounds[start - 1..end]
                    .iter()
                    .map(|round| round[index])
                    .product();
                sum += share_begun(start as u64) * grown / bets as f64;
            }
        }
        most = most.max(sum);
    }
    most
}
