//! `ken calibrate --out`: the guarantee as a file, which a server watches.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ken_answer::{Policy, Signal};
use ken_route::{
    CalibratedOn, Calibration, Goal, Guarantee, Measured, Ranks, Review, disagreement_bound,
};
use ken_study::{Observed, ProbeRecord, grounds};

use crate::arguments::calibrating::{CalibrateArguments, Calibrated};
use crate::failure::{Failure, Result};

/// Makes sure that a guarantee can be written for what is asked.
pub(super) fn check(arguments: &CalibrateArguments) -> Result<()> {
    match (&arguments.out, arguments.policy) {
        (Some(_), Calibrated::Both { .. } | Calibrated::Graded { .. }) => Err(Failure::refused(
            "guaranteed_policy",
            "with --out, the policy has one threshold",
            "name one signal, such as --policy certainty",
        )),
        _ => Ok(()),
    }
}

/// Writes the guarantee of a threshold; equal scores are ordered by the seed.
pub(super) fn write(
    out: &Path,
    arguments: &CalibrateArguments,
    signal: Signal,
    chosen: &Calibration,
    (records, scores): (&[ProbeRecord], &[Option<f64>]),
    observed: &Observed,
    seed: u64,
) -> Result<()> {
    let Goal::Guarantee {
        max_loss,
        confidence,
    } = arguments.goal()
    else {
        // The parser requires it.
        return Ok(());
    };
    let Some(threshold) = chosen.threshold else {
        return Err(Failure::refused(
            "no_guarantee",
            format!(
                "{} cannot be written: no threshold keeps the guarantee with {} questions",
                out.display(),
                chosen.questions
            ),
            "probe more questions, or allow more with --max-loss; without --out the output says how many it takes",
        ));
    };
    let policy = Policy::Measured {
        signal,
        threshold: Some(threshold),
        review: Review::Nothing,
    };
    let on = grounds(records, scores, threshold)?;
    let file = arguments.records.file_name().unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let guarantee = Guarantee {
        policy: policy.to_string(),
        max_loss,
        confidence,
        samples: signal.is_of_samples().then_some(arguments.samples.get()),
        calibrated_on: CalibratedOn {
            records: file.to_string_lossy().into_owned(),
            questions: chosen.questions,
            model: on.model,
            corpus: on.corpus,
            created: now.map_or(0, |since| since.as_secs()),
        },
        measured: Measured {
            retrieval_ratio: chosen.retrieval_ratio,
            loss: chosen.loss,
            loss_bound: chosen.loss_bound,
            disagreement: on.differing as f64 / chosen.questions as f64,
            disagreement_bound: disagreement_bound(on.differing, chosen.questions, confidence),
        },
        scores: Ranks::of(observed.observations.iter().map(|one| one.score), seed),
    };
    Ok(guarantee.write(out)?)
}
