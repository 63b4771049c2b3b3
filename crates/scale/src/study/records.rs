//! The records of a study, read from its folder and checked against each other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use ken_answer::Policy;
use ken_eval::compare::{Answered, Signals, composed};
use ken_eval::record::Record;
use ken_eval::results::{RunSettings, read_results, read_settings};
use ken_eval::split::AboutSubject;
use ken_eval::statistics::{mean, share};

use super::condition::{Cell, Condition, Retrieval};
use super::curve::{Curve, Scores, curve_of};
use super::error::ScalingError;
use super::evidence::{Evidence, evidence_file};
use super::manifest::Manifest;

/// The setting in a cell's run that holds a fingerprint of the passages the model read.
pub const PASSAGES_READ: &str = "passages_read";

/// All measurements of a study.
#[derive(Debug)]
pub struct Measured {
    /// What it is made of.
    pub manifest: Manifest,
    /// The records of its complete cells, in the order of the questions' ids.
    pub cells: BTreeMap<Cell, Vec<Record>>,
    /// Its cells that are missing or incomplete.
    pub missing: Vec<Cell>,
    /// The signals of policies, by data set and model.
    pub signals: BTreeMap<(String, String), Vec<Signals>>,
    /// The time of all searches, and of all answers in complete cells.
    pub time: StudyTime,
}

/// Where the time of a study went, in seconds of its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct StudyTime {
    /// Searches, once for all models.
    pub retrieval_s: f64,
    /// Models reading prompts and writing answers.
    pub answering_s: f64,
    /// What separate evaluations of all cells would have taken.
    pub as_evaluations_s: f64,
    /// The number of answers.
    pub answers: usize,
    /// How many of them were copied, since another cell of the model retrieved the same passages.
    pub copied: usize,
}

/// The path of the signals inside the study's folder.
pub fn signals_file(dataset: &str, model: &str) -> std::path::PathBuf {
    ["signals", dataset, &format!("{model}.jsonl")]
        .iter()
        .collect()
}

impl Measured {
    /// Reads a folder.
    ///
    /// # Errors
    /// A folder of something else, broken records, cells of different questions, models that read different passages,
    /// no complete cell.
    pub fn read(folder: &Path) -> Result<Self, ScalingError> {
        let manifest = Manifest::read(folder)?;
        let (mut cells, mut missing) = (BTreeMap::new(), Vec::new());
        let mut read: BTreeMap<(String, Condition), (String, String)> = BTreeMap::new();
        for cell in manifest.cells() {
            let path = folder.join(cell.file());
            if !path.exists() {
                missing.push(cell);
                continue;
            }
            let records: Vec<Record> = read_results(&path)?;
            let dataset = &manifest.datasets[&cell.dataset];
            if records.len() < dataset.questions {
                missing.push(cell);
                continue;
            }
            check_read(&cell, &read_settings(&path)?, &mut read)?;
            check_questions(&cell, &records, &cells)?;
            cells.insert(cell, records);
        }
        if cells.is_empty() {
            return Err(ScalingError::NoCells {
                path: folder.to_owned(),
            });
        }
        let mut signals = BTreeMap::new();
        for dataset in manifest.datasets.keys() {
            for model in manifest.models.keys() {
                let path = folder.join(signals_file(dataset, model));
                if path.exists() {
                    let of_model: Vec<Signals> = read_results(&path)?;
                    signals.insert((dataset.clone(), model.clone()), of_model);
                }
            }
        }
        let time = time(folder, &manifest, &cells)?;
        Ok(Self {
            manifest,
            cells,
            missing,
            signals,
            time,
        })
    }

    /// The measurements on some questions of one data set, by their ids; without times.
    pub fn only(&self, dataset: &str, ids: &HashSet<&str>) -> Self {
        let mut manifest = self.manifest.clone();
        manifest.datasets.retain(|name, _| name == dataset);
        let of_set = self
            .cells
            .iter()
            .filter(|(cell, _)| cell.dataset == dataset);
        let some = |records: &[Record]| -> Vec<Record> {
            let some = records.iter().filter(|r| ids.contains(r.id.as_str()));
            some.cloned().collect()
        };
        Self {
            manifest,
            cells: of_set
                .map(|(cell, records)| (cell.clone(), some(records)))
                .collect(),
            missing: Vec::new(),
            signals: self.signals.clone(),
            time: StudyTime::default(),
        }
    }

    /// The records of a cell, if it is complete.
    pub fn records(&self, dataset: &str, model: &str, condition: Condition) -> Option<&[Record]> {
        let cell = Cell::new(dataset, model, condition);
        self.cells.get(&cell).map(Vec::as_slice)
    }

    /// The ways of retrieving, each with its scales in ascending order.
    pub fn scales(&self) -> BTreeMap<Retrieval, Vec<u32>> {
        let mut scales: BTreeMap<Retrieval, Vec<u32>> = BTreeMap::new();
        for studied in &self.manifest.conditions {
            if studied.condition.n > 0 {
                let of_it = scales.entry(studied.condition.retrieval).or_default();
                of_it.push(studied.condition.n);
            }
        }
        for of_it in scales.values_mut() {
            of_it.sort_unstable();
        }
        scales
    }

    /// What a policy would have answered under a condition; `None` if its answers or its signals are missing.
    pub fn under(&self, policy: Policy, cell: &Cell) -> Option<Vec<Record>> {
        let of = |condition| self.records(&cell.dataset, &cell.model, condition);
        let (never, always) = (of(Condition::FROM_MEMORY)?, of(cell.condition)?);
        let key = (cell.dataset.clone(), cell.model.clone());
        let signals: HashMap<&str, &Signals> = match self.signals.get(&key) {
            Some(all) => all.iter().map(|s| (s.id.as_str(), s)).collect(),
            None => HashMap::new(),
        };
        let pairs = never.iter().zip(always);
        let answered: Vec<Answered<'_>> = pairs
            .map(|(never, always)| {
                let signals = signals.get(never.id.as_str()).copied();
                Answered::new(never, always, signals, never.subject())
            })
            .collect();
        let is_measured = |answered: &Answered<'_>| answered.signals.is_some();
        if policy.signal().is_some() && !answered.iter().all(is_measured) {
            return None;
        }
        Some(composed(policy, &answered, self.manifest.seed))
    }

    /// The curves of one way of retrieving, from which n\* is computed.
    pub fn curves(&self, retrieval: Retrieval) -> Vec<Curve> {
        let mut curves: Vec<Curve> = Vec::new();
        for (cell, records) in &self.cells {
            if cell.condition.n > 0 && cell.condition.retrieval != retrieval {
                continue;
            }
            let parameters = self.manifest.models[&cell.model].parameters;
            let curve = curve_of(&mut curves, &cell.dataset, &cell.model, parameters);
            curve.scores.insert(cell.condition.n, scores(records));
        }
        curves
    }
}

/// The mean scores of records, which must not be empty.
pub(crate) fn scores(records: &[Record]) -> Scores {
    let f1: Vec<f64> = records.iter().map(|record| record.f1).collect();
    Scores {
        em: share(records.iter().map(|record| record.em)).unwrap_or_default(),
        f1: mean(&f1).unwrap_or_default(),
    }
}

/// Refuses a cell whose model read different passages than the model of an earlier cell.
fn check_read(
    cell: &Cell,
    settings: &RunSettings,
    read: &mut BTreeMap<(String, Condition), (String, String)>,
) -> Result<(), ScalingError> {
    let value = |name: &str| settings.get(name).cloned().unwrap_or_default();
    let told = [PASSAGES_READ, "corpus", "rerank", "mode", "filters"]
        .map(value)
        .join(" ");
    let key = (cell.dataset.clone(), cell.condition);
    let (told_before, before) = read
        .entry(key)
        .or_insert_with(|| (told.clone(), cell.to_string()));
    match *told_before == told || cell.condition.n == 0 {
        true => Ok(()),
        false => Err(ScalingError::CellsReadDifferently {
            one: before.clone(),
            other: cell.to_string(),
        }),
    }
}

/// Refuses a cell with different questions than earlier cells of its data set.
fn check_questions(
    cell: &Cell,
    records: &[Record],
    cells: &BTreeMap<Cell, Vec<Record>>,
) -> Result<(), ScalingError> {
    let mut before = cells.iter();
    let Some((other, first)) = before.find(|(other, _)| other.dataset == cell.dataset) else {
        return Ok(());
    };
    let ids = |records: &[Record]| -> Vec<String> {
        records
            .iter()
            .map(|record| format!("{} {}", record.id, record.question))
            .collect()
    };
    match ids(first) == ids(records) {
        true => Ok(()),
        false => Err(ScalingError::CellsOfOtherQuestions {
            cell: cell.to_string(),
            other: other.to_string(),
        }),
    }
}

fn time(
    folder: &Path,
    manifest: &Manifest,
    cells: &BTreeMap<Cell, Vec<Record>>,
) -> Result<StudyTime, ScalingError> {
    let mut time = StudyTime::default();
    for dataset in manifest.datasets.keys() {
        let mut read: HashSet<(&str, &str, String)> = HashSet::new();
        for studied in &manifest.conditions {
            let path = folder.join(evidence_file(dataset, &studied.condition));
            let evidence: Vec<Evidence> = match studied.condition.n > 0 && path.exists() {
                true => read_results(&path)?,
                false => Vec::new(),
            };
            time.retrieval_s += evidence.iter().map(Evidence::ms).sum::<f64>() / 1000.0;
            let found: HashMap<&str, String> = evidence
                .iter()
                .map(|evidence| (evidence.id.as_str(), evidence.passages_told()))
                .collect();
            let is_of_it =
                |cell: &&Cell| cell.dataset == *dataset && cell.condition == studied.condition;
            for cell in cells.keys().filter(is_of_it) {
                for record in &cells[cell] {
                    let of = |stage: &str| record.timing_ms.get(stage).copied().unwrap_or_default();
                    let found_in = of("embed") + of("search") + of("rerank");
                    let passages = found.get(record.id.as_str()).cloned().unwrap_or_default();
                    time.answers += 1;
                    time.as_evaluations_s += of("total") / 1000.0;
                    match read.insert((&cell.model, &record.id, passages))
                        || studied.condition.n == 0
                    {
                        true => time.answering_s += (of("total") - found_in).max(0.0) / 1000.0,
                        false => time.copied += 1,
                    }
                }
            }
        }
    }
    Ok(time)
}
