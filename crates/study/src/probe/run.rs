//! The loop of probing: take the questions without a record, a batch at a time, and keep each
//! record as soon as there is one. Nothing is drawn here.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::AnswerError;
use ken_probe::{Correctness, Grouping};

use super::record::ProbeRecord;
use super::sampled::Probe;
use crate::dataset::Question;
use crate::results::{ResultsError, ResultsFile};

/// How far probing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeProgress {
    /// Questions with a record, those of an earlier run included.
    pub done: usize,
    /// Questions in all.
    pub total: usize,
}

/// Where probing ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Probed {
    /// The records in the order of the questions; fewer than the questions if interrupted.
    pub records: Vec<ProbeRecord>,
    /// Whether it was cancelled before the last question.
    pub interrupted: bool,
}

/// Why probing stopped. All records before it are in the file.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Nothing can be probed any more.
    #[error("cannot probe the question {id:?}: {source}")]
    Probe {
        /// The question at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The model that is to judge answers cannot tell how likely a word is.
    #[error("{wanted} asks a model how likely a word is, which this one does not tell")]
    JudgeCannotScore {
        /// What needs it.
        wanted: String,
    },
    /// Answers are to be told apart by meaning, and no embedder was given.
    #[error("answers are grouped by meaning, and there is no embedder to tell it")]
    NoEmbedder,
    /// The file holds a record of a question of this id with other words, golden answers or choices.
    #[error("the file of records has another question under the id {id:?}: {recorded:?}")]
    OtherQuestion {
        /// The shared id.
        id: String,
        /// The question in the file.
        recorded: String,
    },
    /// A record could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl ProbeError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Probe { source, .. } => source.kind(),
            Self::JudgeCannotScore { .. } => "judge_cannot_score",
            Self::NoEmbedder => "no_embedder",
            Self::OtherQuestion { .. } => "other_question",
            Self::Results(error) => error.kind(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Probe { source, .. } => source.hint(),
            Self::JudgeCannotScore { .. } => Some(
                "name another judge by --judge, or use --correct contains and --group string"
                    .to_owned(),
            ),
            Self::NoEmbedder => Some("name an embedder, or use --group string".to_owned()),
            Self::OtherQuestion { .. } => {
                Some("use the question file of that run, or name a new file".to_owned())
            }
            Self::Results(error) => error.hint(),
        }
    }
}

/// Probes every one of `questions` that `results` has no record of yet, `batch` at a time, and
/// keeps each record as soon as there is one. A question that itself cannot be probed, as one that
/// is too long, is kept as failed. `progress` is called once at the start and after each batch;
/// `cancel` is looked at before each, and when one fails: the model may be stopped by the same flag.
///
/// # Errors
/// What is asked of a judge or embedder that there is not; the first failure that other questions
/// would meet as well, or the first record that cannot be kept. Calling it again with the same file
/// goes on from there.
pub fn probe(
    probe: &Probe<'_>,
    questions: &[Question],
    results: &mut ResultsFile<ProbeRecord>,
    batch: usize,
    progress: &mut dyn FnMut(ProbeProgress),
    cancel: &AtomicBool,
) -> Result<Probed, ProbeError> {
    check(probe)?;
    let mut open = Vec::new();
    for question in questions {
        match results.get(&question.id) {
            None => open.push(question),
            Some(record) if record.is_of(question) => {}
            Some(record) => {
                return Err(ProbeError::OtherQuestion {
                    id: question.id.clone(),
                    recorded: record.question.clone(),
                });
            }
        }
    }
    let mut state = ProbeProgress {
        done: questions.len() - open.len(),
        total: questions.len(),
    };
    progress(state);
    let mut interrupted = false;
    for questions in open.chunks(batch.max(1)) {
        if cancel.load(Ordering::Relaxed) {
            interrupted = true;
            break;
        }
        match probe_each(probe, questions, results) {
            Ok(kept) => state.done += kept,
            Err(ProbeError::Probe { .. }) if cancel.load(Ordering::Relaxed) => {
                interrupted = true;
                break;
            }
            Err(error) => return Err(error),
        }
        progress(state);
    }
    let kept = questions.iter().filter_map(|q| results.get(&q.id));
    let records: Vec<ProbeRecord> = kept.cloned().collect();
    Ok(Probed {
        interrupted: interrupted || records.len() < questions.len(),
        records,
    })
}

/// Refuses what could only fail after the samples were paid for.
fn check(probe: &Probe<'_>) -> Result<(), ProbeError> {
    let scores = probe.judge.capabilities().score;
    if probe.correctness == Correctness::Judge && !scores {
        return Err(ProbeError::JudgeCannotScore {
            wanted: format!("--correct {}", probe.correctness),
        });
    }
    match probe.grouping {
        Grouping::Entailment if !scores => Err(ProbeError::JudgeCannotScore {
            wanted: format!("--group {}", probe.grouping),
        }),
        Grouping::Meaning { .. } if probe.embedder.is_none() => Err(ProbeError::NoEmbedder),
        _ => Ok(()),
    }
}

/// Probes questions at once, or one by one where one of them is at fault, and returns how many
/// records were kept.
fn probe_each(
    probe: &Probe<'_>,
    questions: &[&Question],
    results: &mut ResultsFile<ProbeRecord>,
) -> Result<usize, ProbeError> {
    let Some(first) = questions.first() else {
        return Ok(0);
    };
    let failed = |source: AnswerError| ProbeError::Probe {
        id: first.id.clone(),
        source: Box::new(source),
    };
    match probe.batch(questions) {
        Ok(records) => {
            let stopped = records.iter().any(Option::is_none);
            let mut kept = 0;
            for record in records.into_iter().flatten() {
                results.append(record)?;
                kept += 1;
            }
            if stopped {
                return Err(failed(AnswerError::Interrupted));
            }
            Ok(kept)
        }
        Err(error) if error.concerns_question() && questions.len() > 1 => {
            let mut kept = 0;
            for question in questions {
                kept += probe_each(probe, &[question], results)?;
            }
            Ok(kept)
        }
        Err(error) if error.concerns_question() => {
            results.append(ProbeRecord::failed(first, &error, probe.fingerprints()))?;
            Ok(1)
        }
        Err(error) => Err(failed(error)),
    }
}
