//! `ken calibrate --out`: the guarantee as a file, which a server watches.

use std::path::Path;

use ken_eval::{ProbeRecord, grounds};
use ken_policy::{
    CalibratedOn, Calibration, Goal, Guarantee, MeasuredError, MeasuredLoss, Promise, Ranks,
    Signal, disagreement_bound,
};

use super::{Chosen, is_of_two};
use crate::arguments::calibrate::CalibrateArguments;
use crate::failure::{Failure, Result};

/// Checks that a guarantee can be written for these arguments.
pub(super) fn check(arguments: &CalibrateArguments) -> Result<()> {
    let policy = &arguments.policy;
    if arguments.out.is_some() && (is_of_two(policy) || policy.is_graded()) {
        return Err(Failure::refused(
            "guaranteed_policy",
            "with --out, the policy has one threshold",
            "name one signal, such as --policy certainty",
        ));
    }
    Ok(())
}

/// Writes the promise for a model and a corpus; equal scores are ordered by the seed. `scores` are those of the
/// policy's signal.
pub(super) fn write(
    out: &Path,
    chosen: &Chosen<'_>,
    records: &[ProbeRecord],
    scores: &[Option<f64>],
) -> Result<()> {
    let Chosen {
        calibration,
        arguments,
        observed,
        session,
        ..
    } = chosen;
    let (goal, observations) = (arguments.goal(), &observed.observations);
    let threshold = calibration.policy.threshold();
    let is_kept = match goal {
        Goal::Errors { .. } => calibration.is_met,
        _ => threshold.is_some(),
    };
    if !is_kept {
        return Err(not_kept(out, goal, observations.len()));
    }
    let on = grounds(records, scores, threshold)?;
    // The parser requires a promise.
    let Some(promise) = promise(calibration, goal, on.differing) else {
        return Ok(());
    };
    let file = arguments.records.file_name().unwrap_or_default();
    let asked = arguments.policy.signals().chain(arguments.abstain);
    let is_sampled = asked.into_iter().any(Signal::is_of_samples);
    let ranks = || {
        let scores = observations.iter().map(|observation| observation.question);
        Ranks::of(scores, session.settings.seed)
    };
    let guarantee = Guarantee {
        policy: calibration.policy.to_string(),
        promise,
        confidence: goal.confidence(),
        samples: is_sampled.then_some(arguments.samples.get()),
        calibrated_on: CalibratedOn::now(
            file.to_string_lossy().into_owned(),
            observations.len(),
            on.model,
            on.corpus,
            on.prompt,
        ),
        // A policy that always retrieves measures no scores.
        scores: threshold.and_then(|_| ranks()),
    };
    Ok(guarantee.write(out)?)
}

/// The promise of a goal, if it has one, with its measurements. `differing` counts the questions that do not retrieve
/// and would be answered differently if they did.
fn promise(calibration: &Calibration, goal: Goal, differing: usize) -> Option<Promise> {
    Some(match goal {
        Goal::Errors { max_error, .. } => Promise::Error {
            abstain: calibration.abstain.map(|abstain| abstain.to_string()),
            max_error,
            measured: MeasuredError {
                questions: calibration.questions,
                answered: calibration.coverage(),
                from_memory: calibration.from_memory(),
                error: calibration.error(),
                error_bound: calibration.bound,
            },
        },
        Goal::Guarantee { max_loss, .. } => Promise::Loss {
            max_loss,
            measured: MeasuredLoss {
                retrieval_ratio: calibration.evidence_ratio(),
                loss: calibration.loss(),
                loss_bound: calibration.bound,
                disagreement: differing as f64 / calibration.questions as f64,
                disagreement_bound: disagreement_bound(
                    differing,
                    calibration.questions,
                    goal.confidence(),
                ),
            },
        },
        _ => return None,
    })
}

fn not_kept(out: &Path, goal: Goal, questions: usize) -> Failure {
    let out = out.display();
    let (why, remedy) = match goal {
        Goal::Errors { max_error, .. } => (
            format!(
                "at most {:.1}% wrong among the answers given cannot be promised with {questions} questions",
                100.0 * max_error
            ),
            "probe more questions, allow more with --max-error, or name other signals",
        ),
        _ => (
            format!("no threshold keeps the guarantee with {questions} questions"),
            "probe more questions, or allow more with --max-loss; without --out the output says how many it takes",
        ),
    };
    Failure::refused(
        "no_guarantee",
        format!("{out} cannot be written: {why}"),
        remedy,
    )
}
