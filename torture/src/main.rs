//! The program: reads the arguments, and runs the campaigns.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use ken_torture::company::{self, Plan};
use ken_torture::crash::{self, Drawing};
use ken_torture::damage::{self, Store};
use ken_torture::outcome::Outcome;
use ken_torture::shim::Shim;
use ken_torture::world::World;
use ken_torture::{faults, kills, links, worker, worlds};

const USAGE: &str = "usage: torture [crash-states|faults|kills|damage|links|company] [--count N] [--seed S] \
[--minutes M] [--world NAME] [--out DIR] [--drop-sync END]";

/// The arguments.
#[derive(Debug, Clone, Default)]
struct Options {
    campaign: Option<String>,
    count: Option<usize>,
    seed: u64,
    minutes: Option<f64>,
    world: Option<String>,
    out: Option<PathBuf>,
    dropped_syncs: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["worker", kind, world, dir] = words[..] {
        worker::run(kind, world, Path::new(dir));
        return ExitCode::SUCCESS;
    }
    match options(&words) {
        Ok(options) => run(&options),
        Err(message) => {
            eprintln!("torture: {message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn options(words: &[&str]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !word.starts_with("--") {
            options.campaign = Some((*word).to_owned());
            continue;
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a value"))?;
        let no_number = |_| format!("{word} takes a number, not {value}");
        match *word {
            "--count" => options.count = Some(value.parse().map_err(no_number)?),
            "--seed" => options.seed = value.parse().map_err(no_number)?,
            "--minutes" => {
                let minutes = value
                    .parse()
                    .map_err(|_| format!("{word} takes a number"))?;
                options.minutes = Some(minutes);
            }
            "--world" => options.world = Some((*value).to_owned()),
            "--out" => options.out = Some(PathBuf::from(value)),
            "--drop-sync" => options.dropped_syncs.push((*value).to_owned()),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> ExitCode {
    // Panics are caught and reported as violations.
    std::panic::set_hook(Box::new(|_| {}));
    let shim = Shim::build();
    let is_chosen = |name: &str| options.world.as_deref().is_none_or(|world| world == name);
    let chosen: Vec<Box<dyn World>> = worlds::all()
        .into_iter()
        .filter(|world| is_chosen(world.name()))
        .collect();
    let campaigns = [
        "crash-states",
        "faults",
        "kills",
        "damage",
        "links",
        "company",
    ];
    let mut outcomes = Vec::new();
    for campaign in campaigns {
        if options
            .campaign
            .as_deref()
            .is_some_and(|chosen| chosen != campaign)
        {
            continue;
        }
        let of_each = |count: usize| options.count.unwrap_or(count) / chosen.len().max(1);
        let mut keep = |outcome: Outcome| {
            println!("{}", outcome.summary());
            outcomes.push(outcome);
        };
        match campaign {
            "crash-states" => {
                let drawing = Drawing {
                    count: of_each(10_000),
                    seed: options.seed,
                    dropped_syncs: options.dropped_syncs.clone(),
                    until_wrong: false,
                    keep: options.out.clone(),
                };
                for world in &chosen {
                    keep(crash::run(&**world, &shim, &drawing));
                }
            }
            "faults" => {
                let count = options.count.map(|count| count / chosen.len().max(1));
                for world in &chosen {
                    keep(faults::run(&**world, &shim, count, options.seed));
                }
            }
            "kills" => {
                for world in &chosen {
                    keep(kills::run(&**world, &shim, of_each(10_000), options.seed));
                }
            }
            "damage" => {
                let stores = Store::ALL.into_iter();
                for store in stores.filter(|store| is_chosen(store.name())) {
                    keep(damage::run(store, &shim, options.count, options.seed));
                }
            }
            "links" => {
                let stores = links::Store::ALL.into_iter();
                for store in stores.filter(|store| is_chosen(store.name())) {
                    keep(links::run(store, options.count, options.seed));
                }
            }
            _ => {
                let often = options.count.unwrap_or(300);
                keep(company::run(
                    &shim,
                    Plan {
                        compactions: often,
                        kills: often,
                        time: Duration::from_secs_f64(options.minutes.unwrap_or(1.0) * 60.0),
                        seed: options.seed,
                    },
                ));
            }
        }
    }
    if let Some(out) = &options.out
        && let Err(error) = write(out, options, &outcomes)
    {
        eprintln!("torture: cannot write {}: {error}", out.display());
        return ExitCode::from(2);
    }
    match outcomes.iter().all(|outcome| outcome.violation_count == 0) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn write(out: &Path, options: &Options, outcomes: &[Outcome]) -> std::io::Result<()> {
    std::fs::create_dir_all(out)?;
    let name = options.campaign.as_deref().unwrap_or("all");
    let text = serde_json::to_string_pretty(outcomes)?;
    std::fs::write(out.join(format!("{name}.json")), text)
}
