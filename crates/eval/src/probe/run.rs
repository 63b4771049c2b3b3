//! Probing a set of questions, and what is refused before any sample is drawn. The loop is in
//! `crate::run`.

use ken_probe::{Correctness, Grouping};

use super::batch::Probe;
use super::record::ProbeRecord;
use crate::dataset::Question;
use crate::results::ResultsFile;
use crate::run::{Outcome, Run, RunError, Work};

/// Probes every one of `questions` that `results` has no record of yet, and keeps each record as soon
/// as there is one. A question that itself cannot be probed, as one that is too long, is kept as
/// failed.
///
/// # Errors
/// What is asked of a judge or embedder that there is not; those of a [`Run`].
pub fn probe(
    probe: &Probe<'_>,
    questions: &[Question],
    results: &mut ResultsFile<ProbeRecord>,
    mut run: Run<'_>,
) -> Result<Outcome<ProbeRecord>, RunError> {
    check(probe)?;
    let work = Work {
        batch: &mut |questions| probe.batch(questions),
        failed: &|question, error| ProbeRecord::failed(question, error, probe.fingerprints()),
        is_complete: &|_| true,
    };
    run.keep(questions, results, work)
}

/// Refuses what could only fail after the samples were paid for.
fn check(probe: &Probe<'_>) -> Result<(), RunError> {
    let scores = probe.judge.capabilities().score;
    if probe.correctness == Correctness::Judge && !scores {
        return Err(RunError::JudgeCannotScore {
            option: format!("--correct {}", probe.correctness),
        });
    }
    match probe.grouping {
        Grouping::Entailment if !scores => Err(RunError::JudgeCannotScore {
            option: format!("--group {}", probe.grouping),
        }),
        Grouping::Meaning { .. } if probe.embedder.is_none() => Err(RunError::NoEmbedder),
        _ => Ok(()),
    }
}
