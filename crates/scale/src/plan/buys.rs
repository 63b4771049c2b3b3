//! What one step more would buy: the next shard, the next model, less pruning.

use serde::Serialize;

use super::candidate::{Candidate, REPORTING};
use super::quantity::Quantity;
use crate::study::Measure;

/// A set-up that differs from the chosen one by one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Buy {
    /// What is more: `next shards`, `next model` or `less pruning`.
    pub what: &'static str,
    /// The set-up.
    pub name: String,
    /// What accuracy it adds; on the second half of the questions, with a paired interval, where there
    /// are single answers.
    pub gain: Measure,
    /// What its costs add, of the quantities that both have.
    pub costs: Vec<(Quantity, f64)>,
}

/// What a step more in each direction would buy, where such a set-up was measured.
#[must_use]
pub fn buys(
    candidates: &[Candidate],
    chosen: &Candidate,
    accuracy: Quantity,
    seed: u64,
) -> Vec<Buy> {
    let retrieval = chosen.condition.retrieval;
    let parameters = |one: &Candidate| one.value(Quantity::Parameters).unwrap_or_default();
    let retrieves_alike =
        |one: &Candidate| one.condition.n == 0 || one.condition.retrieval == retrieval;
    let shards = candidates.iter().filter(|one| {
        let comes_from_memory = chosen.condition.n == 0;
        one.model == chosen.model
            && one.condition.n > chosen.condition.n
            && (comes_from_memory || one.condition.retrieval == retrieval)
            && (comes_from_memory && one.policy == "always" || one.policy == chosen.policy)
    });
    let models = candidates.iter().filter(|one| {
        parameters(one) > parameters(chosen)
            && one.condition.n == chosen.condition.n
            && retrieves_alike(one)
            && one.policy == chosen.policy
    });
    let unpruned = candidates.iter().filter(|one| {
        let same = crate::study::Retrieval {
            pruned: one.condition.retrieval.pruned,
            ..retrieval
        };
        one.model == chosen.model
            && one.condition.n == chosen.condition.n
            && one.condition.retrieval == same
            && one.condition.retrieval.pruned < retrieval.pruned
            && one.policy == chosen.policy
    });
    let next = [
        ("next shards", shards.min_by_key(|one| one.condition.n)),
        (
            "next model",
            models.min_by(|one, other| parameters(one).total_cmp(&parameters(other))),
        ),
        (
            "less pruning",
            unpruned.max_by_key(|one| one.condition.retrieval.pruned),
        ),
    ];
    let known = next.into_iter();
    known
        .filter_map(|(what, one)| Some(bought(what, one?, chosen, accuracy, seed)))
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

/// How much more accurate a set-up is than another, on the second half of the questions where there are
/// single answers.
#[must_use]
pub fn gain(one: &Candidate, other: &Candidate, accuracy: Quantity, seed: u64) -> Measure {
    let pairs = one
        .on_half(accuracy, REPORTING)
        .into_iter()
        .zip(other.on_half(accuracy, REPORTING));
    let gains: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
    match gains.is_empty() {
        false => Measure::difference(&gains, seed),
        true => Measure {
            value: one
                .value(accuracy)
                .zip(other.value(accuracy))
                .map(|(one, other)| one - other),
            interval: None,
        },
    }
}
