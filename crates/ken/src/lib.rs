//! The command line: reads arguments and settings, runs one verb, and turns its outcome into output and an exit code.
//! The libraries do all the work. It is a library itself so that the Python package contains the same program.

mod arguments;
mod commands;
mod config;
mod excerpt;
mod failure;
mod interrupt;
mod output;
mod progress;
mod session;
mod shell;
mod style;
mod terminal;
mod tips;

use std::ffi::OsString;

use clap::{ArgMatches, FromArgMatches};
use ken_server::Source;

use arguments::label::LabelVerb;
use arguments::model::ModelVerb;
use arguments::{Arguments, GlobalFlags, Verb};
use config::Settings;
use session::Session;

use crate::failure::{Failure, Result};

pub use failure::wording::action as worded_action;

/// Runs the program with its arguments, the first of which is its name, and returns its exit code. To be called once
/// in a process: it listens for Ctrl-C from then on.
#[must_use]
pub fn main_with(given: &[OsString]) -> u8 {
    let (arguments, matches) = match parse(given) {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = on_one_line(error, given);
            return failure::report_usage(&error, asks_for_json(given));
        }
    };
    match run(&arguments, &matches, given) {
        Ok(()) => failure::DONE,
        Err(error) => failure::report(&error, arguments.global.json),
    }
}

fn run(arguments: &Arguments, matches: &ArgMatches, given: &[OsString]) -> Result<()> {
    let json = arguments.global.json;
    style::choose(arguments.global.color);
    if arguments.global.quiet {
        progress::hide();
    }
    let stop = interrupt::listen()?;
    match &arguments.verb {
        Verb::Model(ModelVerb::Plain(verb)) => return commands::model::run(verb, json, stop),
        Verb::Completions(completions) => return commands::completions::run(completions),
        Verb::Man(man) => return commands::man::run(man),
        _ => {}
    }
    let mut settings = settings(&arguments.global, matches)?;
    match &arguments.verb {
        Verb::Eval(eval) => eval.amend(&mut settings),
        Verb::Prune(prune) => prune.amend(&mut settings),
        Verb::World(world) => world.amend(&mut settings),
        _ => {}
    }
    let session = Session {
        settings: &settings,
        given,
        json,
        quiet: arguments.global.quiet,
        stop,
    };
    dispatch(arguments, matches, &session)
}

/// Runs a verb that takes the settings.
fn dispatch(arguments: &Arguments, matches: &ArgMatches, session: &Session<'_>) -> Result<()> {
    match &arguments.verb {
        // These take none.
        Verb::Completions(_) | Verb::Man(_) | Verb::Model(ModelVerb::Plain(_)) => Ok(()),
        Verb::Demo(demo) => commands::demo::run(demo, session),
        Verb::Ingest(ingest) => commands::ingest::run(ingest, session),
        Verb::Search(search) => commands::search::run(search, session),
        Verb::Ask(ask) => commands::ask::run(ask, session),
        Verb::Serve(serve) => {
            let source = Source {
                file: arguments.global.config.clone(),
                given: config::given(matches),
            };
            commands::serve::run(serve, session, source)
        }
        Verb::Tune(tune) => {
            let file = arguments.global.config.as_deref();
            commands::tune::run(tune, file, &config::given(matches), session)
        }
        Verb::Probe(probe) => commands::probe::run(probe, session),
        Verb::Card(card) => commands::card::run(card, session),
        Verb::Label(LabelVerb::Sources(sources)) => commands::label::run(sources, session),
        Verb::Label(LabelVerb::Mastery(mastery)) => commands::mastery::run(mastery, session),
        Verb::Eval(eval) => commands::eval::run(eval, session),
        Verb::Join(join) => commands::join::run(join, session),
        Verb::Calibrate(calibrate) => commands::calibrate::run(calibrate, session),
        Verb::Study(verb) => commands::study::run(verb, session),
        Verb::Plan(plan) => commands::plan::run(plan, session),
        Verb::Train(verb) => commands::train::run(verb, session),
        Verb::Datastore(verb) => commands::datastore::run(verb, session),
        Verb::Model(ModelVerb::Choose(choose)) => {
            commands::model::choose::run(choose, arguments.global.config.as_deref(), session)
        }
        Verb::Model(ModelVerb::Export(export)) => commands::export::model(export, session),
        Verb::Corpus(verb) => commands::corpus::run(verb, session),
        Verb::Prune(verb) => commands::prune::run(verb, session),
        Verb::Doctor(doctor) => commands::doctor::run(doctor, session),
        Verb::World(verb) => commands::world::run(verb, session),
    }
}

/// Resolves the settings and starts the threads.
fn settings(global: &GlobalFlags, matches: &ArgMatches) -> Result<Settings> {
    let settings = Settings::resolve(global.config.as_deref(), config::given(matches))?;
    if let Some(threads) = settings.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build_global()
            .map_err(Failure::other)?;
    }
    Ok(settings)
}

fn parse(given: &[OsString]) -> Result<(Arguments, ArgMatches), clap::Error> {
    let matches = arguments::command().try_get_matches_from(given);
    let matches = matches.map_err(|error| tips::with_tip(error, given))?;
    let arguments = Arguments::from_arg_matches(&matches)?;
    Ok((arguments, matches))
}

/// Takes line breaks and control characters out of the arguments that clap's error repeats.
fn on_one_line(error: clap::Error, given: &[OsString]) -> clap::Error {
    let shown = given.iter().map(|given| {
        let shown = given.to_string_lossy();
        OsString::from(terminal::line(&shown).into_owned())
    });
    let shown: Vec<OsString> = shown.collect();
    if shown == given {
        return error;
    }
    // An argument that is refused only for its control characters would be accepted without them.
    parse(&shown).err().unwrap_or_else(|| {
        let message = error.to_string();
        let message = message.trim().trim_start_matches("error: ");
        clap::Error::raw(error.kind(), format!("{}\n", terminal::line(message)))
    })
}

/// Whether a command line that could not be parsed asked for JSON.
fn asks_for_json(given: &[OsString]) -> bool {
    given.iter().any(|argument| argument == "--json")
}
