//! n\*: the smallest corpus scale at which a smaller model is as good as a larger one with one shard ("Less LLM, More
//! Documents", section 3.3).

use ken_eval::Measure;
use ken_eval::bootstrap::interval;
use ken_eval::record::Record;
use ken_eval::statistics::number;
use serde::Serialize;

use super::condition::Retrieval;
use super::curve::{Curve, Scores, by_dataset};

/// n\* of a pair of models under one way of retrieving.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compensation {
    /// The data set.
    pub dataset: String,
    /// The model with fewer parameters.
    pub smaller: String,
    /// The model with more.
    pub larger: String,
    /// The minimum over the metrics; `None` if the smaller model never gets there.
    pub n_star: Option<u32>,
    /// Whether the smaller model is there no better by any metric, only equal.
    pub tied: bool,
    /// The 95 % interval of `n_star`, low and high, by resampling questions; `None` inside it is never, above all
    /// numbers. `None` if single answers are not known.
    pub interval: Option<[Option<u32>; 2]>,
    /// By each metric alone.
    pub by_metric: ByMetric,
    /// The missing cells that make `n_star` only a bound: below n\* of the smaller model, or the first shard of the
    /// larger.
    pub missing: Vec<MissingScale>,
    /// How passages are retrieved; `None` for a table.
    pub retrieval: Option<Retrieval>,
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
    /// The interval for people to read.
    pub fn interval_told(&self) -> String {
        let end = |n: Option<u32>| n.map_or_else(|| "never".to_owned(), |n| n.to_string());
        let shown = |[low, high]: [Option<u32>; 2]| format!("{} to {}", end(low), end(high));
        self.interval.map(shown).unwrap_or_default()
    }

    /// n\* for people to read: a number, "never", or a bound if cells are missing.
    pub fn told(&self) -> String {
        match (self.n_star, self.missing.is_empty()) {
            (Some(n), true) if self.tied => format!("{n} (tied)"),
            (Some(n), true) => n.to_string(),
            (Some(n), false) => format!("at most {n}"),
            (None, true) => "never".to_owned(),
            (None, false) => "unknown".to_owned(),
        }
    }
}

/// The 95 % interval of n\* over resampled questions, as in [`Compensation::interval`].
///
/// # Shapes
/// `smaller`: the smaller model's answers by ascending scale; `larger`: the larger model's with one shard; each
/// `[questions]`, in the same order. Scales with a different number of answers are ignored.
pub fn n_star_interval(
    smaller: &[(u32, &[Record])],
    larger: &[Record],
    seed: u64,
) -> Option<[Option<u32>; 2]> {
    let scored = |records: &[Record]| -> Vec<[f64; 2]> {
        let each = records.iter().map(|record| [number(record.em), record.f1]);
        each.collect()
    };
    let goal = scored(larger);
    let at_scales: Vec<(u32, Vec<[f64; 2]>)> = smaller
        .iter()
        .filter(|(_, records)| records.len() == larger.len())
        .map(|(n, records)| (*n, scored(records)))
        .collect();
    let questions: Vec<usize> = (0..goal.len()).collect();
    let interval = interval(&questions, Measure::DRAWS, seed, |drawn| {
        let sums = |of: &[[f64; 2]]| {
            let scores = drawn.iter().map(|&index| of[index]);
            scores.fold([0.0; 2], |sum, s| [sum[0] + s[0], sum[1] + s[1]])
        };
        let goal = sums(&goal);
        let reached = at_scales.iter().find(|(_, scores)| {
            let there = sums(scores);
            there[0] >= goal[0] || there[1] >= goal[1]
        });
        Some(reached.map_or(f64::INFINITY, |(n, _)| f64::from(*n)))
    })?;
    Some(interval.map(|n| n.is_finite().then_some(n as u32)))
}

/// n\* for all pairs of models of each data set, starting with the smallest model.
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

/// The scales with retrieval of any of these models, ascending.
fn scales(models: &[&Curve]) -> Vec<u32> {
    let each = models.iter().flat_map(|curve| curve.scores.keys().copied());
    let mut scales: Vec<u32> = each.filter(|n| *n > 0).collect();
    scales.sort_unstable();
    scales.dedup();
    scales
}

fn of_pair(smaller: &Curve, larger: &Curve, scales: &[u32]) -> Compensation {
    let by = |metric: fn(&Scores) -> f64| {
        let goal = metric(larger.scores.get(&1)?);
        let mut reached = smaller.scores.iter().filter(|(n, _)| **n > 0);
        // As in the paper, equal is enough.
        let reached = reached.find(|(_, scores)| metric(scores) >= goal);
        reached.map(|(n, _)| *n)
    };
    let by_metric = ByMetric {
        em: by(|scores| scores.em),
        f1: by(|scores| scores.f1),
    };
    let n_star = by_metric.em.into_iter().chain(by_metric.f1).min();
    let tied = |n: u32| {
        let (goal, there) = (larger.scores.get(&1), smaller.scores.get(&n));
        there.map(|scores| scores.em) <= goal.map(|scores| scores.em)
            && there.map(|scores| scores.f1) <= goal.map(|scores| scores.f1)
    };
    let lacks = |curve: &Curve, n: u32| !curve.scores.contains_key(&n);
    let missing = |curve: &Curve, n: u32| MissingScale {
        model: curve.model.clone(),
        n,
    };
    let of_smaller = scales
        .iter()
        .filter(|n| n_star.is_none_or(|reached| **n < reached))
        .filter(|n| lacks(smaller, **n))
        .map(|n| missing(smaller, *n));
    let of_larger = lacks(larger, 1).then(|| missing(larger, 1));
    Compensation {
        dataset: smaller.dataset.clone(),
        smaller: smaller.model.clone(),
        larger: larger.model.clone(),
        n_star,
        tied: n_star.is_some_and(tied),
        interval: None,
        by_metric,
        missing: of_smaller.chain(of_larger).collect(),
        retrieval: None,
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

    use super::*;
    use crate::study::curve::Scores;

    /// A hundred records, the first `right` of which are right.
    fn answers(right: usize) -> Vec<Record> {
        let each =
            (0..100).map(|at| with!(Record::default(), em: at < right, f1: number(at < right)));
        each.collect()
    }

    fn resampled(smaller: &[usize], larger: usize) -> Compensation {
        let cells: Vec<Vec<Record>> = smaller.iter().map(|right| answers(*right)).collect();
        let scales: Vec<(u32, &[Record])> = (1..).zip(cells.iter().map(Vec::as_slice)).collect();
        let curve = |model: &str, parameters: u64, right: &[usize]| Curve {
            dataset: "nq".to_owned(),
            model: model.to_owned(),
            parameters,
            scores: (1..)
                .zip(right.iter().map(|right| {
                    let share = *right as f64 / 100.0;
                    Scores {
                        em: share,
                        f1: share,
                    }
                }))
                .collect(),
        };
        let curves = [curve("s", 1, smaller), curve("l", 2, &[larger])];
        let mut pair = compensations(&curves).remove(0);
        pair.interval = n_star_interval(&scales, &answers(larger), 0);
        pair
    }

    #[test]
    fn the_interval_says_how_far_questions_decide_n_star() {
        let sure = resampled(&[20, 60, 90], 40);
        has!(sure, n_star: Some(2), tied: false, interval: Some([Some(2), Some(2)]));
        let tied = resampled(&[20, 40, 41], 40);
        assert_eq!(
            (tied.told().as_str(), tied.interval),
            ("2 (tied)", Some([Some(2), Some(2)]))
        );
        let close = resampled(&[20, 38, 39], 40);
        assert_eq!(
            (close.told().as_str(), close.interval_told().as_str()),
            ("never", "2 to never")
        );
        let never = resampled(&[0, 1], 90);
        assert_eq!(never.interval, Some([None, None]));
        assert_eq!(n_star_interval(&[], &[], 0), None);
    }
}
