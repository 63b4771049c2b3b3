//! What a list needs to know of a study, a comparison or a probe. The files are those of `ken study`, `ken eval
//! --json` and `ken probe`; their other content stays unread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{LARGEST, read};
use crate::wire::studies::{StudiedDataset, StudiedModel, StudyObject};

/// The longest line that is read to tell what a file is.
const LONGEST_LINE: u64 = 4 << 20;

/// The report of a study.
#[derive(Deserialize)]
pub(super) struct Report {
    #[serde(rename = "compensation")]
    _compensation: Vec<IgnoredAny>,
    series: Vec<Series>,
    missing: Vec<IgnoredAny>,
}

/// One model on one data set.
#[derive(Deserialize)]
struct Series {
    dataset: String,
    model: String,
    parameters: u64,
    known: Known,
    scales: Vec<Scale>,
}

/// What the model knows without retrieval.
#[derive(Deserialize)]
struct Known {
    value: Option<f64>,
}

#[derive(Deserialize)]
struct Scale {
    n: u32,
}

/// The manifest of a study.
#[derive(Deserialize)]
pub(super) struct Manifest {
    datasets: BTreeMap<String, Dataset>,
    models: BTreeMap<String, Model>,
    conditions: Vec<Scale>,
}

#[derive(Deserialize)]
struct Dataset {
    questions: usize,
}

#[derive(Deserialize)]
struct Model {
    parameters: u64,
}

/// What `ken eval --json` prints of compared policies.
#[derive(Deserialize)]
struct Comparison {
    n: usize,
    #[serde(rename = "never_em")]
    _never_em: f64,
    #[serde(rename = "always_em")]
    _always_em: f64,
    policies: Vec<IgnoredAny>,
}

/// A line of `ken probe`.
#[derive(Deserialize)]
struct Probed {
    #[serde(rename = "question")]
    _question: String,
    #[serde(rename = "confidence")]
    _confidence: BTreeMap<String, Option<f64>>,
}

/// The settings in the first line of records.
#[derive(Deserialize)]
struct Header {
    #[serde(rename = "settings")]
    _settings: BTreeMap<String, String>,
}

/// The content of a file; `None` if it is missing or something else.
pub(super) fn parsed<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let is_file = path.symlink_metadata().is_ok_and(|known| known.is_file());
    let bytes = is_file.then(|| read(path).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok()
}

/// The number of questions on which policies were compared.
pub(super) fn of_comparison(path: &Path) -> Option<usize> {
    let comparison: Comparison = parsed(path)?;
    (!comparison.policies.is_empty()).then_some(comparison.n)
}

/// The number of questions in the records of a probe.
pub(super) fn of_probe(path: &Path) -> Option<usize> {
    let mut lines = BufReader::new(File::open(path).ok()?).take(LONGEST_LINE);
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| {
        line.clear();
        lines.read_until(b'\n', line).ok()
    };
    next(&mut line)?;
    serde_json::from_slice::<Header>(&line).ok()?;
    next(&mut line)?;
    serde_json::from_slice::<Probed>(&line).ok()?;
    let mut rest = lines.into_inner().take(LARGEST);
    let mut count = 1;
    let mut any = Vec::new();
    while rest.read_until(b'\n', &mut any).ok()? > 0 {
        count += usize::from(any.ends_with(b"\n"));
        any.clear();
    }
    Some(count)
}

/// Describes a study. Its report has the measurements, and its manifest the number of questions.
pub(super) fn describe(
    object: &mut StudyObject,
    report: Option<Report>,
    manifest: Option<Manifest>,
) {
    let (mut datasets, mut models) = (BTreeMap::new(), BTreeMap::new());
    let mut scales = BTreeSet::new();
    if let Some(report) = report {
        object.missing = report.missing.len();
        for series in report.series {
            datasets.insert(series.dataset, None);
            models.insert(series.model, series.parameters);
            scales.extend(series.known.value.map(|_| 0));
            scales.extend(series.scales.iter().map(|scale| scale.n));
        }
    }
    if let Some(manifest) = manifest {
        let sets = manifest.datasets.into_iter();
        datasets.extend(sets.map(|(name, set)| (name, Some(set.questions))));
        let named = manifest.models.into_iter();
        models.extend(named.map(|(name, model)| (name, model.parameters)));
        scales.extend(manifest.conditions.iter().map(|scale| scale.n));
    }
    object.questions = datasets
        .values()
        .copied()
        .flatten()
        .reduce(usize::saturating_add);
    object.datasets = datasets
        .into_iter()
        .map(|(name, questions)| StudiedDataset { name, questions })
        .collect();
    object.models = models
        .into_iter()
        .map(|(name, parameters)| StudiedModel { name, parameters })
        .collect();
    object.models.sort_by_key(|model| model.parameters);
    object.scales = scales.into_iter().collect();
}
