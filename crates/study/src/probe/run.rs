//! Probing a set of questions, and what is refused before any sample is drawn.

use std::sync::atomic::AtomicBool;

use ken_answer::AnswerError;
use ken_probe::{Correctness, Grouping};

use super::record::ProbeRecord;
use super::sampled::Probe;
use crate::dataset::Question;
use crate::in_batches::{Stopped, Work, in_batches};
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
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum ProbeError {
    /// Nothing can be probed any more.
    #[error("cannot probe the question {id:?}: {source}")]
    #[diagnostic(forward)]
    Probe {
        /// The question at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The model that is to judge answers cannot tell how likely a word is.
    #[error("{wanted} asks a model how likely a word is, which this one does not tell")]
    #[diagnostic(
        remedy = "name another judge by <judge>, or use <correct> contains and <group> string"
    )]
    JudgeCannotScore {
        /// What needs it.
        wanted: String,
    },
    /// Answers are to be told apart by meaning, and no embedder was given.
    #[error("answers are grouped by meaning, and there is no embedder to tell it")]
    #[diagnostic(remedy = "name an embedder, or use <group> string")]
    NoEmbedder,
    /// The file holds a record of a question of this id with other words, golden answers or choices.
    #[error("the file of records has under the id {id:?} {recorded}")]
    #[diagnostic(remedy = "use the question file of that run, or name a new file by <out>")]
    OtherQuestion {
        /// The shared id.
        id: String,
        /// What the file has.
        recorded: String,
    },
    /// A record could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl From<Stopped> for ProbeError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Work { id, source } => Self::Probe { id, source },
            Stopped::Other { id, recorded } => Self::OtherQuestion { id, recorded },
            Stopped::Results(error) => Self::Results(error),
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
    let all: Vec<&Question> = questions.iter().collect();
    let work = Work {
        batch: &mut |questions| probe.batch(questions),
        failed: &|question, error| ProbeRecord::failed(question, error, probe.fingerprints()),
    };
    let mut done = |done| {
        progress(ProbeProgress {
            done,
            total: all.len(),
        });
    };
    in_batches(&all, results, batch, work, &mut done, cancel)?;
    let kept = questions.iter().filter_map(|q| results.get(&q.id));
    let records: Vec<ProbeRecord> = kept.cloned().collect();
    Ok(Probed {
        interrupted: records.len() < questions.len(),
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
