//! The best set-up within bounds, or the bound that excludes it.

use std::cmp::Ordering;

use serde::Serialize;

use super::candidate::Candidate;
use super::quantity::{Bound, Quantity};

/// The bounds on a set-up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    /// Upper bounds, inclusive.
    pub most: Vec<Bound>,
    /// Lower bounds, inclusive.
    pub least: Vec<Bound>,
}

/// A bound with its direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Constraint {
    /// The bound.
    #[serde(flatten)]
    pub bound: Bound,
    /// Whether it is a lower bound; else it is an upper bound.
    pub is_least: bool,
}

impl std::fmt::Display for Constraint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = if self.is_least { "at least" } else { "at most" };
        let Bound { quantity, value } = self.bound;
        write!(formatter, "{quantity} {side} {}", quantity.told(value))
    }
}

impl Bounds {
    fn constraints(&self) -> Vec<Constraint> {
        let side = |is_least| {
            move |bound: &Bound| Constraint {
                bound: *bound,
                is_least,
            }
        };
        let most = self.most.iter().map(side(false));
        most.chain(self.least.iter().map(side(true))).collect()
    }
}

impl Constraint {
    /// How far a set-up is from satisfying it, as a share of the bound: 0 if it does, infinity if the quantity is
    /// unknown.
    fn shortfall(&self, candidate: &Candidate) -> f64 {
        let Bound {
            quantity,
            value: bound,
        } = self.bound;
        let Some(value) = candidate.value_for_choice(quantity) else {
            return f64::INFINITY;
        };
        let beyond = if self.is_least {
            bound - value
        } else {
            value - bound
        };
        match beyond <= 0.0 {
            true => 0.0,
            false => beyond / bound.abs().max(1e-9),
        }
    }

    fn holds(&self, candidate: &Candidate) -> bool {
        self.shortfall(candidate) == 0.0
    }
}

/// Why no set-up was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unmet {
    /// The constraint without which some set-up would satisfy all others, else the one that the fewest satisfy.
    pub tightest: Constraint,
    /// Whether dropping that constraint alone would be enough.
    pub alone: bool,
    /// The set-up that comes nearest to satisfying all constraints.
    pub nearest: String,
    /// Its value of the tightest constraint's quantity; `None` if unknown.
    pub nearest_value: Option<f64>,
}

/// The set-up with the highest accuracy, or the lowest cost, within bounds. Accuracy is measured on the first half of
/// the questions. Of equals, the smaller set-up wins.
///
/// # Errors
/// The tightest constraint; boxed `None` if no set-up has a value of `goal`.
pub fn choose<'c>(
    candidates: &'c [Candidate],
    bounds: &Bounds,
    goal: Quantity,
) -> Result<&'c Candidate, Option<Box<Unmet>>> {
    let constraints = bounds.constraints();
    let within = |candidate: &&Candidate| constraints.iter().all(|c| c.holds(candidate));
    let known = candidates
        .iter()
        .filter(|candidate| candidate.value_for_choice(goal).is_some());
    let best = known.filter(within).min_by(|a, b| better(a, b, goal));
    best.ok_or_else(|| unmet(candidates, &constraints, goal))
}

/// Orders the better set-up first.
pub(super) fn better(one: &Candidate, other: &Candidate, goal: Quantity) -> Ordering {
    let value = |candidate: &Candidate| candidate.value_for_choice(goal).unwrap_or(f64::NAN);
    let by_goal = match goal.is_accuracy() {
        true => value(other).total_cmp(&value(one)),
        false => value(one).total_cmp(&value(other)),
    };
    let sizes = one.size().into_iter().zip(other.size());
    let by_size = sizes.map(|(a, b)| a.total_cmp(&b));
    by_size.fold(by_goal, Ordering::then)
}

fn unmet(
    candidates: &[Candidate],
    constraints: &[Constraint],
    goal: Quantity,
) -> Option<Box<Unmet>> {
    let others_hold = |place: usize, candidate: &Candidate| {
        let others = constraints
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != place);
        others.into_iter().all(|(_, c)| c.holds(candidate))
            && candidate.value_for_choice(goal).is_some()
    };
    let alone =
        (0..constraints.len()).find(|&place| candidates.iter().any(|c| others_hold(place, c)));
    let keeping = |place: &usize| {
        let constraint = &constraints[*place];
        candidates
            .iter()
            .filter(|candidate| constraint.holds(candidate))
            .count()
    };
    let place = alone.or_else(|| (0..constraints.len()).min_by_key(keeping))?;
    let tightest = constraints[place];
    let farthest = |candidate: &Candidate| {
        let each = constraints.iter().map(|c| c.shortfall(candidate));
        each.fold(0.0, f64::max)
    };
    let nearest = candidates
        .iter()
        .min_by(|a, b| farthest(a).total_cmp(&farthest(b)).then(better(a, b, goal)))?;
    Some(Box::new(Unmet {
        tightest,
        alone: alone.is_some(),
        nearest: nearest.name.clone(),
        nearest_value: nearest.value_for_choice(tightest.bound.quantity),
    }))
}

/// A quantity of a set-up, over all questions or over those for choosing.
pub(crate) type ValueOf = fn(&Candidate, Quantity) -> Option<f64>;

/// The Pareto front from cheap to expensive: set-ups such that no other is at least as accurate, at most as
/// expensive, and strictly better in one of both.
pub fn front<'c>(
    candidates: &[&'c Candidate],
    accuracy: Quantity,
    cost: Quantity,
    of: ValueOf,
) -> Vec<&'c Candidate> {
    let known = candidates.iter().filter_map(|candidate| {
        let (accuracy, cost) = of(candidate, accuracy).zip(of(candidate, cost))?;
        Some((*candidate, accuracy, cost))
    });
    let mut known: Vec<(&Candidate, f64, f64)> = known.collect();
    known.sort_by(|a, b| {
        let by_cost = a.2.total_cmp(&b.2);
        let by_accuracy = b.1.total_cmp(&a.1);
        by_cost.then(by_accuracy).then(better(a.0, b.0, cost))
    });
    let mut front = Vec::new();
    let mut best = f64::NEG_INFINITY;
    for (candidate, accuracy, _) in known {
        if accuracy > best {
            best = accuracy;
            front.push(candidate);
        }
    }
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Condition;
    use proptest::prelude::*;

    fn candidate(name: &str, em: f64, memory: f64, tokens: f64) -> Candidate {
        Candidate {
            name: name.to_owned(),
            model: name.to_owned(),
            condition: Condition::FROM_MEMORY,
            policy: "always".to_owned(),
            accuracy: [("em", em)].into(),
            costs: [("memory", memory), ("tokens", tokens)].into(),
            answers: Vec::new(),
        }
    }

    fn bounds(most: &[&str], least: &[&str]) -> Bounds {
        let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Bounds {
            most: read(most),
            least: read(least),
        }
    }

    fn three() -> Vec<Candidate> {
        vec![
            candidate("a", 0.2, 1e9, 100.0),
            candidate("b", 0.4, 4e9, 300.0),
            candidate("c", 0.5, 9e9, 900.0),
        ]
    }

    #[test]
    fn the_best_within_bounds_is_chosen() {
        let all = three();
        let name = |bounds: &Bounds, goal| choose(&all, bounds, goal).unwrap().name.as_str();
        assert_eq!(name(&bounds(&["memory=8GB"], &[]), Quantity::Em), "b");
        assert_eq!(name(&bounds(&[], &["em=0.4"]), Quantity::Memory), "b");
        assert_eq!(name(&bounds(&[], &[]), Quantity::Em), "c");
    }

    #[test]
    fn what_stands_in_the_way_is_named_with_what_comes_nearest() {
        let all = three();
        let unmet = *choose(
            &all,
            &bounds(&["memory=8GB", "tokens=1000"], &["em=0.45"]),
            Quantity::Em,
        )
        .unwrap_err()
        .unwrap();
        assert!(unmet.alone);
        assert_eq!(unmet.tightest.to_string(), "memory at most 8.0 GB");
        // 0.45 is short of 0.4 by a ninth, and 9 GB exceeds 8 by an eighth.
        assert_eq!(unmet.nearest, "b");
        let nothing = choose(
            &all,
            &bounds(&["memory=1MB", "tokens=1"], &[]),
            Quantity::Em,
        );
        let nothing = nothing.unwrap_err().unwrap();
        assert!(!nothing.alone);
        assert_eq!(nothing.nearest, "a");
        let unknown = choose(&all, &bounds(&["disk=1GB"], &[]), Quantity::Em)
            .unwrap_err()
            .unwrap();
        assert_eq!(unknown.nearest_value, None);
        assert!(
            choose(&[], &bounds(&["disk=1GB"], &[]), Quantity::Em)
                .unwrap_err()
                .is_none()
        );
    }

    proptest! {
        #[test]
        fn the_front_is_what_nothing_dominates(
            points in proptest::collection::vec((0_u8..8, 0_u8..8), 1..20),
        ) {
            let all: Vec<Candidate> = points
                .iter()
                .enumerate()
                .map(|(at, (em, cost))| candidate(&at.to_string(), f64::from(*em) / 8.0, f64::from(*cost), 1.0))
                .collect();
            let front = front(&all.iter().collect::<Vec<_>>(), Quantity::Em, Quantity::Memory, Candidate::value);
            let of = |candidate: &Candidate| (candidate.accuracy["em"], candidate.costs["memory"]);
            let dominated = |candidate: &Candidate| all.iter().any(|other| {
                let ((em, cost), (other_em, other_cost)) = (of(candidate), of(other));
                other_em >= em && other_cost <= cost && (other_em > em || other_cost < cost)
            });
            // Equal points are on the front once.
            for candidate in &all {
                let has_it = front.iter().any(|on_it| of(on_it) == of(candidate));
                prop_assert_eq!(has_it, !dominated(candidate));
            }
        }
    }
}
