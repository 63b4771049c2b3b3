//! Scores of routing models for recorded questions that they did not learn from. Thresholds are chosen on these
//! scores.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_answer::datastore::Entry;
use ken_answer::prompt::{Indicator, from_evidence, from_memory};
use ken_answer::{
    Assessor, Measurements, Pipeline, QuestionPrompt, Representation, Signal, fits, represent,
};
use ken_eval::probe::{ProbeRecord, ProbedEvidence};
use ken_eval::run::in_memory;
use ken_eval::split::{AboutSubject, untaught};
use ken_language::Prompt;
use ken_model::decoder::Origin;
use ken_policy::{Head, is_among};

use super::error::LearnError;
use super::router::router_labels;
use super::target::Target;

/// Questions per batch of a model.
const BATCH: usize = 32;

/// The vectors of questions: `[questions][dimensions]`. `progress` receives how many are done, and the total.
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

/// The score of a router for each record, NaN if it cannot tell: `[records]`; `None` for records on a subject that
/// the router, or its assessor, was trained on. `by` is what the router takes; `taught` are the digests of the
/// questions that its assessor, if any, was trained on, ascending.
///
/// # Errors
/// Records of several models; a router of another model or embedder; a model that fails;
/// [`LearnError::Stopped`].
pub fn router_scores(
    head: &Head,
    by: Representation<'_>,
    taught: &[u64],
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
    let is_taught =
        |record: &ProbeRecord| head.knows(&record.question) || is_among(taught, &record.question);
    scores(records, is_taught, progress, cancel, |batch| {
        let vectors = represent(by, &prompts(batch))?;
        let score = |vector: &Vec<f32>| {
            let need = head.apply(vector)?;
            Some(if by.says_something(vector) {
                need
            } else {
                f64::NAN
            })
        };
        Ok(vectors.iter().map(score).collect())
    })
}

/// The score of an assessor for each record, from memory or with the evidence of the probe, NaN if it cannot tell:
/// `[records]`; `None` for records on a subject that it was trained on (`taught` are the digests of its questions,
/// ascending), and for those whose evidence is not found again.
///
/// # Errors
/// Records of another model than the assessed one, an assessor that was trained without evidence but is asked about
/// some, a search or a model that fails, [`LearnError::Stopped`].
pub fn assessor_scores(
    assessor: &Assessor,
    taught: &[u64],
    signal: Signal,
    evidence: Option<ProbedEvidence<'_>>,
    records: &[ProbeRecord],
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
) -> Result<Vec<Option<f64>>, LearnError> {
    let indicator = match signal == Signal::CERTITUDE {
        true => Indicator::Certainty,
        false => Indicator::Mastery,
    };
    if let Some(first) = records.first() {
        assessor.check(&first.fingerprint.model)?;
    }
    if evidence.is_some() {
        assessor.check_evidence(signal)?;
    }
    let is_taught = |record: &ProbeRecord| is_among(taught, &record.question);
    scores(records, is_taught, progress, cancel, |batch| {
        let mut asked = Vec::with_capacity(batch.len());
        for record in batch {
            asked.push(match evidence {
                None => Some(from_memory(record.prompt())),
                Some(evidence) => evidence
                    .of(record)?
                    .map(|found| from_evidence(record.prompt(), &found.iter().collect::<Vec<_>>())),
            });
        }
        let pairs = batch.iter().zip(&asked);
        let (texts, prompts): (Vec<&str>, Vec<&Prompt>) = pairs
            .filter_map(|(record, prompt)| Some((record.question.as_str(), prompt.as_ref()?)))
            .unzip();
        let mut needs = assessor.needs(&texts, &prompts, indicator)?.into_iter();
        Ok(asked
            .iter()
            .map(|prompt| prompt.as_ref().and_then(|_| needs.next()))
            .collect())
    })
}

/// The score of a model that chooses its source for each record: `[records]`; `None` for records on a subject that it
/// was trained on (`taught` are the digests of its questions, ascending), or that has an entry in the datastore,
/// which would vote for itself.
///
/// # Errors
/// Records of another model, a model that fails, [`LearnError::Stopped`].
pub fn choice_scores(
    pipeline: &Pipeline,
    taught: &[u64],
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
    let is_taught = |record: &ProbeRecord| {
        is_among(taught, &record.question) || entries.contains(&words(&record.question))
    };
    scores(records, is_taught, progress, cancel, |batch| {
        let nothing = vec![Measurements::default(); batch.len()];
        let measured = pipeline.measure(&[Signal::SELF_ROUTE], &prompts(batch), nothing)?;
        Ok(measured
            .iter()
            .map(|measurements| Signal::SELF_ROUTE.of(measurements).recorded())
            .collect())
    })
}

/// The questions that a model with self-routing, or an assessor, was taught.
#[derive(Debug, Clone, PartialEq)]
pub struct Taught {
    /// The digests of the questions, ascending.
    pub questions: Vec<u64>,
    /// The share of all questions that was held out.
    pub held_out: f64,
}

/// What the model in a folder was taught, according to the folder.
///
/// # Errors
/// A broken file, or [`LearnError::UnknownSplit`].
pub fn taught(folder: &Path) -> Result<Taught, LearnError> {
    let unknown = || LearnError::UnknownSplit {
        folder: folder.to_owned(),
    };
    let origin = Origin::read(folder)?.ok_or_else(unknown)?;
    let of_boundary = origin.boundary.as_ref().map(|boundary| boundary.held_out);
    Ok(Taught {
        held_out: origin.held_out.or(of_boundary).ok_or_else(unknown)?,
        questions: origin.learned_from,
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
    match recorded.find(|recorded| *recorded != received) {
        None => Ok(()),
        Some(expected) => Err(LearnError::OtherModel {
            expected: expected.to_owned(),
            received: received.to_owned(),
        }),
    }
}

fn prompts<'r>(records: &[&'r ProbeRecord]) -> Vec<QuestionPrompt<'r>> {
    records.iter().map(|record| record.prompt()).collect()
}

/// Scores the questions on subjects that a model was not taught, in batches.
fn scores(
    records: &[ProbeRecord],
    is_taught: impl Fn(&ProbeRecord) -> bool,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
    mut score: impl FnMut(&[&ProbeRecord]) -> Result<Vec<Option<f64>>, LearnError>,
) -> Result<Vec<Option<f64>>, LearnError> {
    let untaught = untaught(records, AboutSubject::subject, is_taught);
    let new: Vec<usize> = (0..records.len())
        .filter(|&index| untaught[index])
        .collect();
    let scored = in_memory(&new, BATCH, progress, cancel, |batch| {
        let batch = batch.iter().map(|&at| &records[at]);
        score(&batch.collect::<Vec<_>>())
    })?;
    let mut scores = vec![None; records.len()];
    for (index, score) in new.into_iter().zip(scored.ok_or(LearnError::Stopped)?) {
        scores[index] = score;
    }
    Ok(scores)
}
