//! A study broken down by a field of the questions' metadata.

use std::collections::{HashMap, HashSet};

use ken_eval::compare::grouped_by;
use ken_eval::dataset::{Question, check_field, read_questions};
use serde::Serialize;

use super::{PolicyOutcome, Series, policies, series};
use crate::study::{Measured, ScalingError};

/// A study by the values of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyBreakdown {
    /// The field.
    pub field: String,
    /// Its values in each data set.
    pub groups: Vec<StudyGroup>,
}

/// What was measured of the questions of a data set that have one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyGroup {
    /// The data set.
    pub dataset: String,
    /// The value; a dash where a question has none.
    pub value: String,
    /// Questions.
    pub n: usize,
    /// As of the report.
    pub series: Vec<Series>,
    /// As of the report.
    pub policies: Vec<PolicyOutcome>,
}

impl StudyBreakdown {
    /// Breaks a study down, by the metadata of the files of questions that it was run on.
    ///
    /// # Errors
    /// A file that cannot be read or no longer has the study's questions, a field that no question has.
    pub fn of(measured: &Measured, field: &str) -> Result<Self, ScalingError> {
        let mut sets = Vec::new();
        for dataset in measured.manifest.datasets.keys() {
            sets.push((dataset, asked(measured, dataset)?));
        }
        let all: Vec<Question> = sets.iter().flat_map(|(_, some)| some.clone()).collect();
        check_field(&all, field)?;
        let mut groups = Vec::new();
        for (dataset, questions) in sets {
            let grouped = grouped_by(field, &questions, &questions);
            groups.extend(grouped.into_iter().map(|(value, of_group)| {
                let ids = of_group.iter().map(|question| question.id.as_str());
                let part = measured.only(dataset, &ids.collect());
                StudyGroup {
                    dataset: dataset.clone(),
                    value,
                    n: of_group.len(),
                    series: series(&part),
                    policies: policies::outcomes(&part),
                }
            }));
        }
        Ok(Self {
            field: field.to_owned(),
            groups,
        })
    }
}

/// The questions of a data set that were answered, as its file has them; none before a cell is complete.
fn asked(measured: &Measured, dataset: &str) -> Result<Vec<Question>, ScalingError> {
    let mut cells = measured.cells.iter();
    let Some((_, records)) = cells.find(|(cell, _)| cell.dataset == dataset) else {
        return Ok(Vec::new());
    };
    let answered: HashMap<&str, &str> = records
        .iter()
        .map(|record| (record.id.as_str(), record.question.as_str()))
        .collect();
    let file = &measured.manifest.datasets[dataset].file;
    let mut questions = read_questions(file)?;
    questions.retain(|one| answered.get(one.id.as_str()) == Some(&one.question.as_str()));
    let there: HashSet<&str> = questions.iter().map(|one| one.id.as_str()).collect();
    let mut gone: Vec<&str> = answered.into_keys().collect();
    gone.retain(|id| !there.contains(id));
    gone.sort_unstable();
    match gone.first() {
        Some(id) => Err(ScalingError::QuestionGone {
            path: file.clone(),
            id: (*id).to_owned(),
        }),
        None => Ok(questions),
    }
}
