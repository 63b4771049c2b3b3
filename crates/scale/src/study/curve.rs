//! The scores of a model at each corpus scale.

use std::collections::BTreeMap;

use serde::Serialize;

/// The scores at one scale, in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scores {
    /// Exact match.
    pub em: f64,
    /// Token F1.
    pub f1: f64,
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

/// The curve of a model on a data set, added if there is none yet.
pub(super) fn curve_of<'c>(
    curves: &'c mut Vec<Curve>,
    dataset: &str,
    model: &str,
    parameters: u64,
) -> &'c mut Curve {
    let known = curves
        .iter()
        .position(|curve| curve.dataset == dataset && curve.model == model);
    let place = known.unwrap_or_else(|| {
        curves.push(Curve {
            dataset: dataset.to_owned(),
            model: model.to_owned(),
            parameters,
            scores: BTreeMap::new(),
        });
        curves.len() - 1
    });
    &mut curves[place]
}

/// The curves by data set, with models from small to large. Data sets are in the order of first occurrence.
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
