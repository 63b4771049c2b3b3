//! What routing models say of recorded questions, of those alone that they did not learn from. Their
//! thresholds are chosen on that.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_answer::datastore::Entry;
use ken_answer::prompt::{Indicator, from_memory};
use ken_answer::{
    Assessor, Measurements, Pipeline, QuestionPrompt, Representation, Signal, fits, represent,
};
use ken_model::decoder::Origin;
use ken_route::Head;

use super::error::LearnError;
use super::router::router_labels;
use super::target::Target;
use crate::probe::ProbeRecord;
use crate::run::in_memory;
use crate::training_examples::place_in_split;

/// Questions that a model is given at once.
const BATCH: usize = 32;

/// The vectors of questions: `[questions][dimensions]`. `progress` is given how many are done, and all.
///
/// # Errors
/// A model that fails, or [`LearnError::Stopped`].
pub fn question_vectors(
    by: Representation<'_>,
    questions: &[QuestionPrompt<'_>],
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Vec<Vec<f32>>, LearnError> {
    let vectors = in_memory(questions, BATCH, progress, cancel, |batch| {
        represent(by, batch)
    })?;
    vectors.ok_or(LearnError::Stopped)
}

/// What a router says of each record: `[records]`; `None` of those that it, or the assessor whose
/// verdicts it reads, was trained on. `by` is what it takes, `held_out` the share of questions that the
/// assessor was not trained on, if there is one.
///
/// # Errors
/// Records of several models; a router of another model or embedder; a model that fails;
/// [`LearnError::Stopped`].
pub fn router_scores(
    head: &Head,
    by: Representation<'_>,
    held_out: Option<f64>,
    records: &[ProbeRecord],
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Vec<Option<f64>>, LearnError> {
    let labeled = router_labels(records, Target::Mastery)?.model;
    match by {
        Representation::Words(_) => fits(head, &labeled, None, None)?,
        Representation::Embedding(embedder) => {
            fits(head, &labeled, Some(embedder.fingerprint()), None)?;
        }
        Representation::HiddenState { model, .. } | Representation::FirstToken(model) => {
            fits(head, &labeled, None, None)?;
            fits(head, model.fingerprint(), None, None)?;
        }
        Representation::FirstTokenAndMastery { model, assessor } => {
            let assessor = Some(assessor.fingerprint());
            fits(head, &labeled, None, assessor)?;
            fits(head, model.fingerprint(), None, assessor)?;
        }
    }
    let is_new = |record: &ProbeRecord| {
        let taught = held_out.is_some_and(|share| place_in_split(&record.question) >= share);
        !head.knows(&record.question) && !taught
    };
    scores(records, is_new, progress, cancel, |questions| {
        let vectors = represent(by, questions)?;
        let applied = vectors.iter().map(|vector| head.apply(vector));
        Ok(applied
            .map(|need| need.filter(|need| need.is_finite()))
            .collect())
    })
}

/// What an assessor says of each record from memory: `[records]`; `None` of those that it was trained
/// on. `held_out` is the share that it was not.
///
/// # Errors
/// Records of another model than the one that it knows, a model that fails, [`LearnError::Stopped`].
pub fn assessor_scores(
    assessor: &Assessor,
    held_out: f64,
    signal: Signal,
    records: &[ProbeRecord],
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Vec<Option<f64>>, LearnError> {
    let indicator = match signal == Signal::CERTITUDE {
        true => Indicator::Certainty,
        false => Indicator::Mastery,
    };
    let is_new = |record: &ProbeRecord| place_in_split(&record.question) < held_out;
    if let Some(first) = records.iter().find(|record| is_new(record)) {
        assessor.check(&first.fingerprint.model)?;
    }
    scores(records, is_new, progress, cancel, |questions| {
        let asked: Vec<_> = questions.iter().copied().map(from_memory).collect();
        let texts: Vec<&str> = questions.iter().map(|one| one.question).collect();
        let needs = assessor.needs(&texts, &asked.iter().collect::<Vec<_>>(), indicator)?;
        Ok(needs.into_iter().map(Some).collect())
    })
}

/// What a model that chooses its source makes of each record: `[records]`; `None` of those that it was
/// trained on, and of entries of the datastore, which would vote for themselves. `held_out` is the
/// share that it was not trained on.
///
/// # Errors
/// Records of another model, a model that fails, [`LearnError::Stopped`].
pub fn choice_scores(
    pipeline: &Pipeline,
    held_out: f64,
    entries: &[Entry],
    records: &[ProbeRecord],
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Vec<Option<f64>>, LearnError> {
    let recorded = records
        .iter()
        .map(|record| record.fingerprint.model.as_str());
    check_model(recorded, pipeline.model.fingerprint())?;
    let words = |question: &str| question.trim().to_lowercase();
    let entries: HashSet<String> = entries.iter().map(|entry| words(&entry.question)).collect();
    let is_new = |record: &ProbeRecord| {
        place_in_split(&record.question) < held_out && !entries.contains(&words(&record.question))
    };
    scores(records, is_new, progress, cancel, |questions| {
        let nothing = vec![Measurements::default(); questions.len()];
        let measured = pipeline.measure(&[Signal::SELF_ROUTE], questions, nothing)?;
        Ok(measured
            .iter()
            .map(|one| Signal::SELF_ROUTE.of(one))
            .collect())
    })
}

/// The share of questions that a model which chooses its source was not trained on, as its folder says.
///
/// # Errors
/// A file that is broken, or [`LearnError::UnknownSplit`].
pub fn untaught_share(folder: &Path) -> Result<f64, LearnError> {
    let held_out = Origin::read(folder)?.and_then(|origin| origin.held_out);
    held_out.ok_or_else(|| LearnError::UnknownSplit {
        folder: folder.to_owned(),
    })
}

/// Refuses records of another model.
///
/// # Errors
/// [`LearnError::OtherModel`].
pub fn check_model<'r>(
    recorded: impl IntoIterator<Item = &'r str>,
    received: &str,
) -> Result<(), LearnError> {
    let mut recorded = recorded.into_iter();
    match recorded.find(|recorded| !ken_storage::same_fingerprint(recorded, received)) {
        None => Ok(()),
        Some(expected) => Err(LearnError::OtherModel {
            expected: expected.to_owned(),
            received: received.to_owned(),
        }),
    }
}

/// What `score` says of the questions that are new to it, some at a time.
fn scores(
    records: &[ProbeRecord],
    is_new: impl Fn(&ProbeRecord) -> bool,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
    mut score: impl FnMut(&[QuestionPrompt<'_>]) -> Result<Vec<Option<f64>>, LearnError>,
) -> Result<Vec<Option<f64>>, LearnError> {
    let new: Vec<usize> = (0..records.len())
        .filter(|&at| is_new(&records[at]))
        .collect();
    let found = in_memory(&new, BATCH, progress, cancel, |batch| {
        let questions = batch.iter().map(|&at| records[at].prompt());
        score(&questions.collect::<Vec<_>>())
    })?;
    let mut scores = vec![None; records.len()];
    for (at, score) in new.into_iter().zip(found.ok_or(LearnError::Stopped)?) {
        scores[at] = score;
    }
    Ok(scores)
}
