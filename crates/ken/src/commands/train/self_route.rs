//! `ken train self-route`: a language model learns to choose where its knowledge comes from, to write
//! what it knows, and to answer from either, from labelled sources.

use ken_model::decoder::Checkpoint;
use ken_study::training_examples::TextExample;
use ken_study::tuning::{
    SecondStage, Split, TaughtRouting, routing_texts, self_route_curriculum, taught_routing,
};
use ken_study::{RoutingExampleOptions, RoutingStage, read_results};

use super::fit::{fit, tuning};
use crate::arguments::tuning::{SelfRouteExampleFlags, TrainSelfRouteArguments};
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
    let second = SecondStage {
        kind: stage(flags, !flags.no_preference),
        learning_rate: flags.second_learning_rate,
        epochs: flags.second_epochs,
    };
    let soft = arguments.soft;
    let curriculum = self_route_curriculum(&checkpoint, taught, split, soft, second, &tuning)?;
    fit(&checkpoint, &curriculum, &tuning, session)
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
    Ok(routing_texts(
        &checkpoint,
        &taught,
        stage(flags, preferences),
    )?)
}
