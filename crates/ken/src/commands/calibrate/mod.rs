//! `ken calibrate`: the threshold of a policy, or both of its thresholds, chosen on probed questions.

mod abstaining;
mod graded;
mod guaranteeing;

use ken_answer::{Abstention, Datastore, Policy, Representation, RoutingModel, Signal};
use ken_route::{
    Calibration, Goal, Input, JointCalibration, Review, Score, calibrate, calibrate_jointly,
};
use ken_setup::Settings;
use ken_study::learn::gate::gate_scores;
use ken_study::learn::{assessor_scores, choice_scores, router_scores, taught};
use ken_study::{
    Observed, ProbeRecord, check_sampling, is_held_out, observe, observe_jointly, read_results,
    read_settings, signal_scores,
};
use serde_json::json;

use crate::arguments::calibrating::{CalibrateArguments, Calibrated};
use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::counting;
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
            show_both(arguments, [question, evidence], &chosen, left_out, session)
        }
        Calibrated::Graded { signal, grades } => {
            let scores = scores(arguments, signal, &records, session)?;
            graded::run(arguments, (signal, &scores), grades, &records, session)
        }
    }
}

/// A signal of each record, from what was probed or by what was trained.
fn scores(
    arguments: &CalibrateArguments,
    signal: Signal,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<Vec<Option<f64>>> {
    match signal.told_by {
        Some(RoutingModel::Router) => by_router(records, session),
        Some(RoutingModel::Assessor) => {
            let assessor = session.setup().assessor()?;
            let taught = taught_kbm(session)?;
            let mut progress = counting("assessed");
            let stop = session.stop;
            Ok(assessor_scores(
                &assessor,
                &taught,
                signal,
                records,
                &mut progress,
                stop,
            )?)
        }
        Some(RoutingModel::Datastore) => by_choice(arguments.goal(), records, session),
        Some(RoutingModel::Gate) => Ok(gate_scores(&session.setup().gate()?, records)?),
        None => {
            if signal.is_of_samples() {
                check_sampling(&read_settings(&arguments.records)?)?;
            }
            Ok(signal_scores(records, signal, arguments.samples.get())?)
        }
    }
}

/// The digests of the questions that the kbm model of the settings was taught.
fn taught_kbm(session: &Session<'_>) -> Result<Vec<u64>> {
    Ok(match &session.settings.kbm {
        Some(folder) => taught(folder)?.questions,
        None => Vec::new(),
    })
}

/// What the router of the settings says of recorded questions.
fn by_router(records: &[ProbeRecord], session: &Session<'_>) -> Result<Vec<Option<f64>>> {
    let setup = session.setup();
    let head = setup.router()?;
    let assessor = match head.input {
        Input::FirstTokenAndMastery => Some(setup.assessor()?),
        _ => None,
    };
    let taught = match assessor {
        Some(_) => taught_kbm(session)?,
        None => Vec::new(),
    };
    let score = |by, label| {
        let mut progress = counting(label);
        router_scores(&head, by, &taught, records, &mut progress, session.stop)
    };
    Ok(match head.input {
        Input::HiddenState { .. } | Input::FirstToken | Input::FirstTokenAndMastery => {
            let model = setup.language_model()?;
            let assessor = assessor.as_ref();
            score(
                Representation::of(head.input, model.as_ref(), None, assessor)?,
                "read",
            )?
        }
        Input::Words => {
            let vocabulary = head.vocabulary.clone().unwrap_or_default();
            score(Representation::Words(&vocabulary), "counted")?
        }
        _ => {
            let embedder = setup.question_embedder()?;
            score(Representation::Embedding(embedder.as_ref()), "embedded")?
        }
    })
}

/// What the model of the settings makes of recorded questions, if it was trained to choose its source.
///
/// # Errors
/// A guarantee for answers that are written otherwise than those that were probed.
fn by_choice(
    goal: Goal,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<Vec<Option<f64>>> {
    let settings = session.settings;
    let policy = Policy::measured(Signal::SELF_ROUTE);
    let pipeline = session.setup().pipeline_for(None, false, &[policy])?;
    if matches!(goal, Goal::Guarantee { .. }) && pipeline.verbalizes() {
        return Err(Failure::refused(
            "verbalized_guarantee",
            "a guarantee is about answers as they were probed, and this model answers from what it has written of what it knows",
            "choose a threshold by --measured-loss, and see what it does by `ken eval QUESTIONS --policy self-route@T`; or train the model with --no-verbalization",
        ));
    }
    let taught = taught(&session.setup().trained_folder()?)?.questions;
    let datastore = settings
        .datastore
        .as_ref()
        .map(|folder| Datastore::open(folder))
        .transpose()?;
    let entries = datastore.as_ref().map_or(&[][..], Datastore::entries);
    let mut progress = counting("chosen");
    Ok(choice_scores(
        &pipeline,
        &taught,
        entries,
        records,
        &mut progress,
        session.stop,
    )?)
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
    show_left_out(observed.left_out)?;
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
    left_out: usize,
    session: &Session<'_>,
) -> Result<()> {
    let policy = format!("{question}+{evidence}");
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
            "left_out": left_out,
        }));
    }
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
    output::pairs([
        ("policy", policy),
        ("threshold of the question", questions),
        ("threshold of the evidence", used),
        ("retrieval ratio", percent(chosen.retrieval_ratio)),
        ("evidence used", percent(chosen.evidence_ratio)),
        ("accuracy", percent(chosen.accuracy)),
        (
            "lost against always",
            lost(arguments, chosen.loss, chosen.loss_bound),
        ),
        ("questions", chosen.questions.to_string()),
    ])?;
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
    match (to_use, arguments.goal()) {
        (Some(policy), _) => show_use(arguments, policy, None, session.settings)?,
        (None, Goal::Guarantee { .. }) => output::line(format!(
            "The guarantee cannot be kept with {} questions.",
            chosen.questions
        ))?,
        (None, _) => {}
    }
    show_left_out(left_out)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn lost(arguments: &CalibrateArguments, loss: f64, bound: f64) -> String {
    let confidence = match arguments.goal() {
        Goal::Guarantee { confidence, .. } => confidence,
        _ => ken_route::CONFIDENCE,
    };
    let (loss, bound) = (percent(loss), percent(bound));
    format!("{loss}, at most {bound} with confidence {confidence}")
}

fn show_left_out(left_out: usize) -> Result<()> {
    match left_out {
        0 => Ok(()),
        left_out => output::line(format!("{left_out} questions could not be used")),
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
