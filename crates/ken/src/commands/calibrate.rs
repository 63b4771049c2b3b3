//! `ken calibrate`: the threshold of a policy, chosen on probed questions.

use std::path::PathBuf;

use ken_answer::{Datastore, Policy, Representation, RoutingModel, Signal};
use ken_route::{Calibration, Goal, Input, calibrate};
use ken_setup::Settings;
use ken_study::learn::{assessor_scores, choice_scores, router_scores, untaught_share};
use ken_study::{
    ProbeRecord, check_sampling, observe, observe_scored, read_results, read_settings,
};
use serde_json::json;

use crate::arguments::calibrating::CalibrateArguments;
use crate::failure::Result;
use crate::output;
use crate::progress::counting;
use crate::session::Session;

pub(crate) fn run(arguments: &CalibrateArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<ProbeRecord> = read_results(&arguments.records)?;
    let signal = arguments.policy;
    let observed = match signal.told_by {
        Some(model) => {
            let scores = match model {
                RoutingModel::Router => by_router(&records, session)?,
                RoutingModel::Assessor => {
                    let (assessor, held_out) = session.setup().assessor()?;
                    let mut progress = counting("assessed");
                    let stop = session.stop;
                    assessor_scores(&assessor, held_out, signal, &records, &mut progress, stop)?
                }
                RoutingModel::Datastore => by_choice(&records, session)?,
            };
            observe_scored(&records, signal, &scores)?
        }
        None => {
            if signal.is_of_samples() {
                check_sampling(&read_settings(&arguments.records)?)?;
            }
            observe(&records, signal, arguments.samples.get())?
        }
    };
    let goal = arguments.goal();
    let chosen = calibrate(&observed.observations, goal);
    let auroc = observed.auroc();
    if session.json {
        return output::json(&json!({
            "policy": arguments.policy.to_string(),
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
    show(
        arguments,
        session.settings,
        goal,
        &chosen,
        auroc,
        observed.left_out,
    )
}

/// What the router of the settings says of recorded questions.
fn by_router(records: &[ProbeRecord], session: &Session<'_>) -> Result<Vec<Option<f64>>> {
    let setup = session.setup();
    let head = setup.router()?;
    let assessor = match head.input {
        Input::FirstTokenAndMastery => Some(setup.assessor()?),
        _ => None,
    };
    let held_out = assessor.as_ref().map(|(_, held_out)| *held_out);
    let score = |by, label| {
        let mut progress = counting(label);
        router_scores(&head, by, held_out, records, &mut progress, session.stop)
    };
    Ok(match head.input {
        Input::HiddenState { .. } | Input::FirstToken | Input::FirstTokenAndMastery => {
            let model = setup.language_model()?;
            let assessor = assessor.as_ref().map(|(assessor, _)| assessor);
            score(
                Representation::of(head.input, model.as_ref(), None, assessor)?,
                "read",
            )?
        }
        _ => {
            let embedder = setup.question_embedder()?;
            score(Representation::Embedding(embedder.as_ref()), "embedded")?
        }
    })
}

/// What the model of the settings makes of recorded questions, if it was trained to choose its source.
fn by_choice(records: &[ProbeRecord], session: &Session<'_>) -> Result<Vec<Option<f64>>> {
    let settings = session.settings;
    let policy = Policy::measured(Signal::SELF_ROUTE);
    let pipeline = session.setup().pipeline_for(None, false, &[policy])?;
    let folder = match &settings.adapter {
        Some(adapter) => adapter.clone(),
        None => session.setup().fetched(&settings.model)?,
    };
    let held_out = untaught_share(&folder)?;
    let datastore = settings
        .datastore
        .as_ref()
        .map(|folder| Datastore::open(folder))
        .transpose()?;
    let entries = datastore.as_ref().map_or(&[][..], Datastore::entries);
    let mut progress = counting("chosen");
    Ok(choice_scores(
        &pipeline,
        held_out,
        entries,
        records,
        &mut progress,
        session.stop,
    )?)
}

fn show(
    arguments: &CalibrateArguments,
    settings: &Settings,
    goal: Goal,
    chosen: &Calibration,
    auroc: Option<f64>,
    left_out: usize,
) -> Result<()> {
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    let confidence = match goal {
        Goal::Guarantee { confidence, .. } => confidence,
        Goal::RetrievalRatio(_) | Goal::BestAccuracy => ken_route::CONFIDENCE,
    };
    let threshold = match chosen.threshold {
        Some(threshold) => format!("{threshold} (questions above it retrieve)"),
        None => "none: every question has to retrieve".to_owned(),
    };
    let loss = format!(
        "{}, at most {} with confidence {confidence}",
        percent(chosen.loss),
        percent(chosen.loss_bound)
    );
    let auroc = auroc.map_or("undefined".to_owned(), |area| format!("{area:.3}"));
    let rows = [
        ("policy", arguments.policy.to_string()),
        ("threshold", threshold),
        ("retrieval ratio", percent(chosen.retrieval_ratio)),
        ("accuracy", percent(chosen.accuracy)),
        ("lost against always", loss),
        ("AUROC of \"retrieval helps\"", auroc),
        ("questions", chosen.questions.to_string()),
    ];
    output::pairs(rows)?;
    if let Some(threshold) = chosen.threshold {
        let policy = Policy::Measured {
            signal: arguments.policy,
            threshold: Some(threshold),
            double: false,
        };
        let samples = match arguments.policy.is_of_samples() {
            true => format!(" --samples {}", arguments.samples),
            false => String::new(),
        };
        let flag = |model: RoutingModel, path: Option<&PathBuf>| {
            path.map(|path| format!(" --{} {}", model.setting(), path.display()))
        };
        let kbm = || flag(RoutingModel::Assessor, settings.kbm.as_ref());
        let by = arguments.policy.told_by.and_then(|model| match model {
            RoutingModel::Router => {
                let router = flag(model, settings.router.as_ref())?;
                Some(router + &kbm().unwrap_or_default())
            }
            RoutingModel::Assessor => kbm(),
            RoutingModel::Datastore => flag(model, settings.datastore.as_ref()),
        });
        let by = by.unwrap_or_default();
        output::line(format!("to use it: ken ask --policy {policy}{samples}{by}"))?;
    }
    if left_out > 0 {
        output::line(format!("{left_out} questions could not be used"))?;
    }
    if let (Goal::Guarantee { .. }, None) = (goal, chosen.threshold) {
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
