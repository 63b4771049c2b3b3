//! The report of a study: n\*, the measures at each scale, the fronts, and where the time went; as data and as pages
//! with figures.

mod breakdown;
mod figures;
mod policies;
mod tables;

use std::path::Path;

use ken_eval::record::Record;
use ken_eval::write_report;
use ken_report::Report;
use ken_storage::{create_dir_all, replace};
use serde::Serialize;

use crate::plan::{Candidate, Prices, Quantity, candidates_of_study, candidates_of_table, front};
use crate::study::{
    Cell, Compensation, Condition, Curve, Measure, Measured, Outcome, Retrieval, ScaleMeasures,
    ScalingError, StudyTime, compensations, n_star_interval,
};
pub use breakdown::{StudyBreakdown, StudyGroup};
pub use policies::PolicyOutcome;

/// The report of a study, as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyReport {
    /// n\* for all pairs of models.
    pub compensation: Vec<Compensation>,
    /// The measures of each model by scale.
    pub series: Vec<Series>,
    /// What policies answer under each condition; empty if only always and never were measured and nothing was
    /// pruned.
    pub policies: Vec<PolicyOutcome>,
    /// The missing cells; without those that it needs, n\* is only a bound.
    pub missing: Vec<Cell>,
    /// The Pareto fronts by accuracy and cost.
    pub fronts: Vec<Front>,
    /// Where the time went; `None` for a table.
    pub time: Option<StudyTime>,
    /// The series and policies by the values of a metadata field, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<StudyBreakdown>,
    /// The seed of the intervals.
    pub seed: u64,
}

/// One model on one data set, under one way of retrieving.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The data set.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// Its parameters.
    pub parameters: u64,
    /// How passages are retrieved; `None` for a table.
    pub retrieval: Option<Retrieval>,
    /// The known rate: exact match without retrieval.
    pub known: Measure,
    /// The measures at each scale, ascending.
    pub scales: Vec<ScaleMeasures>,
}

/// The Pareto front of set-ups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Front {
    /// The data set.
    pub dataset: String,
    /// The accuracy.
    pub accuracy: Quantity,
    /// The cost.
    pub cost: Quantity,
    /// The set-ups on the front, from cheap to expensive.
    pub on_front: Vec<Placed>,
    /// All other set-ups.
    pub behind: Vec<Placed>,
}

/// A set-up at its cost and accuracy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// Its cost.
    pub cost: f64,
    /// Its accuracy.
    pub accuracy: f64,
}

/// The costs that have a front.
const FRONTS: [Quantity; 5] = [
    Quantity::Memory,
    Quantity::P50,
    Quantity::Tokens,
    Quantity::Parameters,
    Quantity::Shards,
];

impl StudyReport {
    /// The report of a measured study.
    pub fn of_study(measured: &Measured) -> Self {
        let mut compensation = Vec::new();
        for (retrieval, scales) in measured.scales() {
            for mut pair in compensations(&measured.curves(retrieval)) {
                let records = |model: &str, n: u32| {
                    measured.records(&pair.dataset, model, Condition { n, retrieval })
                };
                let smaller = scales.iter();
                let smaller: Vec<(u32, &[Record])> = smaller
                    .filter_map(|&n| Some((n, records(&pair.smaller, n)?)))
                    .collect();
                let larger = records(&pair.larger, 1).unwrap_or_default();
                pair.interval = n_star_interval(&smaller, larger, measured.manifest.seed);
                pair.retrieval = Some(retrieval);
                compensation.push(pair);
            }
        }
        let fronts = measured.manifest.datasets.keys().flat_map(|dataset| {
            fronts(
                dataset,
                &candidates_of_study(measured, dataset, &Prices::default()),
            )
        });
        Self {
            compensation,
            series: series(measured),
            policies: policies::outcomes(measured),
            missing: measured.missing.clone(),
            fronts: fronts.collect(),
            time: Some(measured.time),
            by: None,
            seed: measured.manifest.seed,
        }
    }

    /// The report of a table of scores.
    pub fn of_table(curves: &[Curve]) -> Self {
        let series = curves.iter().map(|curve| {
            let value = |value: f64| Measure {
                value: Some(value),
                interval: None,
            };
            let scales = curve.scores.iter().filter(|(n, _)| **n > 0);
            let scales = scales.map(|(&n, scores)| ScaleMeasures {
                n,
                em: value(scores.em),
                f1: value(scores.f1),
                ..ScaleMeasures::default()
            });
            let known = curve.scores.get(&0).map(|scores| value(scores.em));
            Series {
                dataset: curve.dataset.clone(),
                model: curve.model.clone(),
                parameters: curve.parameters,
                retrieval: None,
                known: known.unwrap_or_default(),
                scales: scales.collect(),
            }
        });
        let mut datasets: Vec<&str> = curves.iter().map(|curve| curve.dataset.as_str()).collect();
        datasets.dedup();
        let fronts = datasets
            .iter()
            .flat_map(|dataset| fronts(dataset, &candidates_of_table(curves, dataset)));
        let mut series: Vec<Series> = series.collect();
        series.sort_by_key(|series| series.parameters);
        Self {
            compensation: compensations(curves),
            series,
            policies: Vec::new(),
            missing: Vec::new(),
            fronts: fronts.collect(),
            time: None,
            by: None,
            seed: 0,
        }
    }

    /// The data sets, in order.
    pub(crate) fn datasets(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.series.iter().map(|s| s.dataset.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The report for people.
    pub fn report(&self, title: &str) -> Report {
        tables::report(title, self)
    }

    /// Writes `report.html`, `page.json` and `report.json` into a folder, creating it if necessary.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    pub fn write(&self, report: &Report, folder: &Path) -> Result<(), ScalingError> {
        create_dir_all(folder)?;
        write_report(report, folder)?;
        let json = serde_json::to_string_pretty(self)
            .map_err(std::io::Error::from)
            .map_err(ken_storage::StorageError::new("write", folder))?;
        Ok(replace(&folder.join("report.json"), json.as_bytes())?)
    }
}

/// All models on all data sets, under each way of retrieving.
fn series(measured: &Measured) -> Vec<Series> {
    let mut series = Vec::new();
    for (retrieval, scales) in measured.scales() {
        for dataset in measured.manifest.datasets.keys() {
            for model in measured.manifest.models_by_size() {
                let place = (dataset.as_str(), model, retrieval);
                series.push(series_of(measured, place, &scales, measured.manifest.seed));
            }
        }
    }
    series
}

/// The measures of a model at ascending scales, each compared with the scale before.
fn series_of(
    measured: &Measured,
    (dataset, model, retrieval): (&str, &str, Retrieval),
    scales: &[u32],
    seed: u64,
) -> Series {
    let records = |n: u32| measured.records(dataset, model, Condition { n, retrieval });
    let memory = measured.records(dataset, model, Condition::FROM_MEMORY);
    let mut before = memory;
    let mut of_scales = Vec::new();
    for &n in scales {
        let Some(now) = records(n) else { continue };
        of_scales.push(match (memory, before) {
            (Some(memory), Some(before)) => {
                let outcomes = outcomes(memory, before, now);
                ScaleMeasures::of(n, &outcomes, seed)
            }
            // Without answers from memory, only the measures that need none.
            _ => ScaleMeasures::alone(n, &outcomes(now, now, now), seed),
        });
        before = memory.and(Some(now));
    }
    let known = memory.map(|memory| Measure::share(memory.iter().map(|record| record.em)));
    Series {
        dataset: dataset.to_owned(),
        model: model.to_owned(),
        parameters: measured.manifest.models[model].parameters,
        retrieval: Some(retrieval),
        known: known.unwrap_or_default(),
        scales: of_scales,
    }
}

fn outcomes(memory: &[Record], before: &[Record], now: &[Record]) -> Vec<Outcome> {
    let triples = memory.iter().zip(before).zip(now);
    triples
        .map(|((memory, before), now)| Outcome::of(memory, before, now))
        .collect()
}

fn fronts(dataset: &str, candidates: &[Candidate]) -> Vec<Front> {
    let all: Vec<&Candidate> = candidates.iter().collect();
    let accuracy = Quantity::Em;
    let placed = |candidate: &Candidate, cost: Quantity| {
        let (cost, accuracy) = candidate.value(cost).zip(candidate.value(accuracy))?;
        let name = candidate.name.clone();
        Some(Placed {
            name,
            cost,
            accuracy,
        })
    };
    let of_cost = |cost: Quantity| {
        let on_front = front(&all, accuracy, cost, Candidate::value);
        let is_on_it = |c: &&&Candidate| on_front.iter().any(|on_it| std::ptr::eq(*on_it, **c));
        let behind = all.iter().filter(|c| !is_on_it(c));
        Front {
            dataset: dataset.to_owned(),
            accuracy,
            cost,
            on_front: on_front
                .iter()
                .filter_map(|candidate| placed(candidate, cost))
                .collect(),
            behind: behind.filter_map(|c| placed(c, cost)).collect(),
        }
    };
    let fronts = FRONTS.into_iter().map(of_cost);
    fronts.filter(|front| !front.on_front.is_empty()).collect()
}
