//! A study broken down by a field of the questions' metadata.

use std::collections::{HashMap, HashSet};

use ken_eval::compare::grouped_by;
use ken_eval::dataset::{Question, check_field, read_questions};
use serde::Serialize;

use super::{PolicyOutcome, Series, policies, series};
use crate::study::{Measured, ScalingError};

/// A study broken down by the values of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyBreakdown {
    /// The field.
    pub field: String,
    /// The values in each data set.
    pub groups: Vec<StudyGroup>,
}

/// The results on the questions of a data set that share a value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyGroup {
    /// The data set.
    pub dataset: String,
    /// The value; a dash for questions without one.
    pub value: String,
    /// The number of questions.
    pub n: usize,
    /// As in the report.
    pub series: Vec<Series>,
    /// As in the report.
    pub policies: Vec<PolicyOutcome>,
}

impl StudyBreakdown {
    /// Breaks a study down by the metadata in its question files.
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

/// The answered questions of a data set as in its file; empty if no cell is complete.
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
    questions.retain(|q| answered.get(q.id.as_str()) == Some(&q.question.as_str()));
    let there: HashSet<&str> = questions.iter().map(|q| q.id.as_str()).collect();
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
