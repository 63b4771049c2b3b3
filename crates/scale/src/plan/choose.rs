//! The best set-up within bounds, or what stands in the way.

use std::cmp::Ordering;

use serde::Serialize;

use super::candidate::Candidate;
use super::quantity::{Bound, Quantity};

/// What a set-up must keep to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    /// Costs, and accuracy, that may be reached and not exceeded.
    pub most: Vec<Bound>,
    /// What must be reached.
    pub least: Vec<Bound>,
}

/// A bound and from which side it is one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Constraint {
    /// The bound.
    #[serde(flatten)]
    pub bound: Bound,
    /// Whether it is the least; else it is the most.
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
    /// How far a set-up is from keeping it, as a share of the bound: 0 where it does, infinity where
    /// the quantity is not known.
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

/// Why nothing was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unmet {
    /// The constraint without which something would do, or else the one that the fewest keep.
    pub tightest: Constraint,
    /// Whether something would do without that one.
    pub alone: bool,
    /// The set-up that comes nearest.
    pub nearest: String,
    /// What it has of the tightest quantity; `None` where that is not known.
    pub nearest_value: Option<f64>,
}

/// The set-up that has the most accuracy, or the least cost, of all within bounds. Accuracy is that on
/// the first half of the questions. Of equals, the one that is smaller is taken.
///
/// # Errors
/// What stands in the way; boxed `None` where there is no set-up at all.
pub fn choose<'c>(
    candidates: &'c [Candidate],
    bounds: &Bounds,
    goal: Quantity,
) -> Result<&'c Candidate, Option<Box<Unmet>>> {
    let constraints = bounds.constraints();
    let within = |candidate: &&Candidate| constraints.iter().all(|one| one.holds(candidate));
    let known = candidates
        .iter()
        .filter(|one| one.value_for_choice(goal).is_some());
    let best = known
        .filter(within)
        .min_by(|one, other| better(one, other, goal));
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
    let by_size = sizes.map(|(one, other)| one.total_cmp(&other));
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
        others.into_iter().all(|(_, one)| one.holds(candidate))
            && candidate.value_for_choice(goal).is_some()
    };
    let alone = (0..constraints.len()).find(|&place| {
        candidates
            .iter()
            .any(|candidate| others_hold(place, candidate))
    });
    let keeping = |place: &usize| {
        let constraint = &constraints[*place];
        candidates
            .iter()
            .filter(|one| constraint.holds(one))
            .count()
    };
    let place = alone.or_else(|| (0..constraints.len()).min_by_key(keeping))?;
    let tightest = constraints[place];
    let farthest = |candidate: &Candidate| {
        let each = constraints.iter().map(|one| one.shortfall(candidate));
        each.fold(0.0, f64::max)
    };
    let nearest = candidates.iter().min_by(|one, other| {
        farthest(one)
            .total_cmp(&farthest(other))
            .then(better(one, other, goal))
    })?;
    Some(Box::new(Unmet {
        tightest,
        alone: alone.is_some(),
        nearest: nearest.name.clone(),
        nearest_value: nearest.value_for_choice(tightest.bound.quantity),
    }))
}

/// A quantity of a set-up: over all questions, or as set-ups are chosen by.
pub(crate) type ValueOf = fn(&Candidate, Quantity) -> Option<f64>;

/// The set-ups than which no other is both at least as accurate and at most as dear, and one of both
/// strictly; from cheap to dear.
#[must_use]
pub fn front<'c>(
    candidates: &[&'c Candidate],
    accuracy: Quantity,
    cost: Quantity,
    of: ValueOf,
) -> Vec<&'c Candidate> {
    let known = candidates.iter().filter_map(|one| {
        let (accuracy, cost) = of(one, accuracy).zip(of(one, cost))?;
        Some((*one, accuracy, cost))
    });
    let mut known: Vec<(&Candidate, f64, f64)> = known.collect();
    known.sort_by(|one, other| {
        let by_cost = one.2.total_cmp(&other.2);
        let by_accuracy = other.1.total_cmp(&one.1);
        by_cost.then(by_accuracy).then(better(one.0, other.0, cost))
    });
    let mut front = Vec::new();
    let mut best = f64::NEG_INFINITY;
    for (one, accuracy, _) in known {
        if accuracy > best {
            best = accuracy;
            front.push(one);
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
        // 0.45 less 0.4 is a ninth of it, 9 GB above 8 an eighth.
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
            let of = |one: &Candidate| (one.accuracy["em"], one.costs["memory"]);
            let dominated = |one: &Candidate| all.iter().any(|other| {
                let ((em, cost), (other_em, other_cost)) = (of(one), of(other));
                other_em >= em && other_cost <= cost && (other_em > em || other_cost < cost)
            });
            // Equal points stand in it once.
            for one in &all {
                let has_it = front.iter().any(|on_it| of(on_it) == of(one));
                prop_assert_eq!(has_it, !dominated(one));
            }
        }
    }
}
