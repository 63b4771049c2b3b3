//! A plan: the chosen set-up, its accuracy on the other half of the questions, and its neighbors.

use std::collections::BTreeMap;

use ken_eval::statistics::mean;
use serde::Serialize;

use super::buys::{Buy, buys, gain};
use super::candidate::{Candidate, REPORTING};
use super::choose::{Bounds, Unmet, choose, front};
use super::project::{Projection, project};
use super::promise::{Promise, Walk, walk};
use super::quantity::Quantity;
use crate::study::Measure;

/// The goal of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    /// The highest accuracy, or the lowest cost, within bounds.
    Best(Quantity, Bounds),
    /// The cheapest set-up that is promised to lose little against another, named as in [`Candidate::name`].
    Like(String, Promise),
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan<'c> {
    /// The chosen set-up.
    pub chosen: &'c Candidate,
    /// Its accuracy on the second half of the questions; on all if only averages are known.
    pub reported: BTreeMap<&'static str, Measure>,
    /// Whether it satisfies the bounds on accuracy on that half too.
    pub keeps_bounds: bool,
    /// The requested promise, and how it was tested.
    pub promise: Option<Promised<'c>>,
    /// The Pareto front, from cheap to expensive.
    pub front: Vec<&'c Candidate>,
    /// What one step more would buy.
    pub buys: Vec<Buy>,
    /// Projections to scales that were not measured.
    pub projections: Vec<Projection>,
}

/// How a promise was tested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Promised<'c> {
    /// The promise.
    #[serde(flatten)]
    pub promise: Promise,
    /// The set-up to compare with.
    pub reference: &'c str,
    /// The gain of the chosen set-up over the reference on the second half of the questions.
    pub gain: Measure,
    /// The steps from expensive to cheap.
    #[serde(flatten)]
    pub walk: Walk<'c>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum PlanError {
    #[error("nothing that was measured keeps all bounds: {}", described(.0))]
    #[diagnostic(remedy = "loosen that bound, or study more models and scales: <Study>")]
    NoSetupWithinBounds(Box<Unmet>),
    #[error("there is no set-up with a known {quantity}")]
    #[diagnostic(remedy = "plan by another quantity, or from the folder of a study: <Study>")]
    QuantityNotMeasured { quantity: Quantity },
    #[error("no set-up is called {name} (known are {known})")]
    #[diagnostic(kind = "unknown_setup", remedy = "name one of these")]
    Unknown { name: String, known: String },
    #[error("a promise is tested question by question, and a table holds averages only")]
    #[diagnostic(remedy = "plan from the folder of a study: <Study>")]
    PromiseOfTable,
}

fn described(unmet: &Unmet) -> String {
    let quantity = unmet.tightest.bound.quantity;
    let has = unmet.nearest_value.map_or_else(
        || "of which it is not known".to_owned(),
        |value| format!("with {}", quantity.told(value)),
    );
    let why = match unmet.alone {
        true => "the others can be kept",
        false => "the fewest keep it",
    };
    format!(
        "the tightest is {} ({why}), and nearest comes {}, {has}",
        unmet.tightest, unmet.nearest
    )
}

impl<'c> Plan<'c> {
    /// Chooses among set-ups, and projects to scales that were not measured.
    ///
    /// # Errors
    /// Bounds that no set-up satisfies, a reference that is not among the set-ups, a promise that cannot be tested.
    pub fn make(
        candidates: &'c [Candidate],
        goal: &Goal,
        scales: &[u32],
        seed: u64,
    ) -> Result<Self, PlanError> {
        let (chosen, promise, accuracy, cost) = match goal {
            Goal::Best(quantity, bounds) => {
                let chosen =
                    choose(candidates, bounds, *quantity).map_err(|unmet| match unmet {
                        Some(unmet) => PlanError::NoSetupWithinBounds(unmet),
                        None => PlanError::QuantityNotMeasured {
                            quantity: *quantity,
                        },
                    })?;
                let (accuracy, cost) = sides(*quantity, bounds);
                (chosen, None, accuracy, cost)
            }
            Goal::Like(name, promise) => {
                let promised = promised(candidates, name, *promise, seed)?;
                let chosen = promised.walk.chosen;
                (chosen, Some(promised), promise.accuracy, promise.cost)
            }
        };
        let all: Vec<&Candidate> = candidates.iter().collect();
        Ok(Self {
            chosen,
            reported: reported(chosen, seed),
            keeps_bounds: match goal {
                Goal::Best(_, bounds) => keeps(chosen, bounds),
                Goal::Like(..) => true,
            },
            promise,
            front: front(&all, accuracy, cost, Candidate::value),
            buys: buys(candidates, chosen, accuracy, seed),
            projections: match scales {
                [] => Vec::new(),
                scales => project(candidates, accuracy, scales),
            },
        })
    }
}

fn promised<'c>(
    candidates: &'c [Candidate],
    name: &str,
    promise: Promise,
    seed: u64,
) -> Result<Promised<'c>, PlanError> {
    let reference = candidates
        .iter()
        .find(|candidate| candidate.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = candidates.iter().map(|c| c.name.as_str()).collect();
            let (name, known) = (name.to_owned(), known.join(", "));
            PlanError::Unknown { name, known }
        })?;
    if reference.answers.is_empty() {
        return Err(PlanError::PromiseOfTable);
    }
    if reference.value(promise.cost).is_none() {
        return Err(PlanError::QuantityNotMeasured {
            quantity: promise.cost,
        });
    }
    let walk = walk(candidates, reference, promise);
    Ok(Promised {
        promise,
        reference: &reference.name,
        gain: gain(walk.chosen, reference, promise.accuracy, seed),
        walk,
    })
}

/// The accuracy and the cost that a plan is about.
fn sides(goal: Quantity, bounds: &Bounds) -> (Quantity, Quantity) {
    let bounded = || {
        bounds
            .least
            .iter()
            .chain(&bounds.most)
            .map(|bound| bound.quantity)
    };
    let first = |is_accuracy: bool, or: Quantity| {
        let mut all = std::iter::once(goal).chain(bounded());
        all.find(|quantity| quantity.is_accuracy() == is_accuracy)
            .unwrap_or(or)
    };
    (
        first(true, Quantity::Em),
        first(false, Quantity::Parameters),
    )
}

fn reported(chosen: &Candidate, seed: u64) -> BTreeMap<&'static str, Measure> {
    let accuracies = [Quantity::Em, Quantity::F1, Quantity::Contains];
    let known = accuracies.into_iter().filter_map(|quantity| {
        let value = chosen.value(quantity)?;
        let measure = match chosen.answers.is_empty() {
            true => Measure {
                value: Some(value),
                interval: None,
            },
            false => Measure::mean(&chosen.on_half(quantity, REPORTING), seed),
        };
        Some((quantity.name(), measure))
    });
    known.collect()
}

/// Whether the bounds on accuracy hold on the second half too.
fn keeps(chosen: &Candidate, bounds: &Bounds) -> bool {
    let on_other = |quantity| mean(&chosen.on_half(quantity, REPORTING));
    let holds = |quantity: Quantity, fits: &dyn Fn(f64) -> bool| {
        !quantity.is_accuracy() || on_other(quantity).is_none_or(fits)
    };
    let least = bounds
        .least
        .iter()
        .all(|bound| holds(bound.quantity, &|value| value >= bound.value));
    least
        && bounds
            .most
            .iter()
            .all(|bound| holds(bound.quantity, &|value| value <= bound.value))
}
