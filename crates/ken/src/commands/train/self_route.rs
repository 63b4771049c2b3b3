//! `ken train self-route`: a language model learns to choose where its knowledge comes from, to write
//! what it knows, and to answer from either, from labelled sources.

use std::sync::Arc;

use ken_eval::{Split, read_results};
use ken_hub::ModelReference;
use ken_lab::examples::TextExample;
use ken_lab::tuning::{
    SecondStage, TaughtRouting, best_threshold, record_threshold, routing_texts,
    self_route_curriculum, taught_routing,
};
use ken_lab::{RoutingExampleOptions, RoutingStage};
use ken_language::LanguageModel;
use ken_model::decoder::Checkpoint;

use super::fit::{fit_and, tuning};
use crate::arguments::tune::{SelfRouteExampleFlags, TrainSelfRouteArguments, TuningFlags};
use crate::failure::Result;
use crate::session::Session;

pub(super) fn run(arguments: &TrainSelfRouteArguments, session: &Session<'_>) -> Result<()> {
    let flags = &arguments.examples;
    let tuning = tuning(&arguments.tuning, session)?;
    let (checkpoint, taught) = taught(flags, session)?;
    let split = Split {
        held_out: flags.held_out,
        validation: arguments.tuning.validation,
    };
    let validating = taught.validating(split);
    let second = SecondStage {
        kind: stage(flags, !flags.no_preference),
        learning_rate: flags.second_learning_rate,
        epochs: flags.second_epochs,
    };
    let soft = arguments.soft;
    let curriculum = self_route_curriculum(&checkpoint, taught, split, soft, second, &tuning)?;
    fit_and(&checkpoint, &curriculum, &tuning, session, |report| {
        let model = trained(&arguments.tuning, session)?;
        report.threshold = best_threshold(model.as_ref(), &validating, session.stop)?;
        if let Some(threshold) = report.threshold {
            record_threshold(&arguments.tuning.out, threshold)?;
        }
        Ok(())
    })
}

/// The trained model.
fn trained(flags: &TuningFlags, session: &Session<'_>) -> Result<Arc<dyn LanguageModel>> {
    let out = flags.out.clone();
    let mut settings = session.settings.clone();
    if flags.full {
        settings.model = ModelReference::Local { path: out };
        settings.adapter = None;
    } else {
        settings.adapter = Some(out);
    }
    Ok(session.setup_with(&settings).language_model()?)
}

fn stage(flags: &SelfRouteExampleFlags, prefers: bool) -> RoutingStage {
    match prefers {
        true => RoutingStage::Prefer { beta: flags.beta },
        false => RoutingStage::Imitate,
    }
}

fn taught(
    flags: &SelfRouteExampleFlags,
    session: &Session<'_>,
) -> Result<(Checkpoint, TaughtRouting)> {
    let records = read_results(&flags.labels)?;
    let checkpoint = session.setup().checkpoint()?;
    let making = RoutingExampleOptions {
        rule: flags.rule,
        verbalizes: !flags.no_verbalization,
    };
    let taught = taught_routing(records, making, flags.held_out, &checkpoint)?;
    Ok((checkpoint, taught))
}

/// The training examples of the first stage as text, or the preferences of the second.
pub(crate) fn texts(
    flags: &SelfRouteExampleFlags,
    preferences: bool,
    session: &Session<'_>,
) -> Result<Vec<TextExample>> {
    let (checkpoint, taught) = taught(flags, session)?;
    let stage = stage(flags, preferences);
    Ok(routing_texts(&checkpoint, &taught, stage)?)
}
