//! n\*: the least corpus scale at which a smaller model is as good as a larger one is with one shard
//! ("Less LLM, More Documents", section 3.3).

use serde::Serialize;

use super::curve::{Curve, Metric, by_dataset};

/// n\* of a pair of models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compensation {
    /// The data set.
    pub dataset: String,
    /// The model with fewer parameters.
    pub smaller: String,
    /// The model with more.
    pub larger: String,
    /// The least over the metrics; `None` where the smaller model never gets there.
    pub n_star: Option<u32>,
    /// By each metric alone.
    pub by_metric: ByMetric,
    /// The cells without which this is only a bound: below n\* of the smaller model, or the first
    /// shard of the larger.
    pub missing: Vec<MissingScale>,
}

/// n\* by each metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ByMetric {
    /// By exact match.
    pub em: Option<u32>,
    /// By token F1.
    pub f1: Option<u32>,
}

/// A cell that a curve lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissingScale {
    /// The model.
    pub model: String,
    /// The scale.
    pub n: u32,
}

impl Compensation {
    /// n\* as a person reads it: a number, "never", or a bound where cells are missing.
    #[must_use]
    pub fn told(&self) -> String {
        match (self.n_star, self.missing.is_empty()) {
            (Some(n), true) => n.to_string(),
            (Some(n), false) => format!("at most {n}"),
            (None, true) => "never".to_owned(),
            (None, false) => "unknown".to_owned(),
        }
    }
}

/// n\* for all pairs of models of each data set, from the smallest on.
#[must_use]
pub fn compensations(curves: &[Curve]) -> Vec<Compensation> {
    let mut all = Vec::new();
    for (_, models) in by_dataset(curves) {
        let scales: Vec<u32> = scales(&models);
        for (place, smaller) in models.iter().enumerate() {
            let larger = models[place + 1..].iter();
            let larger = larger.filter(|larger| larger.parameters > smaller.parameters);
            all.extend(larger.map(|larger| of_pair(smaller, larger, &scales)));
        }
    }
    all
}

/// The scales with retrieval that any of some models was measured at, rising.
fn scales(models: &[&Curve]) -> Vec<u32> {
    let each = models.iter().flat_map(|curve| curve.scores.keys().copied());
    let mut scales: Vec<u32> = each.filter(|n| *n > 0).collect();
    scales.sort_unstable();
    scales.dedup();
    scales
}

fn of_pair(smaller: &Curve, larger: &Curve, scales: &[u32]) -> Compensation {
    let by = |metric: Metric| {
        let goal = larger.scores.get(&1)?.of(metric);
        let mut reached = smaller.scores.iter().filter(|(n, _)| **n > 0);
        // As the paper counts: as good is enough.
        let reached = reached.find(|(_, scores)| scores.of(metric) >= goal);
        reached.map(|(n, _)| *n)
    };
    let by_metric = ByMetric {
        em: by(Metric::Em),
        f1: by(Metric::F1),
    };
    let n_star = by_metric.em.into_iter().chain(by_metric.f1).min();
    let lacks = |curve: &Curve, n: u32| !curve.scores.contains_key(&n);
    let missing = |curve: &Curve, n: u32| MissingScale {
        model: curve.model.clone(),
        n,
    };
    let below = scales
        .iter()
        .filter(|n| n_star.is_none_or(|reached| **n < reached));
    let of_smaller = below
        .filter(|n| lacks(smaller, **n))
        .map(|n| missing(smaller, *n));
    let of_larger = lacks(larger, 1).then(|| missing(larger, 1));
    Compensation {
        dataset: smaller.dataset.clone(),
        smaller: smaller.model.clone(),
        larger: larger.model.clone(),
        n_star,
        by_metric,
        missing: of_smaller.chain(of_larger).collect(),
    }
}
