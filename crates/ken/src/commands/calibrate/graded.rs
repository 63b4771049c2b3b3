//! `ken calibrate` of a policy that chooses k: the thresholds between its values.

use ken_answer::{Policy, Signal};
use ken_policy::{Goal, GradedCalibration, Grades, calibrate_graded};
use ken_study::{ProbeRecord, observe_graded, probed_k, read_settings};
use serde_json::json;

use super::{Aside, flags_of, lost, percent};
use crate::arguments::calibrating::CalibrateArguments;
use crate::failure::{Failure, Result};
use crate::output::{self, share};
use crate::session::Session;

pub(super) fn run(
    arguments: &CalibrateArguments,
    (signal, scores): (Signal, &[Option<f64>]),
    grades: Grades,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<()> {
    let Some(always_k) = probed_k(&read_settings(&arguments.records)?) else {
        return Err(Failure::refused(
            "k_not_recorded",
            "the records do not tell how many search results they were probed with",
            "probe again with a corpus: ken probe QUESTIONS --corpus DIR --at-k 1,3",
        ));
    };
    let seed = session.settings.seed;
    let (observed, left_out) = observe_graded(records, (signal, scores), grades, always_k, seed)?;
    let aside = Aside {
        left_out,
        cannot_tell: observed.iter().filter(|one| one.score.is_nan()).count(),
    };
    let chosen = calibrate_graded(&observed, grades, always_k, arguments.goal());
    let policy = policy_of(signal, chosen.grades, always_k);
    if session.json {
        return output::json(&json!({
            "policy": format!("{signal}{grades}"),
            "calibrated": policy.to_string(),
            "grades": chosen.each.iter().map(|one| json!({
                "k": one.k,
                "least_probability": one.least_probability,
                "share": one.share,
                "memory_right": one.memory,
                "accuracy": one.accuracy,
                "always_accuracy": one.always,
            })).collect::<Vec<_>>(),
            "samples": arguments.samples,
            "mean_k": chosen.mean_k,
            "always_k": always_k,
            "retrieval_ratio": chosen.retrieval_ratio,
            "loss": { "estimate": chosen.loss, "bound": chosen.loss_bound },
            "accuracy": chosen.accuracy,
            "always_accuracy": chosen.always,
            "n": chosen.questions,
            "left_out": aside.left_out,
            "cannot_tell": aside.cannot_tell,
        }));
    }
    output::pairs([
        ("policy", format!("{signal}{grades}")),
        (
            "search results",
            format!("{:.2} on average, of {always_k}", chosen.mean_k),
        ),
        ("retrieval ratio", percent(chosen.retrieval_ratio)),
        (
            "accuracy",
            format!(
                "{}, always {}",
                percent(chosen.accuracy),
                percent(chosen.always)
            ),
        ),
        (
            "lost against always",
            lost(arguments, chosen.loss, chosen.loss_bound),
        ),
        ("questions", chosen.questions.to_string()),
    ])?;
    show_grades(&chosen)?;
    match (chosen.grades, arguments.goal()) {
        (Some(_), _) => {
            let flags = flags_of(arguments, policy, None, session.settings);
            output::line(format!(
                "to use it: ken ask --policy {policy} --k {always_k}{flags}"
            ))?;
        }
        (None, Goal::Guarantee { .. }) => output::line(format!(
            "The guarantee cannot be kept with {} questions: more of them, or a larger --max-loss, may do.",
            chosen.questions
        ))?,
        (None, _) => output::line(format!(
            "No thresholds between these values of k keep that: end with {always_k}."
        ))?,
    }
    aside.show()
}

/// What was chosen as a policy; without thresholds that keep what is wanted, everything is as always.
fn policy_of(signal: Signal, grades: Option<Grades>, always_k: usize) -> Policy {
    match grades.map(|grades| grades.used()) {
        None => Policy::Always,
        Some(Ok(grades)) => Policy::Graded { signal, grades },
        Some(Err(k)) if k == always_k => Policy::Always,
        Some(Err(k)) => Policy::AlwaysK(k),
    }
}

fn show_grades(chosen: &GradedCalibration) -> Result<()> {
    let Some(grades) = chosen.grades else {
        return Ok(());
    };
    let mut rows = vec![output::head(
        "k|where memory is right with|signal up to|questions|memory right|accuracy|always",
    )];
    let thresholds = grades.thresholds().unwrap_or_default();
    let last = thresholds.len();
    let each = chosen.each.iter().enumerate();
    for (place, one) in each.filter(|(place, one)| one.share > 0.0 || *place == last) {
        let threshold = thresholds.get(place).filter(|one| one.is_finite());
        rows.push(vec![
            one.k.to_string(),
            one.least_probability
                .map_or_else(|| "less".to_owned(), |least| format!("at least {least:.3}")),
            threshold.map_or_else(|| "-".to_owned(), f64::to_string),
            percent(one.share),
            share(one.memory),
            share(one.accuracy),
            share(one.always),
        ]);
    }
    output::table(&rows)
}
