//! `ken calibrate --abstain`: the thresholds of a policy and of what withholds answers, chosen together.

use std::path::Path;

use ken_answer::{Abstention, Policy, Signal};
use ken_policy::{
    AbstentionCalibration, ErrorGoal, MeasuredError, Promise, Ranks, Review, calibrate_abstention,
};
use ken_study::{ProbeRecord, grounds, observe_abstaining};
use serde_json::json;

use super::guaranteeing::{Promised, write_promised};
use super::scores::{scores, scores_with_evidence};
use super::{Aside, percent, show_use};
use crate::arguments::calibrating::{CalibrateArguments, Calibrated};
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

pub(super) fn run(
    arguments: &CalibrateArguments,
    abstain: Signal,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<()> {
    let question = match arguments.policy {
        Calibrated::One(signal) if !signal.weighs_evidence() => signal,
        _ => {
            return Err(Failure::refused(
                "abstaining_policy",
                "with --abstain, the policy is one signal of the question",
                "name one, such as --policy uncertainty:perplexity; what is found is weighed by --abstain",
            ));
        }
    };
    let Some(goal) = arguments.error_goal(abstain) else {
        // The parser requires it.
        return Ok(());
    };
    // First what may take a corpus: without one, nothing is measured in vain.
    let of_answer = scores_with_evidence(arguments, abstain, records, session)?;
    let of_question = scores(arguments, question, records, session)?;
    let (observed, left_out) = observe_abstaining(
        records,
        (question, &of_question),
        (abstain, &of_answer),
        session.settings.seed,
    )?;
    let untold = observed
        .iter()
        .filter(|one| one.question.is_nan() || one.answer.is_nan());
    let aside = Aside {
        left_out,
        cannot_tell: untold.count(),
    };
    let found = calibrate_abstention(&observed, goal);
    let to_use = found.map(|found| used(&found, question, abstain));
    if let Some(out) = &arguments.out {
        let (Some(found), Some((policy, abstention))) = (found, to_use) else {
            return Err(not_kept(out, goal, observed.len()));
        };
        let memory = found.question;
        let scores = observed.iter().map(|one| one.question);
        let promised = Promised {
            policy,
            promise: Promise::Error {
                abstain: abstention.map(|abstain| abstain.to_string()),
                max_error: goal.max_error,
                measured: MeasuredError {
                    questions: found.questions,
                    answered: found.coverage,
                    from_memory: found.from_memory,
                    error: found.error,
                    error_bound: found.error_bound,
                },
            },
            confidence: goal.confidence,
            samples: [question, abstain].into_iter().any(Signal::is_of_samples),
            questions: observed.len(),
            // A policy that always retrieves measures none.
            scores: memory.and_then(|_| Ranks::of(scores, session.settings.seed)),
        };
        let on = grounds(records, &of_question, memory)?;
        write_promised(out, arguments, promised, on)?;
    }
    if session.json {
        return output::json(&json!({
            "policy": question.to_string(),
            "abstain": abstain.to_string(),
            "threshold": found.and_then(|one| one.question),
            "abstain_threshold": found.and_then(|one| one.answer),
            "is_kept": found.is_some(),
            "samples": arguments.samples,
            "answered": found.map(|one| one.coverage),
            "from_memory": found.map(|one| one.from_memory),
            "answered_wrong": found.map(|one| json!({ "estimate": one.error, "bound": one.error_bound })),
            "right_abstentions": found.and_then(|one| one.right_abstentions),
            "n": found.map_or(observed.len(), |one| one.questions),
            "left_out": aside.left_out,
            "cannot_tell": aside.cannot_tell,
        }));
    }
    let (Some(found), Some((policy, abstention))) = (found, to_use) else {
        output::line(format!(
            "At most {} wrong among the answers given cannot be promised with {} questions: more of them, a \
             larger --max-error, or other signals may do.",
            percent(goal.max_error),
            observed.len()
        ))?;
        return aside.show();
    };
    let threshold = |threshold: Option<f64>, rule: &str, without: &str| match threshold {
        Some(threshold) => format!("{threshold} ({rule})"),
        None => format!("none: {without}"),
    };
    let side = match abstain.weighs_evidence() {
        true => "above it an answer with evidence is given",
        false => "up to it an answer with evidence is given",
    };
    let right = found.right_abstentions;
    output::pairs([
        ("policy", question.to_string()),
        ("abstain", abstain.to_string()),
        (
            "threshold of the question",
            threshold(
                found.question,
                "up to it questions are answered from memory",
                "every question retrieves",
            ),
        ),
        (
            "threshold of the answer",
            threshold(found.answer, side, "every answer is given"),
        ),
        ("answered", percent(found.coverage)),
        ("from memory", percent(found.from_memory)),
        (
            "wrong among answered",
            format!(
                "{}, at most {} with confidence {}",
                percent(found.error),
                percent(found.error_bound),
                goal.confidence
            ),
        ),
        (
            "withheld answers that are wrong",
            right.map_or("none is withheld".to_owned(), percent),
        ),
        ("questions", found.questions.to_string()),
    ])?;
    show_use(arguments, policy, abstention, session.settings)?;
    if let Some(out) = &arguments.out {
        let abstain = abstention.map_or(String::new(), |one| format!(" --abstain {one}"));
        let out = out.display();
        output::line(format!(
            "to watch it: ken serve --policy {policy}{abstain} --calibration {out}"
        ))?;
    }
    aside.show()
}

/// The policy with its threshold, and what withholds answers, if anything does.
fn used(
    found: &AbstentionCalibration,
    question: Signal,
    abstain: Signal,
) -> (Policy, Option<Abstention>) {
    let policy = match found.question {
        Some(threshold) => Policy::Measured {
            signal: question,
            threshold: Some(threshold),
            review: Review::Nothing,
        },
        None => Policy::Always,
    };
    let abstention = found.answer.map(|threshold| Abstention {
        signal: abstain,
        threshold: Some(threshold),
    });
    (policy, abstention)
}

fn not_kept(out: &Path, goal: ErrorGoal, questions: usize) -> Failure {
    let (out, most) = (out.display(), percent(goal.max_error));
    Failure::refused(
        "no_guarantee",
        format!(
            "{out} cannot be written: at most {most} wrong among the answers given cannot be promised with \
             {questions} questions"
        ),
        "probe more questions, allow more with --max-error, or name other signals",
    )
}
