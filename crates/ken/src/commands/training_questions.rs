//! Which of the measured questions something was trained on: on those it looks better than it is.

use std::borrow::Cow;

use ken_answer::{Pipeline, Policy, RoutingModel, RoutingModels};
use ken_eval::Question;
use ken_hub::ModelReference;
use ken_model::decoder::Origin;
use ken_policy::{Input, digest_of, is_among};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

/// Something that was trained on some of the questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Taught {
    /// Its name, which is that of its setting.
    what: Cow<'static, str>,
    /// How many of the questions.
    questions: usize,
}

/// Everything that answers under these policies and was trained on some of these questions.
///
/// # Errors
/// There is some, though only the questions that `held_out` keeps out of training are used; files that cannot be
/// read.
pub(crate) fn taught(
    questions: &[Question],
    held_out: Option<f64>,
    pipeline: &Pipeline,
    policies: &[Policy],
    session: &Session<'_>,
) -> Result<Vec<Taught>> {
    let settings = session.settings;
    let mut digests: Vec<(&'static str, Vec<u64>)> = Vec::new();
    let RoutingModels { router, gate, .. } = &pipeline.routing;
    for (what, model) in [("router", router), ("gate", gate)] {
        let learned = model.as_ref().map(|model| model.head.learned_from.clone());
        digests.extend(learned.map(|learned| (what, learned)));
    }
    let read = router.as_ref().map(|router| router.head.input);
    let reads_verdicts = read == Some(Input::FirstTokenAndMastery);
    let mut folders = Vec::new();
    if settings.decide_by(RoutingModel::Assessor, policies) || reads_verdicts {
        folders.extend(settings.kbm.clone().map(|folder| ("kbm", folder)));
    }
    if settings.adapter.is_some() {
        folders.push(("adapter", session.setup().trained_folder()?));
    } else if let ModelReference::Local { path } = &settings.model {
        folders.push(("model", path.clone()));
    }
    for (what, folder) in folders.iter().filter(|(_, folder)| folder.is_dir()) {
        let learned = Origin::read(folder)?.map(|origin| origin.learned_from);
        digests.extend(learned.map(|learned| (*what, learned)));
    }
    if settings.decide_by(RoutingModel::Datastore, policies)
        && let Some(folder) = &settings.datastore
    {
        let entries = ken_answer::Datastore::open(folder)?;
        let entries = entries.entries().iter();
        let mut voting: Vec<u64> = entries.map(|entry| digest_of(&entry.question)).collect();
        voting.sort_unstable();
        digests.push(("datastore", voting));
    }
    let counted = digests.iter().map(|(what, learned)| {
        let asked = questions.iter();
        let among = asked.filter(|question| is_among(learned, &question.question));
        (*what, among.count())
    });
    checked(counted, held_out, questions.len())
}

/// Everything that was trained on some of `of` questions; `counted` says on how many each thing was.
///
/// # Errors
/// There is some, though only the questions that `held_out` keeps out of training are used.
pub(crate) fn checked(
    counted: impl IntoIterator<Item = (&'static str, usize)>,
    held_out: Option<f64>,
    of: usize,
) -> Result<Vec<Taught>> {
    let taught = counted.into_iter().filter(|(_, questions)| *questions > 0);
    let taught = taught.map(|(what, questions)| Taught {
        what: what.into(),
        questions,
    });
    let taught: Vec<Taught> = taught.collect();
    match (held_out, taught.first()) {
        (Some(share), Some(first)) => Err(refusal(share, first, of)),
        _ => Ok(taught),
    }
}

fn refusal(share: f64, taught: &Taught, of: usize) -> Failure {
    let Taught { what, questions } = taught;
    let message = format!(
        "the {what} was taught {questions} of the {of} questions that --held-out {share} leaves for evaluation"
    );
    let remedy = format!(
        "train it again with --held-out {share} or more, on records that name the same subjects; or leave --held-out out to measure it on what it knows as well"
    );
    Failure::refused("taught_questions", message, remedy)
}

/// Shows what was trained on some of the questions.
pub(crate) fn show(taught: &[Taught]) -> Result<()> {
    for Taught { what, questions } in taught {
        output::line(format!(
            "{what}: it was taught {questions} of these questions, on which it looks better than it is; hold some out: --held-out"
        ))?;
    }
    Ok(())
}
