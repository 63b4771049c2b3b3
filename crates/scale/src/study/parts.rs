//! Studies whose questions several jobs measure: the items of their parts, and joining the parts into what one run
//! writes.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use ken_answer::Policy;
use ken_eval::compare::Signals;
use ken_eval::dataset::Question;
use ken_eval::part::{JoinedFile, PartError, Parts};
use ken_eval::record::Record;
use ken_eval::run::{RunError, RunRecord, Task};

use super::cell::KnownAnswers;
use super::condition::{Cell, Condition};
use super::error::ScalingError;
use super::evidence::{Evidence, evidence_file};
use super::manifest::Manifest;
use super::records::{PASSAGES_READ, signals_file};

/// The item of a study in parts: the questions at one index of all data sets that have so many, by data set. So every
/// N-th item has every N-th question of each data set.
pub type Row = BTreeMap<String, Question>;

/// The questions of data sets in rows.
pub fn rows<'a>(datasets: impl IntoIterator<Item = (&'a str, &'a [Question])>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (dataset, questions) in datasets {
        rows.resize_with(rows.len().max(questions.len()), Row::new);
        for (row, question) in rows.iter_mut().zip(questions) {
            row.insert(dataset.to_owned(), question.clone());
        }
    }
    rows
}

/// The questions of a data set that the rows have, in order.
pub fn questions_of(rows: &[Row], dataset: &str) -> Vec<Question> {
    let questions = rows.iter().filter_map(|row| row.get(dataset));
    questions.cloned().collect()
}

/// Joins the parts of a study into the folder `out`, which may already be a study, as one run would have written it.
/// All parts are checked before anything is written; joining again completes what was interrupted.
///
/// # Errors
/// An unfinished part, one of other models or settings, another study in `out`, files that cannot be read or written.
pub fn join_parts(parts: &Parts, out: &Path) -> Result<(), ScalingError> {
    let rows: Vec<Row> = parts.items()?;
    let study = manifest(parts, &rows)?;
    let datasets = study.datasets.keys().map(|dataset| {
        let questions = questions_of(&rows, dataset);
        JoinedDataset::read(parts, &study, dataset, &questions)
    });
    let datasets: Vec<JoinedDataset> = datasets.collect::<Result<_, PartError>>()?;
    let whole = study.added_to(out)?;
    datasets
        .into_iter()
        .try_for_each(|dataset| dataset.write(out))?;
    whole.write(out)
}

/// The manifest of the study, which all parts have.
fn manifest(parts: &Parts, rows: &[Row]) -> Result<Manifest, ScalingError> {
    for folder in parts.folders() {
        if let Some(manifest) = Manifest::read_any(folder)? {
            return Ok(manifest);
        }
    }
    let own = rows.iter().step_by(parts.folders().count().max(1));
    Err(PartError::Unfinished {
        path: parts.folders().next().unwrap_or(Path::new("")).to_owned(),
        done: 0,
        total: own.map(BTreeMap::len).sum(),
        items: Task::Answer.items(),
    }
    .into())
}

/// The files of a data set.
struct JoinedDataset {
    evidence: BTreeMap<Condition, StudyFile<Evidence>>,
    cells: Vec<StudyFile<Record>>,
    signals: Vec<StudyFile<Signals>>,
}

impl JoinedDataset {
    fn read(
        parts: &Parts,
        study: &Manifest,
        dataset: &str,
        questions: &[Question],
    ) -> Result<Self, PartError> {
        let conditions = study.conditions.iter().map(|studied| studied.condition);
        let mut evidence: BTreeMap<Condition, StudyFile<Evidence>> = BTreeMap::new();
        for condition in conditions.clone().filter(|condition| condition.n > 0) {
            let file = evidence_file(dataset, &condition);
            evidence.insert(condition, StudyFile::read(parts, file, questions)?);
        }
        let (mut cells, mut signals) = (Vec::new(), Vec::new());
        for model in study.models.keys() {
            let mut known = KnownAnswers::default();
            for condition in conditions.clone() {
                let cell = Cell::new(dataset, model, condition);
                let file: StudyFile<Record> = StudyFile::read(parts, cell.file(), questions)?;
                let found = evidence.get(&condition);
                let found = found.map(|file| file.joined.records.as_slice());
                let found: &[Evidence] = found.unwrap_or_default();
                let copied = found.iter().filter(|found| known.of(found).is_some());
                let copied: HashSet<&str> = copied.map(|found| found.id.as_str()).collect();
                known.add(&file.joined.records, found);
                cells.push(file.led_by(&copied));
            }
            if has_signals(study) {
                let file = signals_file(dataset, model);
                signals.push(StudyFile::read(parts, file, questions)?);
            }
        }
        Ok(Self {
            evidence,
            cells,
            signals,
        })
    }

    fn write(self, out: &Path) -> Result<(), RunError> {
        let mut evidence = self.evidence.into_values();
        evidence.try_for_each(|file| file.write(out))?;
        let mut cells = self.cells.into_iter();
        cells.try_for_each(|file| file.write(out))?;
        let mut signals = self.signals.into_iter();
        signals.try_for_each(|file| file.write(out))
    }
}

/// Whether a policy of the study decides by a signal.
fn has_signals(study: &Manifest) -> bool {
    let policies = study.policies.iter();
    let mut policies = policies.filter_map(|policy| policy.parse::<Policy>().ok());
    policies.any(|policy| policy.signal().is_some())
}

/// A joined file of a study.
struct StudyFile<L> {
    /// Its path inside the study's folder.
    path: PathBuf,
    /// The questions in the order of their records.
    questions: Vec<Question>,
    joined: JoinedFile<L>,
}

impl<L: RunRecord<Item = Question>> StudyFile<L> {
    fn read(parts: &Parts, path: PathBuf, questions: &[Question]) -> Result<Self, PartError> {
        Ok(Self {
            joined: parts.records_with::<L>(&path, questions, PASSAGES_READ)?,
            questions: questions.to_vec(),
            path,
        })
    }

    /// With the records of the questions of these ids before all others.
    fn led_by(self, ids: &HashSet<&str>) -> Self {
        let JoinedFile { settings, records } = self.joined;
        let mut pairs: Vec<(Question, L)> = self.questions.into_iter().zip(records).collect();
        pairs.sort_by_key(|(question, _)| !ids.contains(question.id.as_str()));
        let (questions, records) = pairs.into_iter().unzip();
        Self {
            path: self.path,
            questions,
            joined: JoinedFile { settings, records },
        }
    }

    fn write(self, out: &Path) -> Result<(), RunError> {
        let file = out.join(self.path);
        self.joined.write(&self.questions, &file).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(id: &str) -> Question {
        Question {
            id: id.to_owned(),
            question: format!("What is {id}?"),
            golden_answers: vec![id.to_owned()],
            choices: Vec::new(),
            metadata: serde_json::Map::new(),
        }
    }

    #[test]
    fn every_nth_row_has_every_nth_question_of_each_data_set() {
        let sets = [
            ("nq", ["a", "b", "c", "d", "e"].map(question).to_vec()),
            ("webq", ["a", "b"].map(question).to_vec()),
        ];
        let rows = rows(sets.iter().map(|(name, questions)| (*name, &questions[..])));
        assert_eq!(rows.len(), 5);
        for (name, questions) in &sets {
            assert_eq!(questions_of(&rows, name), *questions);
            for first in 0..3 {
                let part: Vec<Row> = rows.iter().skip(first).step_by(3).cloned().collect();
                let own: Vec<Question> = questions.iter().skip(first).step_by(3).cloned().collect();
                assert_eq!(questions_of(&part, name), own, "{name} from {first}");
            }
        }
    }
}
