//! Lessons that make a model say what another model knows (KBM, section 4.1): of each probed question
//! whether its answer is mastered, and whether answers agree, from memory and with the evidence.

use std::collections::BTreeMap;

use ken_answer::prompt::{Indicator, Posed, assess, from_evidence, from_memory, verdicts};
use ken_answer::{AnswerError, Retrieved, Retriever};
use ken_index::Mode;

use super::{Lesson, LessonKind};
use crate::probe::ProbeRecord;

/// How the lessons are made.
#[derive(Clone, Copy)]
pub struct BoundaryLessons<'a> {
    /// Finds the evidence again that questions were probed with; without it, only what is known from
    /// memory is taught.
    pub retriever: Option<&'a Retriever>,
    /// How passages are searched.
    pub mode: Mode,
    /// An indicator of so much or more counts as known; in `[0, 1]`. The paper's tau.
    pub threshold: f64,
}

/// Lessons, and what they are about.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundary {
    /// The lessons.
    pub lessons: Vec<Lesson>,
    /// The fingerprint of the model that was probed.
    pub model: String,
    /// The fingerprint of the prompts that it answered.
    pub prompt: String,
}

/// Why there is nothing to teach.
#[derive(Debug, thiserror::Error)]
pub enum BoundaryError {
    /// No record can be used.
    #[error("none of the {records} records says what the model knows")]
    Nothing {
        /// Records.
        records: usize,
    },
    /// The records are of several models or prompts.
    #[error("the records are of several models or prompts")]
    Mixed,
    /// All are known, or none.
    #[error("all {questions} questions are on one side of the threshold {threshold}")]
    OneSide {
        /// Questions with an indicator.
        questions: usize,
        /// The threshold.
        threshold: f64,
    },
    /// The evidence could not be found again.
    #[error(transparent)]
    Find(#[from] AnswerError),
}

impl BoundaryError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "nothing_to_learn",
            Self::Mixed => "mixed_records",
            Self::OneSide { .. } => "one_class",
            Self::Find(error) => error.kind(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Nothing { .. } => Some(
                "probe questions with golden answers first: `ken probe QUESTIONS --out FILE`"
                    .to_owned(),
            ),
            Self::Mixed => Some("probe all questions with one model into one file".to_owned()),
            Self::OneSide { .. } => Some(
                "take a threshold between what the model knows and what it does not: --threshold"
                    .to_owned(),
            ),
            Self::Find(error) => error.hint(),
        }
    }
}

/// The lessons of probed questions.
///
/// # Errors
/// Records that say nothing, or are of several models; a threshold on whose one side all lie; a
/// search that fails.
pub fn boundary_lessons(
    records: &[ProbeRecord],
    making: BoundaryLessons<'_>,
) -> Result<Boundary, BoundaryError> {
    let usable: Vec<&ProbeRecord> = records.iter().filter(|r| r.error.is_none()).collect();
    let Some(first) = usable.first() else {
        return Err(BoundaryError::Nothing {
            records: records.len(),
        });
    };
    let (model, prompt) = (&first.fingerprint.model, &first.fingerprint.prompt);
    if usable
        .iter()
        .any(|r| (&r.fingerprint.model, &r.fingerprint.prompt) != (model, prompt))
    {
        return Err(BoundaryError::Mixed);
    }
    let mut lessons = Vec::new();
    let mut sides = BTreeMap::new();
    for record in &usable {
        let posed = Posed {
            question: &record.question,
            choices: &record.choices,
        };
        let evidence = evidence(record, making)?;
        let read: Vec<&Retrieved> = evidence.iter().collect();
        let prompts = [
            (
                from_memory(posed),
                record.confidence.from_self,
                record.certainty.from_self,
            ),
            (
                from_evidence(posed, &read),
                record.confidence.corpus.filter(|_| !read.is_empty()),
                record.certainty.corpus.filter(|_| !read.is_empty()),
            ),
        ];
        for (asked, confidence, certainty) in prompts {
            let indicators = [
                (Indicator::Mastery, confidence),
                (Indicator::Certainty, certainty),
            ];
            for (indicator, value) in indicators {
                let Some(value) = value else { continue };
                let known = value >= making.threshold;
                *sides.entry((indicator, known)).or_insert(0usize) += 1;
                let [yes, no] = verdicts(&record.question);
                lessons.push(Lesson {
                    id: record.id.clone(),
                    kind: LessonKind::Boundary,
                    prompt: assess(&record.question, &asked, indicator),
                    output: if known { yes } else { no }.to_owned(),
                });
            }
        }
    }
    if lessons.is_empty() {
        return Err(BoundaryError::Nothing {
            records: records.len(),
        });
    }
    let told_apart = [Indicator::Mastery, Indicator::Certainty]
        .into_iter()
        .any(|indicator| {
            [true, false]
                .into_iter()
                .all(|known| sides.contains_key(&(indicator, known)))
        });
    if !told_apart {
        return Err(BoundaryError::OneSide {
            questions: usable.len(),
            threshold: making.threshold,
        });
    }
    Ok(Boundary {
        lessons,
        model: model.clone(),
        prompt: prompt.clone(),
    })
}

/// The passages that a question was probed with, best first; none where they are not found again.
fn evidence(
    record: &ProbeRecord,
    making: BoundaryLessons<'_>,
) -> Result<Vec<Retrieved>, AnswerError> {
    let (Some(retriever), false) = (making.retriever, record.evidence.is_empty()) else {
        return Ok(Vec::new());
    };
    let found = retriever.search(&record.question, making.mode, record.evidence.len())?;
    let found: Vec<Retrieved> = found.into_iter().map(Retrieved::unread).collect();
    let same = found
        .iter()
        .map(|passage| passage.passage_id.as_str())
        .eq(record.evidence.iter().map(String::as_str));
    Ok(if same { found } else { Vec::new() })
}
