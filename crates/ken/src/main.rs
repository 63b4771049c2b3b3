//! The command line: reads arguments and settings, runs one verb, and turns its
//! outcome into output and an exit code. All work is done by the libraries.

mod arguments;
mod commands;
mod config;
mod failure;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use arguments::{Arguments, GlobalFlags, Verb};
use config::Settings;

use crate::failure::{Failure, Result};

fn main() -> ExitCode {
    let parsed = Arguments::command().try_get_matches().and_then(|matches| {
        let arguments = Arguments::from_arg_matches(&matches)?;
        Ok((arguments, matches))
    });
    let (arguments, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return failure::report_usage(&error, asks_for_json()),
    };
    match run(&arguments, &matches) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error, arguments.global.json),
    }
}

fn run(arguments: &Arguments, matches: &ArgMatches) -> Result<()> {
    let json = arguments.global.json;
    let stop = interrupt::listen()?;
    match &arguments.verb {
        Verb::Model(model) => return commands::model::run(model, json, stop),
        Verb::Completions(completions) => return commands::completions::run(completions),
        _ => {}
    }
    let mut settings = settings(&arguments.global, matches)?;
    match &arguments.verb {
        Verb::Eval(eval) => eval.amend(&mut settings),
        Verb::Prune(prune) => prune.amend(&mut settings),
        Verb::World(world) => world.verb.amend(&mut settings),
        _ => {}
    }
    let settings = &settings;
    match &arguments.verb {
        Verb::Model(_) | Verb::Completions(_) => Ok(()),
        Verb::Doctor(doctor) => commands::doctor::run(doctor, settings, json),
        Verb::Demo(demo) => commands::demo::run(demo, settings, json, stop),
        Verb::Ingest(ingest) => commands::ingest::run(ingest, settings, json, stop),
        Verb::Corpus(corpus) => commands::corpus::run(&corpus.verb, settings, json, stop),
        Verb::Search(search) => commands::search::run(search, settings, json, stop),
        Verb::Ask(ask) => commands::ask::run(ask, settings, json, stop),
        Verb::Chat(_) => commands::ask::chat(settings, json, stop),
        Verb::Eval(eval) => commands::eval::run(eval, settings, json, stop),
        Verb::Probe(probe) => commands::probe::run(probe, settings, json, stop),
        Verb::Label(label) => commands::label::run(&label.verb, settings, json, stop),
        Verb::Mastery(mastery) => commands::mastery::run(&mastery.verb, settings, json, stop),
        Verb::Train(train) => commands::train::run(&train.verb, settings, json, stop),
        Verb::Datastore(store) => commands::datastore::run(&store.verb, settings, json, stop),
        Verb::Export(export) => commands::export::run(&export.verb, settings, json, stop),
        Verb::Prune(prune) => commands::prune::run(prune, settings, json, stop),
        Verb::Calibrate(calibrate) => commands::calibrate::run(calibrate, settings, json, stop),
        Verb::World(world) => commands::world::run(&world.verb, settings, json, stop),
    }
}

/// Resolves the settings and starts the threads.
fn settings(global: &GlobalFlags, matches: &ArgMatches) -> Result<Settings> {
    let settings = config::resolve(matches, global.config.as_deref())?;
    if let Some(threads) = settings.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build_global()
            .map_err(Failure::other)?;
    }
    Ok(settings)
}

/// Whether a command line that could not be parsed asked for JSON.
fn asks_for_json() -> bool {
    std::env::args_os().any(|argument| argument == "--json")
}
