//! `ken calibrate`: the threshold of a policy, or both of its thresholds, chosen on probed questions.

mod abstaining;
mod graded;
mod guaranteeing;
mod scores;

use ken_answer::{Abstention, Policy, RoutingModel, Signal};
use ken_policy::{
    Calibration, Goal, JointCalibration, JointObservation, Review, calibrate, calibrate_double,
    calibrate_jointly,
};
use ken_setup::Settings;
use ken_study::{Observed, ProbeRecord, is_held_out, observe, observe_jointly, read_results};
use serde_json::json;

use self::scores::{scores, scores_with_evidence};
use crate::arguments::calibrating::{CalibrateArguments, Calibrated};
use crate::failure::Result;
use crate::output;
use crate::session::Session;

pub(crate) fn run(arguments: &CalibrateArguments, session: &Session<'_>) -> Result<()> {
    guaranteeing::check(arguments)?;
    let mut records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    if let Some(share) = arguments.held_out {
        records.retain(|record| !is_held_out(record, share));
    }
    if let Some(abstain) = arguments.abstain {
        return abstaining::run(arguments, abstain, &records, session);
    }
    match arguments.policy {
        Calibrated::One(signal) => {
            let scores = scores(arguments, signal, &records, session)?;
            let observed = observe(&records, signal, &scores)?;
            let chosen = calibrate(&observed.observations, arguments.goal());
            if let Some(out) = &arguments.out {
                let of = (records.as_slice(), scores.as_slice());
                let seed = session.settings.seed;
                guaranteeing::write(out, arguments, signal, &chosen, of, &observed, seed)?;
            }
            show_one(arguments, signal, &chosen, &observed, session)
        }
        Calibrated::Both { question, evidence } => {
            let of_question = scores(arguments, question, &records, session)?;
            let of_evidence = scores(arguments, evidence, &records, session)?;
            let (observed, left_out) = observe_jointly(
                &records,
                (question, &of_question),
                (evidence, &of_evidence),
                session.settings.seed,
            )?;
            let chosen = calibrate_jointly(&observed, (None, None), arguments.goal());
            let aside = Aside::of_both(&observed, left_out);
            show_both(arguments, [question, evidence], &chosen, aside, session)
        }
        Calibrated::Double(signal) => {
            // First what takes a corpus: without one, nothing is measured in vain.
            let with = scores_with_evidence(arguments, signal, &records, session)?;
            let without = scores(arguments, signal, &records, session)?;
            let (observed, left_out) = observe_jointly(
                &records,
                (signal, &without),
                (signal, &with),
                session.settings.seed,
            )?;
            let chosen = calibrate_double(&observed, arguments.goal());
            let aside = Aside::of_both(&observed, left_out);
            show_double(arguments, signal, &chosen, aside, session)
        }
        Calibrated::Graded { signal, grades } => {
            let scores = scores(arguments, signal, &records, session)?;
            graded::run(arguments, (signal, &scores), grades, &records, session)
        }
    }
}

fn show_one(
    arguments: &CalibrateArguments,
    signal: Signal,
    chosen: &Calibration,
    observed: &Observed,
    session: &Session<'_>,
) -> Result<()> {
    let auroc = observed.auroc();
    if session.json {
        return output::json(&json!({
            "policy": signal.to_string(),
            "threshold": chosen.threshold,
            "samples": arguments.samples,
            "retrieval_ratio": chosen.retrieval_ratio,
            "loss": { "estimate": chosen.loss, "bound": chosen.loss_bound },
            "accuracy": chosen.accuracy,
            "auroc": auroc,
            "n": chosen.questions,
            "left_out": observed.left_out,
            "cannot_tell": observed.cannot_tell(),
            "needed": chosen.needed,
        }));
    }
    let (above, ratio) = match signal.weighs_evidence() {
        true => ("evidence above it is used", "evidence used"),
        false => ("questions above it retrieve", "retrieval ratio"),
    };
    let threshold = match chosen.threshold {
        Some(threshold) => format!("{threshold} ({above})"),
        None => "none: every question needs its evidence".to_owned(),
    };
    let auroc = auroc.map_or("undefined".to_owned(), |area| format!("{area:.3}"));
    output::pairs([
        ("policy", signal.to_string()),
        ("threshold", threshold),
        (ratio, percent(chosen.retrieval_ratio)),
        ("accuracy", percent(chosen.accuracy)),
        (
            "lost against always",
            lost(arguments, chosen.loss, chosen.loss_bound),
        ),
        ("AUROC of \"retrieval helps\"", auroc),
        ("questions", chosen.questions.to_string()),
    ])?;
    if let Some(threshold) = chosen.threshold {
        let policy = Policy::Measured {
            signal,
            threshold: Some(threshold),
            review: Review::Nothing,
        };
        show_use(arguments, policy, None, session.settings)?;
        if let Some(out) = &arguments.out {
            let out = out.display();
            output::line(format!(
                "to watch it: ken serve --policy {policy} --calibration {out}"
            ))?;
        }
    }
    let aside = Aside {
        left_out: observed.left_out,
        cannot_tell: observed.cannot_tell(),
    };
    aside.show()?;
    if let (Goal::Guarantee { .. }, None) = (arguments.goal(), chosen.threshold) {
        output::line(match chosen.needed {
            Some(needed) => format!(
                "The guarantee cannot be kept with {} questions; about {needed} like these would be needed.",
                chosen.questions
            ),
            None => {
                "The guarantee cannot be kept with any number of questions like these.".to_owned()
            }
        })?;
    }
    Ok(())
}

fn show_both(
    arguments: &CalibrateArguments,
    [question, evidence]: [Signal; 2],
    chosen: &JointCalibration,
    aside: Aside,
    session: &Session<'_>,
) -> Result<()> {
    let policy = format!("{question}+{evidence}");
    let threshold = |threshold: Option<f64>, above: &str, all: &str| match threshold {
        Some(threshold) => format!("{threshold} ({above})"),
        None => format!("none: {all}"),
    };
    let questions = threshold(
        chosen.question,
        "questions above it retrieve",
        "every question retrieves",
    );
    let used = threshold(
        chosen.evidence,
        "evidence above it is used",
        "all evidence is used",
    );
    let thresholds = [
        ("threshold of the question", questions),
        ("threshold of the evidence", used),
    ];
    let to_use = match (chosen.question, chosen.evidence) {
        (Some(threshold), gate) => Some(Policy::Measured {
            signal: question,
            threshold: Some(threshold),
            review: gate.map_or(Review::Nothing, |gate| Review::Gate {
                signal: evidence,
                threshold: Some(gate),
            }),
        }),
        (None, Some(gate)) => Some(Policy::Measured {
            signal: evidence,
            threshold: Some(gate),
            review: Review::Nothing,
        }),
        (None, None) => None,
    };
    let of = (policy, &thresholds[..], to_use);
    show_jointly(arguments, of, chosen, aside, session)
}

fn show_double(
    arguments: &CalibrateArguments,
    signal: Signal,
    chosen: &JointCalibration,
    aside: Aside,
    session: &Session<'_>,
) -> Result<()> {
    let threshold = match chosen.question {
        Some(threshold) => format!(
            "{threshold} (questions above it retrieve; evidence is used where they are not, once it is read)"
        ),
        None => "none: every question needs its evidence".to_owned(),
    };
    let to_use = chosen.question.map(|threshold| Policy::Measured {
        signal,
        threshold: Some(threshold),
        review: Review::Double,
    });
    let thresholds = [("threshold", threshold)];
    let of = (format!("{signal}+double"), &thresholds[..], to_use);
    show_jointly(arguments, of, chosen, aside, session)
}

/// Shows the thresholds of a policy that judges the question and its evidence, and what they do.
fn show_jointly(
    arguments: &CalibrateArguments,
    (policy, thresholds, to_use): (String, &[(&str, String)], Option<Policy>),
    chosen: &JointCalibration,
    aside: Aside,
    session: &Session<'_>,
) -> Result<()> {
    if session.json {
        return output::json(&json!({
            "policy": policy,
            "threshold": chosen.question,
            "evidence_threshold": chosen.evidence,
            "samples": arguments.samples,
            "retrieval_ratio": chosen.retrieval_ratio,
            "evidence_ratio": chosen.evidence_ratio,
            "loss": { "estimate": chosen.loss, "bound": chosen.loss_bound },
            "accuracy": chosen.accuracy,
            "n": chosen.questions,
            "left_out": aside.left_out,
            "cannot_tell": aside.cannot_tell,
        }));
    }
    let mut rows = vec![("policy", policy)];
    rows.extend(thresholds.iter().cloned());
    rows.extend([
        ("retrieval ratio", percent(chosen.retrieval_ratio)),
        ("evidence used", percent(chosen.evidence_ratio)),
        ("accuracy", percent(chosen.accuracy)),
        (
            "lost against always",
            lost(arguments, chosen.loss, chosen.loss_bound),
        ),
        ("questions", chosen.questions.to_string()),
    ]);
    output::pairs(rows)?;
    match (to_use, arguments.goal()) {
        (Some(policy), _) => show_use(arguments, policy, None, session.settings)?,
        (None, Goal::Guarantee { .. }) => output::line(format!(
            "The guarantee cannot be kept with {} questions.",
            chosen.questions
        ))?,
        (None, _) => {}
    }
    aside.show()
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn lost(arguments: &CalibrateArguments, loss: f64, bound: f64) -> String {
    let confidence = match arguments.goal() {
        Goal::Guarantee { confidence, .. } => confidence,
        _ => ken_policy::CONFIDENCE,
    };
    let (loss, bound) = (percent(loss), percent(bound));
    format!("{loss}, at most {bound} with confidence {confidence}")
}

/// Questions that have no say in a threshold.
#[derive(Clone, Copy)]
struct Aside {
    /// Those that could not be used.
    left_out: usize,
    /// Those that count, and of which a signal cannot tell.
    cannot_tell: usize,
}

impl Aside {
    fn of_both(observed: &[JointObservation], left_out: usize) -> Self {
        let untold = |one: &&JointObservation| one.question.is_nan() || one.evidence.is_nan();
        Self {
            left_out,
            cannot_tell: observed.iter().filter(untold).count(),
        }
    }

    fn show(self) -> Result<()> {
        if self.left_out > 0 {
            output::line(format!("{} questions could not be used", self.left_out))?;
        }
        if self.cannot_tell > 0 {
            let count = self.cannot_tell;
            output::line(format!(
                "of {count} questions a signal cannot tell: the careful side is taken at every threshold"
            ))?;
        }
        Ok(())
    }
}

/// The flags under which a policy is used, and what withholds answers.
fn show_use(
    arguments: &CalibrateArguments,
    policy: Policy,
    abstain: Option<Abstention>,
    settings: &Settings,
) -> Result<()> {
    let flags = flags_of(arguments, policy, abstain, settings);
    output::line(format!("to use it: ken ask --policy {policy}{flags}"))
}

fn flags_of(
    arguments: &CalibrateArguments,
    policy: Policy,
    abstain: Option<Abstention>,
    settings: &Settings,
) -> String {
    let signals = || {
        let own = policy.signals();
        own.chain(abstain.map(|abstain| abstain.signal))
    };
    let samples = match signals().any(Signal::is_of_samples) {
        true => format!(" --samples {}", arguments.samples),
        false => String::new(),
    };
    let flag = |model: RoutingModel| {
        let path = match model {
            RoutingModel::Router => settings.router.as_ref(),
            RoutingModel::Assessor => settings.kbm.as_ref(),
            RoutingModel::Datastore => settings.datastore.as_ref(),
            RoutingModel::Gate => settings.gate.as_ref(),
        };
        path.map(|path| format!(" --{} {}", model.setting(), path.display()))
    };
    let models: Vec<RoutingModel> = signals().filter_map(|one| one.told_by).collect();
    let mut flags: Vec<String> = models.iter().filter_map(|model| flag(*model)).collect();
    if models.contains(&RoutingModel::Router) {
        flags.extend(flag(RoutingModel::Assessor));
    }
    let flags = flags.concat();
    let abstain = abstain.map_or(String::new(), |abstain| format!(" --abstain {abstain}"));
    format!("{abstain}{samples}{flags}")
}
