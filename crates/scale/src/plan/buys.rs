//! What one step more would buy: the next shard, the next model, less pruning.

use serde::Serialize;

use super::candidate::{Candidate, REPORTING};
use super::quantity::Quantity;
use crate::study::Measure;

/// A set-up that differs from the chosen one by one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Buy {
    /// The direction: `next shards`, `next model` or `less pruning`.
    pub what: &'static str,
    /// The set-up.
    pub name: String,
    /// The gain in accuracy; on the second half of the questions, with a paired interval, if single answers are
    /// known.
    pub gain: Measure,
    /// The added costs, for the quantities that both have.
    pub costs: Vec<(Quantity, f64)>,
}

/// What one step more in each direction would buy, if such a set-up was measured.
pub fn buys(
    candidates: &[Candidate],
    chosen: &Candidate,
    accuracy: Quantity,
    seed: u64,
) -> Vec<Buy> {
    let retrieval = chosen.condition.retrieval;
    let parameters = |c: &Candidate| c.value(Quantity::Parameters).unwrap_or_default();
    let retrieves_alike = |c: &Candidate| c.condition.n == 0 || c.condition.retrieval == retrieval;
    let shards = candidates.iter().filter(|candidate| {
        let comes_from_memory = chosen.condition.n == 0;
        candidate.model == chosen.model
            && candidate.condition.n > chosen.condition.n
            && (comes_from_memory || candidate.condition.retrieval == retrieval)
            && (comes_from_memory && candidate.policy == "always"
                || candidate.policy == chosen.policy)
    });
    let models = candidates.iter().filter(|candidate| {
        parameters(candidate) > parameters(chosen)
            && candidate.condition.n == chosen.condition.n
            && retrieves_alike(candidate)
            && candidate.policy == chosen.policy
    });
    let unpruned = candidates.iter().filter(|candidate| {
        let same = crate::study::Retrieval {
            pruned: candidate.condition.retrieval.pruned,
            ..retrieval
        };
        candidate.model == chosen.model
            && candidate.condition.n == chosen.condition.n
            && candidate.condition.retrieval == same
            && candidate.condition.retrieval.pruned < retrieval.pruned
            && candidate.policy == chosen.policy
    });
    let next = [
        ("next shards", shards.min_by_key(|c| c.condition.n)),
        (
            "next model",
            models.min_by(|a, b| parameters(a).total_cmp(&parameters(b))),
        ),
        (
            "less pruning",
            unpruned.max_by_key(|candidate| candidate.condition.retrieval.pruned),
        ),
    ];
    next.into_iter()
        .filter_map(|(what, candidate)| Some(bought(what, candidate?, chosen, accuracy, seed)))
        .collect()
}

fn bought(
    what: &'static str,
    one: &Candidate,
    chosen: &Candidate,
    accuracy: Quantity,
    seed: u64,
) -> Buy {
    let costs = Quantity::costs().filter_map(|quantity| {
        let added = one.value(quantity)? - chosen.value(quantity)?;
        Some((quantity, added))
    });
    Buy {
        what,
        name: one.name.clone(),
        gain: gain(one, chosen, accuracy, seed),
        costs: costs.collect(),
    }
}

/// How much more accurate a set-up is than another, on the second half of the questions if single answers are known.
pub fn gain(candidate: &Candidate, other: &Candidate, accuracy: Quantity, seed: u64) -> Measure {
    let pairs = candidate
        .on_half(accuracy, REPORTING)
        .into_iter()
        .zip(other.on_half(accuracy, REPORTING));
    let gains: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
    match gains.is_empty() {
        false => Measure::difference(&gains, seed),
        true => Measure {
            value: candidate
                .value(accuracy)
                .zip(other.value(accuracy))
                .map(|(a, b)| a - b),
            interval: None,
        },
    }
}
