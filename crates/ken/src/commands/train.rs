//! `ken train`: what is learned from what was measured.

mod examples;
mod fit;
mod noise_tolerant;

use std::sync::atomic::AtomicBool;

use anyhow::Result;

use crate::arguments::TrainVerb;
use crate::config::Settings;

/// Runs a verb of `ken train`.
pub(crate) fn run(
    verb: &TrainVerb,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    match verb {
        TrainVerb::Examples(arguments) => examples::run(arguments, settings, json, stop),
        TrainVerb::NoiseTolerant(arguments) => noise_tolerant::run(arguments, settings, json, stop),
    }
}
