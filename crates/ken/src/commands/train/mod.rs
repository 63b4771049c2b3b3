//! `ken train`: trains models on what was measured.

mod examples;
mod export;
mod fit;
mod gate;
mod head;
mod kbm;
mod noise_tolerant;
mod pruner;
mod router;
mod self_route;

pub(crate) use fit::drawn;

use crate::arguments::train::TrainVerb;
use crate::failure::Result;
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
