//! Probing a set of questions, with checks before any sample is drawn. `crate::run` has the loop.

use ken_probe::{Correctness, Grouping};

use super::batch::Probe;
use super::record::ProbeRecord;
use crate::dataset::Question;
use crate::results::ResultsFile;
use crate::run::{Outcome, Run, RunError, Work};

/// Probes the questions without a record in `results`, and appends each record as soon as it exists. A question that
/// cannot be probed, such as one that is too long, gets a record of failure.
///
/// # Errors
/// A judge or embedder that is needed but missing; those of a [`Run`].
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

/// Refuses settings that would only fail after the samples were paid for.
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
