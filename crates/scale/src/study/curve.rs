//! The scores of a model at each corpus scale.

use std::collections::BTreeMap;

use serde::Serialize;

/// A metric to compare scores by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Exact match.
    Em,
    /// Token F1.
    F1,
}

impl Metric {
    /// Both, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Em, Self::F1];
}

/// The scores at one scale, in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scores {
    /// Exact match.
    pub em: f64,
    /// Token F1.
    pub f1: f64,
}

impl Scores {
    /// The score by a metric.
    #[must_use]
    pub fn of(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Em => self.em,
            Metric::F1 => self.f1,
        }
    }
}

/// One model on one data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The data set.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// Its parameters.
    pub parameters: u64,
    /// The scores by corpus scale in shards; scale 0 is without retrieval.
    pub scores: BTreeMap<u32, Scores>,
}

/// The curves by data set, with models from small to large. Data sets are in the order of first occurrence.
#[must_use]
pub(super) fn by_dataset(curves: &[Curve]) -> Vec<(&str, Vec<&Curve>)> {
    let mut sets: Vec<(&str, Vec<&Curve>)> = Vec::new();
    for curve in curves {
        match sets.iter_mut().find(|(name, _)| *name == curve.dataset) {
            Some((_, of_it)) => of_it.push(curve),
            None => sets.push((&curve.dataset, vec![curve])),
        }
    }
    for (_, of_it) in &mut sets {
        of_it.sort_by_key(|curve| curve.parameters);
    }
    sets
}
