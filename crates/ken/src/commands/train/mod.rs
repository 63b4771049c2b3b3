//! `ken train`: what is learned from what was measured.

mod examples;
mod export;
mod fit;
mod gate;
mod kbm;
mod noise_tolerant;
mod pruner;
mod router;
mod self_route;
mod vectors;

pub(crate) use fit::drawn;

use ken_setup::Settings;
use ken_study::LearnOptions;
use ken_train::heads::{HeadOptions, Watch};

use crate::arguments::training::{HeadFlags, TrainVerb};
use crate::failure::Result;
use crate::output;
use crate::progress::Display;
use crate::session::Session;

/// Runs a verb of `ken train`.
pub(crate) fn run(verb: &TrainVerb, session: &Session<'_>) -> Result<()> {
    if let Some(exported) = export::exported(verb, session) {
        return exported;
    }
    match verb {
        TrainVerb::Examples(arguments) => examples::run(arguments, session),
        TrainVerb::NoiseTolerant(arguments) => noise_tolerant::run(arguments, session),
        TrainVerb::Kbm(arguments) => kbm::run(arguments, session),
        TrainVerb::SelfRoute(arguments) => self_route::run(arguments, session),
        TrainVerb::Router(arguments) => router::run(arguments, session),
        TrainVerb::Gate(arguments) => gate::run(arguments, session),
        TrainVerb::Pruner(arguments) => pruner::run(arguments, session),
    }
}

/// How a head is learned and judged.
fn options(flags: &HeadFlags, settings: &Settings) -> LearnOptions {
    LearnOptions {
        head: HeadOptions {
            shape: flags.head,
            seed: settings.seed,
        },
        held_out: flags.held_out,
    }
}

/// Has something learned, with progress, until it is to stop.
fn learning<T>(session: &Session<'_>, learn: impl FnOnce(Watch<'_>) -> T) -> T {
    let mut display = Display::new();
    learn(&mut |done, total| {
        display.show_items("learning", done, total);
        session.unless_stopped()
    })
}

/// A number with its interval, or a dash where there is none.
fn with_interval(value: Option<f64>, interval: Option<[f64; 2]>) -> String {
    match value {
        Some(_) => output::number(value, 3) + &output::interval(interval),
        None => "- (everything held out is alike)".to_owned(),
    }
}
