//! Answering the questions of one cell: the first ones one at a time, to measure the time of single questions, and
//! the rest in batches. If another cell of the model retrieved the same passages for a question, prompt and answer
//! are the same, and the answer is copied.

use std::collections::HashMap;
use std::path::Path;

use ken_answer::Pipeline;
use ken_eval::dataset::Question;
use ken_eval::evaluate::evaluate_pipeline;
use ken_eval::record::Record;
use ken_eval::results::{ResultsFile, RunSettings};
use ken_eval::run::{Run, RunError, record_of};

use super::evidence::Evidence;

/// The answers of one model to the questions of one data set, by the retrieved passages.
#[derive(Debug, Default)]
pub struct KnownAnswers(HashMap<(String, String), Record>);

impl KnownAnswers {
    /// Adds the answers of a cell.
    pub fn add(&mut self, records: &[Record], evidence: &[Evidence]) {
        let by_id: HashMap<&str, &Evidence> = by_id(evidence);
        for record in records {
            if let Some(found) = by_id.get(record.id.as_str()) {
                let key = (record.id.clone(), found.passages_told());
                self.0.entry(key).or_insert_with(|| record.clone());
            }
        }
    }

    /// The answer to a question from these passages.
    pub(super) fn of(&self, evidence: &Evidence) -> Option<&Record> {
        let key = (evidence.id.clone(), evidence.passages_told());
        let record = self.0.get(&key);
        record.filter(|record| record.error.is_none())
    }

    /// The answer to a question from these passages, with the times of this evidence.
    fn copied(&self, evidence: &Evidence) -> Option<Record> {
        let mut record = self.of(evidence)?.clone();
        let stages = [
            ("embed", Some(evidence.embed_ms)),
            ("search", Some(evidence.search_ms)),
            ("rerank", evidence.rerank_ms),
        ];
        for (stage, ms) in stages {
            let before = record.timing_ms.remove(stage).unwrap_or_default();
            let now = ms.unwrap_or_default();
            *record.timing_ms.entry("total".to_owned()).or_default() += now - before;
            if let Some(ms) = ms {
                record.timing_ms.insert(stage.to_owned(), ms);
            }
        }
        Some(record)
    }
}

fn by_id(evidence: &[Evidence]) -> HashMap<&str, &Evidence> {
    evidence.iter().map(|e| (e.id.as_str(), e)).collect()
}

/// The work of answering a cell.
pub struct CellWork<'a> {
    /// The pipeline, which already holds the evidence.
    pub pipeline: &'a Pipeline,
    /// The questions.
    pub questions: &'a [Question],
    /// How many of the first are answered one at a time.
    pub timed: usize,
    /// The evidence of the questions; empty without retrieval.
    pub evidence: &'a [Evidence],
    /// Answers from other cells of the model.
    pub known: &'a KnownAnswers,
}

impl CellWork<'_> {
    /// Answers the questions that the file of this run does not hold yet. `run` starts a run that answers this many
    /// questions at once, or with `None` any number.
    ///
    /// # Errors
    /// Those of an evaluation.
    pub fn answer<'r>(
        &self,
        file: &Path,
        identity: &RunSettings,
        run: &dyn Fn(Option<usize>) -> Run<'r>,
    ) -> Result<Vec<Record>, RunError> {
        self.copy(file, identity)?;
        let alone = self.questions.get(..self.timed).unwrap_or(self.questions);
        let answered = |questions: &[Question], batch| {
            evaluate_pipeline(self.pipeline, questions, file, identity.clone(), run(batch))
        };
        answered(alone, Some(1))?;
        Ok(answered(self.questions, None)?.records)
    }

    /// Copies known answers, before any question is answered.
    fn copy(&self, file: &Path, identity: &RunSettings) -> Result<(), RunError> {
        let by_id = by_id(self.evidence);
        let mut results = ResultsFile::open(file, identity.clone())?;
        for question in self.questions {
            if record_of::<Record>(question, &results)?.is_some() {
                continue;
            }
            let found = by_id.get(question.id.as_str());
            if let Some(record) = found.and_then(|found| self.known.copied(found)) {
                results.append(record)?;
            }
        }
        Ok(results.sync()?)
    }
}
