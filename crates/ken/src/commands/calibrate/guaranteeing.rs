//! `ken calibrate --out`: the guarantee as a file, which a server watches.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ken_answer::{Policy, Signal};
use ken_policy::{
    CalibratedOn, Calibration, Goal, Guarantee, MeasuredLoss, Promise, Ranks, Review,
    disagreement_bound,
};
use ken_study::{Grounds, Observed, ProbeRecord, grounds};

use crate::arguments::calibrating::{CalibrateArguments, Calibrated};
use crate::failure::{Failure, Result};

/// Makes sure that a guarantee can be written for what is asked.
pub(super) fn check(arguments: &CalibrateArguments) -> Result<()> {
    match (&arguments.out, arguments.policy) {
        (Some(_), Calibrated::Both { .. } | Calibrated::Double(_) | Calibrated::Graded { .. }) => {
            Err(Failure::refused(
                "guaranteed_policy",
                "with --out, the policy has one threshold",
                "name one signal, such as --policy certainty",
            ))
        }
        _ => Ok(()),
    }
}

/// What is written, where it is promised.
pub(super) struct Promised {
    pub(super) policy: Policy,
    pub(super) promise: Promise,
    pub(super) confidence: f64,
    /// Whether answers are sampled for it.
    pub(super) samples: bool,
    /// The questions it was calibrated on.
    pub(super) questions: usize,
    pub(super) scores: Option<Ranks>,
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
    let on = grounds(records, scores, Some(threshold))?;
    let promised = Promised {
        policy: Policy::Measured {
            signal,
            threshold: Some(threshold),
            review: Review::Nothing,
        },
        promise: Promise::Loss {
            max_loss,
            measured: MeasuredLoss {
                retrieval_ratio: chosen.retrieval_ratio,
                loss: chosen.loss,
                loss_bound: chosen.loss_bound,
                disagreement: on.differing as f64 / chosen.questions as f64,
                disagreement_bound: disagreement_bound(on.differing, chosen.questions, confidence),
            },
        },
        confidence,
        samples: signal.is_of_samples(),
        questions: chosen.questions,
        scores: Ranks::of(observed.observations.iter().map(|one| one.score), seed),
    };
    write_promised(out, arguments, promised, on)
}

/// Writes what is promised of a model and a corpus.
pub(super) fn write_promised(
    out: &Path,
    arguments: &CalibrateArguments,
    promised: Promised,
    on: Grounds,
) -> Result<()> {
    let file = arguments.records.file_name().unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let guarantee = Guarantee {
        policy: promised.policy.to_string(),
        promise: promised.promise,
        confidence: promised.confidence,
        samples: promised.samples.then_some(arguments.samples.get()),
        calibrated_on: CalibratedOn {
            records: file.to_string_lossy().into_owned(),
            questions: promised.questions,
            model: on.model,
            corpus: on.corpus,
            created: now.map_or(0, |since| since.as_secs()),
        },
        scores: promised.scores,
    };
    Ok(guarantee.write(out)?)
}
