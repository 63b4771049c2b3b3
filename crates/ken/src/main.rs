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

use clap::Parser;

use arguments::{Arguments, GlobalFlags, Verb};
use config::{Layer, Settings};

use crate::failure::{Failure, Result};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::report_usage(&error, asks_for_json()),
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error, arguments.global.json),
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let global = &arguments.global;
    let stop = interrupt::listen()?;
    match &arguments.verb {
        Verb::Model(model) => commands::model::run(model, global.json, stop),
        Verb::Doctor(arguments) => {
            let settings = settings(global, Layer::default())?;
            commands::doctor::run(arguments, &settings, global.json)
        }
        Verb::Completions(completions) => commands::completions::run(completions),
        Verb::Demo(demo) => {
            let settings = settings(global, demo.layer())?;
            commands::demo::run(demo, &settings, global.json, stop)
        }
        Verb::Ingest(ingest) => {
            let settings = settings(global, ingest.layer())?;
            commands::ingest::run(ingest, &settings, global.json, stop)
        }
        Verb::Corpus(corpus) => {
            let settings = settings(global, corpus.verb.layer())?;
            commands::corpus::run(&corpus.verb, &settings, global.json, stop)
        }
        Verb::Search(search) => {
            let settings = settings(global, search.layer())?;
            commands::search::run(search, &settings, global.json, stop)
        }
        Verb::Ask(ask) => {
            let settings = settings(global, ask.pipeline.layer())?;
            commands::ask::run(ask, &settings, global.json, stop)
        }
        Verb::Chat(chat) => {
            let settings = settings(global, chat.pipeline.layer())?;
            commands::ask::chat(&settings, global.json, stop)
        }
        Verb::Eval(eval) => {
            let settings = settings(global, eval.layer())?;
            commands::eval::run(eval, &settings, global.json, stop)
        }
        Verb::Probe(probe) => {
            let settings = settings(global, probe.layer())?;
            commands::probe::run(probe, &settings, global.json, stop)
        }
        Verb::Label(label) => {
            let settings = settings(global, label.verb.layer())?;
            commands::label::run(&label.verb, &settings, global.json, stop)
        }
        Verb::Mastery(mastery) => {
            let settings = settings(global, mastery.verb.layer())?;
            commands::mastery::run(&mastery.verb, &settings, global.json, stop)
        }
        Verb::Train(train) => {
            let settings = settings(global, train.verb.layer())?;
            commands::train::run(&train.verb, &settings, global.json, stop)
        }
        Verb::Datastore(datastore) => {
            let settings = settings(global, datastore.verb.layer())?;
            commands::datastore::run(&datastore.verb, &settings, global.json, stop)
        }
        Verb::Export(export) => {
            let settings = settings(global, export.verb.layer())?;
            commands::export::run(&export.verb, &settings, global.json, stop)
        }
        Verb::Prune(prune) => {
            let settings = settings(global, prune.layer())?;
            commands::prune::run(prune, &settings, global.json, stop)
        }
        Verb::Calibrate(calibrate) => {
            let settings = settings(global, calibrate.layer())?;
            commands::calibrate::run(calibrate, &settings, global.json, stop)
        }
        Verb::World(world) => {
            let settings = settings(global, world.verb.layer())?;
            commands::world::run(&world.verb, &settings, global.json, stop)
        }
    }
}

/// Resolves the settings of a verb from its flags and starts the threads.
fn settings(global: &GlobalFlags, mut flags: Layer) -> Result<Settings> {
    flags.threads = global.threads;
    flags.trust_corpus_embedder = global.trust_corpus_embedder.then_some(true);
    flags.allow_plaintext_keys = global.allow_plaintext_keys.then_some(true);
    let settings = config::resolve(flags, global.config.as_deref())?;
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
