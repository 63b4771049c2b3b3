//! The scores by which a policy decides, one for each record: from what was probed, or by a trained model. A trained
//! model scores only questions on subjects that it was not trained on.

use ken_answer::{Datastore, Policy, Representation, RoutingModel, Signal};
use ken_eval::{
    ProbeRecord, ProbedEvidence, answer_scores, check_sampling, read_settings, signal_scores,
};
use ken_lab::heads::gate::gate_scores;
use ken_lab::heads::{assessor_scores, choice_scores, router_scores, taught};
use ken_policy::{Goal, Input};

use crate::arguments::calibrate::CalibrateArguments;
use crate::failure::{Failure, Result};
use crate::progress::counting;
use crate::session::Session;

/// A signal of each record from memory, or of its evidence.
pub(super) fn scores(
    arguments: &CalibrateArguments,
    signal: Signal,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<Vec<Option<f64>>> {
    match signal.told_by {
        Some(RoutingModel::Router) => by_router(records, session),
        Some(RoutingModel::Assessor) => by_assessor(signal, None, records, session),
        Some(RoutingModel::Datastore) => by_choice(arguments.goal(), records, session),
        Some(RoutingModel::Gate) => Ok(gate_scores(&session.setup().gate()?, records)?),
        None => {
            check_samples(arguments, signal)?;
            Ok(signal_scores(records, signal, arguments.samples.get())?)
        }
    }
}

/// A signal of each record's answer with evidence.
pub(super) fn scores_with_evidence(
    arguments: &CalibrateArguments,
    signal: Signal,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<Vec<Option<f64>>> {
    match signal.told_by {
        Some(RoutingModel::Assessor) => {
            let retriever = session.setup().retriever()?;
            let evidence = ProbedEvidence {
                retriever: &retriever,
                mode: session.settings.mode,
            };
            by_assessor(signal, Some(evidence), records, session)
        }
        Some(_) if signal.weighs_evidence() => scores(arguments, signal, records, session),
        _ => {
            check_samples(arguments, signal)?;
            Ok(answer_scores(records, signal, arguments.samples.get())?)
        }
    }
}

/// Checks how the records were sampled, if the signal is one of samples.
fn check_samples(arguments: &CalibrateArguments, signal: Signal) -> Result<()> {
    match signal.is_of_samples() {
        true => Ok(check_sampling(&read_settings(&arguments.records)?)?),
        false => Ok(()),
    }
}

/// What the kbm model of the settings says of recorded questions.
fn by_assessor(
    signal: Signal,
    evidence: Option<ProbedEvidence<'_>>,
    records: &[ProbeRecord],
    session: &Session<'_>,
) -> Result<Vec<Option<f64>>> {
    let assessor = session.setup().assessor()?;
    let taught = taught_kbm(session)?;
    let mut progress = counting("assessed");
    let stop = session.stop;
    Ok(assessor_scores(
        &assessor,
        &taught,
        signal,
        evidence,
        records,
        &mut progress,
        stop,
    )?)
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
    let (assessor, taught) = match head.input {
        Input::FirstTokenAndMastery => (Some(setup.assessor()?), taught_kbm(session)?),
        _ => (None, Vec::new()),
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
/// A guarantee for answers that are written in another way than the probed ones.
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
