//! The two rounds of labeling: a first text about every question, then contexts, scores and labels for those without
//! a record. Both rounds append to files, so that a stopped run resumes in its round.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use ken_eval::dataset::Question;
use ken_eval::record::Failure;
use ken_eval::results::ResultsFile;
use ken_eval::run::{Outcome, Records, Run, RunError, RunRecord, Work, record_of, records_of};

use super::contexts::{Labeling, SELF};
use super::demonstrations::Demonstrations;
use super::first::{FirstText, first_texts};
use super::record::SourceRecord;

/// Labels the questions without a record in `results`, and appends each record as soon as it exists; `first` stores
/// the first texts. A question without usable golden answers gets a record without a label, at no cost; a question
/// that cannot be labeled, such as one that is too long, gets a record of failure. The run may also be cancelled
/// while texts are written.
///
/// The examples of the second round come from all first texts, so the records of one file must be of one set of
/// questions.
///
/// # Errors
/// Before any work: a model that does not score, no corpus, duplicate names. Then those of a [`Run`].
pub fn label_sources(
    labeling: &Labeling<'_>,
    questions: &[Question],
    first: &mut ResultsFile<FirstText>,
    results: &mut ResultsFile<SourceRecord>,
    mut run: Run<'_>,
) -> Result<Outcome<SourceRecord>, RunError> {
    labeling.check()?;
    let mut resumed = 0;
    for question in questions {
        resumed += usize::from(record_of(question, results)?.is_some());
    }
    // If every question has a record, the first texts are not needed.
    let is_open = resumed < questions.len();
    if !is_open || write_first_texts(labeling, questions, first, &mut run)?.interrupted {
        return Ok(Outcome {
            records: records_of(questions, results),
            total: questions.len(),
            resumed,
            interrupted: is_open,
        });
    }
    let texts: Vec<&FirstText> = questions.iter().filter_map(|q| first.get(&q.id)).collect();
    label_after(labeling, questions, &texts, results, run)
}

/// The second round of [`label_sources`] for `questions`, which may be a part of all. `first` are the first texts about
/// all questions, in their order, as [`first_texts_of_all`] returns them.
///
/// # Errors
/// Those of a [`Run`], and of comparing the first texts.
pub fn label_after(
    labeling: &Labeling<'_>,
    questions: &[Question],
    first: &[&FirstText],
    results: &mut ResultsFile<SourceRecord>,
    mut run: Run<'_>,
) -> Result<Outcome<SourceRecord>, RunError> {
    let demonstrations = Demonstrations::new(
        labeling.model,
        labeling.embedder,
        first,
        labeling.contexts,
        labeling.seed,
    )
    .map_err(|source| RunError::Demonstrate {
        source: Box::new(source),
    })?;
    let first: HashMap<&str, &FirstText> =
        first.iter().map(|text| (text.id.as_str(), *text)).collect();
    let cancel = run.cancel;
    let work = Work {
        batch: &mut |questions| label(labeling, questions, &first, &demonstrations, cancel),
        failed: &|question, error| {
            SourceRecord::failed(question, Failure::of(error), labeling.fingerprints())
        },
        is_complete: &|_| true,
    };
    run.keep(questions, results, work)
}

impl Labeling<'_> {
    /// Refuses settings that would only fail after texts were paid for.
    ///
    /// # Errors
    /// A model that does not score, no corpus, names that do not differ.
    pub fn check(&self) -> Result<(), RunError> {
        if !self.model.capabilities().score {
            return Err(RunError::CannotScore);
        }
        if self.corpora.is_empty() {
            return Err(RunError::NoCorpus);
        }
        let mut names = vec![SELF];
        for corpus in self.corpora {
            if names.contains(&corpus.name.as_str()) {
                return Err(RunError::SameName {
                    name: corpus.name.clone(),
                });
            }
            names.push(&corpus.name);
        }
        Ok(())
    }
}

/// A fingerprint of questions with their golden answers and choices, in order.
pub(crate) fn fingerprint_of_questions(questions: &[Question]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    for question in questions {
        texts.extend(["question", &question.id, &question.question, "answers"]);
        texts.extend(question.golden_answers.iter().map(String::as_str));
        texts.push("choices");
        texts.extend(question.choices.iter().map(String::as_str));
    }
    ken_language::fingerprint_of_texts(&texts)
}

/// Whether a question has usable golden answers. Any other has no first text, and no label.
pub fn can_be_labeled(question: &Question) -> bool {
    question.golden().obstacle().is_none()
}

/// The first texts about questions in their order; `None` if one that can be labeled has none.
pub fn first_texts_of_all<'t>(
    questions: &[Question],
    texts: &'t HashMap<String, FirstText>,
) -> Option<Vec<&'t FirstText>> {
    let mut open = questions.iter().filter(|question| can_be_labeled(question));
    let has_text = |question: &Question| {
        let text = texts.get(&question.id);
        text.is_some_and(|text| text.is_of(question))
    };
    let of_all = questions.iter().filter_map(|q| texts.get(&q.id));
    open.all(has_text).then(|| of_all.collect())
}

/// The first round of [`label_sources`]: the model writes a first text about every question that can be labeled.
///
/// # Errors
/// Those of a [`Run`].
pub fn write_first_texts(
    labeling: &Labeling<'_>,
    questions: &[Question],
    first: &mut ResultsFile<FirstText>,
    run: &mut Run<'_>,
) -> Result<Outcome<FirstText>, RunError> {
    let questions = questions.iter().filter(|question| can_be_labeled(question));
    let cancel = run.cancel;
    let work = Work {
        batch: &mut |questions| first_texts(labeling.model, questions, cancel),
        failed: &FirstText::failed,
        is_complete: &|_| true,
    };
    // One text per question instead of several: a larger batch writes as many texts at once as the second round.
    let batch = run.batch;
    run.batch = batch.saturating_mul(labeling.contexts.max(1));
    let outcome = run.keep(questions, first, work)?;
    run.batch = batch;
    Ok(outcome)
}

/// The records of questions, in order; only those that can be labeled are worked on.
fn label(
    labeling: &Labeling<'_>,
    questions: &[&Question],
    first: &HashMap<&str, &FirstText>,
    demonstrations: &Demonstrations<'_>,
    cancel: &AtomicBool,
) -> Records<SourceRecord> {
    let fingerprint = labeling.fingerprints();
    let without: Vec<Option<SourceRecord>> = questions
        .iter()
        .map(|question| {
            let fingerprint = fingerprint.clone();
            if let Some(obstacle) = question.golden().obstacle() {
                return Some(SourceRecord::unlabeled(question, obstacle, fingerprint));
            }
            let error = first.get(question.id.as_str())?.error.clone()?;
            Some(SourceRecord::failed(question, error, fingerprint))
        })
        .collect();
    let open = questions.iter().zip(&without);
    let open = open.filter(|(_, without)| without.is_none());
    let open: Vec<&Question> = open.map(|(question, _)| *question).collect();
    let mut labeled = match open.as_slice() {
        [] => Vec::new(),
        open => labeling.batch(open, demonstrations, cancel)?,
    }
    .into_iter();
    let all = without
        .into_iter()
        .map(|without| without.or_else(|| labeled.next()));
    Ok(all.flatten().map(Ok).collect())
}
