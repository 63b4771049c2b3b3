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

use std::collections::BTreeMap;

pub(crate) use fit::drawn;

use ken_study::statistics::Spread;
use ken_study::{Fold, LearnOptions};
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

/// How a head is learned and judged; `fold` numbers the trainings with several seeds.
fn options(flags: &HeadFlags, seed: u64, fold: usize) -> LearnOptions {
    LearnOptions {
        head: HeadOptions {
            shape: flags.head,
            seed,
        },
        held_out: Fold {
            share: flags.held_out,
            number: fold,
        },
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

/// A measure of a report.
type Measure<R> = (&'static str, fn(&R) -> Option<f64>);

/// How measures of the reports of several seeds spread, by name; nothing of one.
fn spreads<R>(reports: &[R], measures: &[Measure<R>]) -> BTreeMap<&'static str, Spread> {
    let several = measures.iter().filter(|_| reports.len() > 1);
    let each = several.map(|(name, of)| (*name, Spread::of(reports.iter().map(of).collect())));
    each.collect()
}

/// The same as a table.
fn show_spreads(spreads: &BTreeMap<&'static str, Spread>) -> Result<()> {
    if spreads.is_empty() {
        return Ok(());
    }
    let mut rows = vec![output::head("over all seeds|mean|standard deviation|each")];
    rows.extend(spreads.iter().map(|(name, spread)| {
        let each = spread.each.iter().map(|one| output::number(*one, 3));
        vec![
            (*name).to_owned(),
            output::number(spread.mean, 3),
            output::number(spread.deviation, 3),
            each.collect::<Vec<_>>().join(" "),
        ]
    }));
    output::table(&rows)
}

/// A number with its interval, or a dash where there is none.
fn with_interval(value: Option<f64>, interval: Option<[f64; 2]>) -> String {
    match value {
        Some(_) => output::number(value, 3) + &output::interval(interval),
        None => "- (everything held out is alike)".to_owned(),
    }
}
