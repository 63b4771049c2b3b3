//! The command line: the verbs, their flags and their help. It parses words into values and decides
//! nothing; `config` adds what the file and the environment say.

pub(crate) mod answer;
pub(crate) mod calibrate;
pub(crate) mod capacity;
pub(crate) mod card;
pub(crate) mod corpus;
pub(crate) mod datastore;
#[cfg(test)]
#[path = "tests/help.rs"]
mod help;
pub(crate) mod join;
pub(crate) mod label;
pub(crate) mod model;
pub(crate) mod probe;
pub(crate) mod prune;
pub(crate) mod serve;
pub(crate) mod study;
pub(crate) mod train;
pub(crate) mod tune;
pub(crate) mod tune_policy;
pub(crate) mod world;

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args, ColorChoice, Command, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::{ADVANCED, Flag, Key, flags, keys};

/// The settings of every verb.
fn global() -> impl Iterator<Item = Arg> {
    let keys = keys![allow_plaintext_keys trust_corpus_embedder threads];
    let flags = flags(&keys).into_iter();
    flags.map(|flag| flag.global(true).help_heading(GLOBAL).hide_short_help(true))
}

/// The corpora that a model may choose among; usually one.
fn corpora() -> Arg {
    Key::sources.flag().long("corpus")
}

/// A corpus that has to be a folder.
fn folder() -> Arg {
    Key::corpus.flag_for("Corpus, a folder")
}

/// A corpus that is read through, and not only searched.
fn folder_or_milvus() -> Arg {
    Key::corpus.flag_for("Corpus, a folder or an address in Milvus")
}

/// Help heading of the flags that every verb takes.
const GLOBAL: &str = "Global options";

/// The verbs, as help groups them.
const GROUPS: [(&str, &str); 3] = [
    ("Use", "demo ingest search ask serve"),
    (
        "Measure and learn",
        "tune probe card label eval join calibrate study plan train datastore",
    ),
    ("Maintain", "model corpus prune doctor"),
];

/// Answers questions over your documents, and retrieves only where that helps
#[derive(Debug, Parser)]
#[command(
    name = "ken",
    version,
    arg_required_else_help = true,
    after_long_help = "\
Examples:
  ken demo                                     see it work on a built-in corpus
  ken ingest notes/ --corpus notes.ken         ingest a directory of documents
  ken search --corpus notes.ken \"oil change\"   find passages
  ken ask --corpus notes.ken \"When is the next oil change?\"
  ken doctor                                   check what is installed, cached and reachable

For research: `ken world` generates a world in which the truth is known; `ken model score` and \
`ken model embed` print what a model computes. `ken completions` prints shell completions, \
`ken man` writes manual pages.

Settings come from ken.toml in the working directory (or --config FILE), KEN_* variables, and \
flags; the later win.

Exit codes: 0 success, 1 failure, 2 wrong usage."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalFlags,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Flags that every verb takes.
#[derive(Debug, Args)]
#[command(args = global())]
pub(crate) struct GlobalFlags {
    /// Print JSON on stdout
    ///
    /// One object, or one per line.
    #[arg(long, global = true, display_order = 900)]
    pub(crate) json: bool,

    /// Use colors and bold: auto, always or never
    ///
    /// With auto, on terminals, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true, hide_possible_values = true, help_heading = GLOBAL, hide_short_help = true)]
    pub(crate) color: ColorChoice,

    /// Show the outcome alone: no progress, remarks or trace
    #[arg(long, short, global = true, help_heading = GLOBAL, hide_short_help = true)]
    pub(crate) quiet: bool,

    /// Read settings from FILE instead of ./ken.toml
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL, hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
}

/// What `ken` can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// See ken work on a small corpus, under three policies
    Demo(answer::DemoArguments),
    /// Ingest documents into a corpus
    Ingest(corpus::IngestArguments),
    /// Find passages in a corpus
    Search(corpus::SearchArguments),
    /// Answer questions, with citations and the reason for the route
    Ask(answer::AskArguments),
    /// Serve OpenAI's API over your documents
    Serve(serve::ServeArguments),
    /// Choose the policy for your questions, and write it into ken.toml
    Tune(tune_policy::TuneArguments),
    /// Measure what the model knows, and what evidence changes
    Probe(probe::ProbeArguments),
    /// Show on one page what the model knows of questions
    Card(card::CardArguments),
    /// Label questions by their best source, or sentences by mastery
    #[command(subcommand)]
    Label(label::LabelVerb),
    /// Evaluate a policy on questions, or compare several
    Eval(answer::EvalArguments),
    /// Join what several jobs measured in parts
    Join(join::JoinArguments),
    /// Choose a policy's threshold, with a guarantee if you want one
    Calibrate(calibrate::CalibrateArguments),
    /// Measure models against corpus scales
    #[command(subcommand)]
    Study(study::StudyVerb),
    /// Choose a set-up for a budget, or tell what a large corpus takes
    Plan(study::PlanArguments),
    /// Train a router, a gate, a pruner or a language model
    #[command(subcommand)]
    Train(train::TrainVerb),
    /// Build and edit the datastore of a model that chooses its source
    #[command(subcommand)]
    Datastore(datastore::DatastoreVerb),
    /// Fetch, list, check and export models
    #[command(subcommand)]
    Model(model::ModelVerb),
    /// Inspect, check and change a corpus
    #[command(subcommand)]
    Corpus(corpus::CorpusVerb),
    /// Prune what the model already knows from a corpus
    #[command(subcommand)]
    Prune(prune::PruneVerb),
    /// Show what is installed, cached and reachable
    Doctor(DoctorArguments),
    /// Generate a world, and measure exactly what a model knows of it
    #[command(subcommand, hide = true)]
    World(world::WorldVerb),
    /// Print shell completions
    #[command(hide = true)]
    Completions(CompletionsArguments),
    /// Write the manual pages
    #[command(hide = true)]
    Man(ManArguments),
}

#[derive(Debug, Args)]
#[command(args = [Key::model.flag(), Key::adapter.flag(), Key::embedder.flag()], after_long_help = "\
Examples:
  ken doctor
  ken doctor --bench
  ken doctor --bench --model ./my-model.gguf
  ken doctor --bench --clients 1,8,32

It changes nothing, and waits at most three seconds for the network. It exits with code 1 if the model or the embedder
cannot be used.")]
pub(crate) struct DoctorArguments {
    /// Benchmark loading, sampling, reading, scoring, writing and embedding (a minute or more)
    #[arg(long)]
    pub(crate) bench: bool,
    /// With --bench, also answer questions with evidence of so many clients at once
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "bench")]
    pub(crate) clients: Vec<NonZeroUsize>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken completions bash > ~/.local/share/bash-completion/completions/ken
  ken completions zsh > ~/.zfunc/_ken
  ken completions fish > ~/.config/fish/completions/ken.fish")]
pub(crate) struct CompletionsArguments {
    /// Shell to complete in
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken man ~/.local/share/man/man1
  man ken-model-pull")]
pub(crate) struct ManArguments {
    /// Folder for one page for each verb; made where it is missing
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

/// The command line: verbs by group, and advanced flags in `--help` only.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let header = command.get_styles().get_header();
    let mut template = "{about-with-newline}{usage-heading} {usage}\n\n".to_owned();
    for (group, verbs) in GROUPS {
        // Writing to a string never fails.
        let _ = writeln!(template, "{header}{group}:{header:#}");
        for verb in verbs.split(' ') {
            let about = command.find_subcommand(verb).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {verb:<10} {about}");
        }
        template.push('\n');
    }
    shaped(
        command
            .help_template(template + "{options}{after-help}")
            .max_term_width(100),
    )
}

/// Hides advanced flags from the short help of a verb and of all below it.
fn shaped(command: Command) -> Command {
    command.mut_subcommands(shaped).mut_args(|flag| {
        let is_advanced = flag.get_help_heading() == Some(ADVANCED);
        let is_hidden = flag.is_hide_short_help_set();
        flag.hide_short_help(is_advanced || is_hidden)
    })
}

#[cfg(test)]
mod tests {
    use std::cmp::max;
    use std::collections::BTreeMap;

    use super::*;

    /// Calls `check` with every verb and its name, including what clap adds.
    fn each_verb(check: &mut dyn FnMut(&Command, &str)) {
        fn visit(command: &Command, name: &str, check: &mut dyn FnMut(&Command, &str)) {
            check(command, name);
            for verb in command.get_subcommands() {
                visit(verb, &format!("{name} {}", verb.get_name()), check);
            }
        }
        let mut command = command().disable_help_subcommand(true);
        command.build();
        visit(&command, "ken", check);
    }

    #[test]
    fn the_parser_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_shows_examples() {
        each_verb(&mut |command, name| {
            if !command.has_subcommands() || name == "ken" {
                let help = command.get_after_long_help().map(ToString::to_string);
                let examples = help.is_some_and(|help| help.contains("Examples:"));
                assert!(examples, "{name} has no examples");
            }
        });
    }

    #[test]
    fn short_help_fits_one_screen() {
        each_verb(&mut |command, name| {
            let help = command.clone().term_width(80).render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 32, "`{name} -h` has {lines} lines:\n{help}");
            let widest = help.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "`{name} -h` is too wide:\n{help}");
        });
    }

    #[test]
    fn help_groups_every_verb_that_is_not_hidden() {
        let command = command();
        let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let visible: Vec<&str> = visible.map(Command::get_name).collect();
        assert_eq!(GROUPS.map(|(_, verbs)| verbs).join(" "), visible.join(" "));
        assert_eq!(visible.len(), 20);
    }

    #[test]
    fn a_flag_means_one_thing() {
        let mut meanings = BTreeMap::new();
        each_verb(&mut |command, name| {
            for flag in command.get_arguments().filter(|flag| !flag.is_positional()) {
                let long = flag.get_long().unwrap_or_default().to_owned();
                if ["source", "corpus", "from", "prompt", "features", "export"].contains(&&*long) {
                    let value = flag.get_value_names().map(|names| names.concat());
                    let value = value.unwrap_or_default().replace("[NAME=]", "");
                    let before = meanings.insert(long.clone(), value.clone());
                    assert!(
                        before.is_none_or(|before| before == value),
                        "--{long} of `{name}` takes {value}, and that of another verb does not"
                    );
                }
            }
        });
    }

    /// How large the command line is, printed with `--nocapture`.
    #[test]
    fn short_help_shows_few_flags() {
        let (mut leaves, mut most, mut shown) = (0, (0, String::new()), (0, String::new()));
        each_verb(&mut |command, name| {
            leaves += usize::from(!command.has_subcommands());
            let flags = command.get_arguments().filter(|flag| {
                let everywhere = ["help", "version"].contains(&flag.get_id().as_str());
                !flag.is_positional() && !everywhere && flag.get_help_heading() != Some(GLOBAL)
            });
            let flags: Vec<&Arg> = flags.collect();
            let in_short = flags.iter().filter(|flag| !flag.is_hide_short_help_set());
            shown = max(shown.clone(), (in_short.count(), name.to_owned()));
            most = max(most.clone(), (flags.len(), name.to_owned()));
        });
        println!("{leaves} leaf commands; most flags: {most:?}, in short help: {shown:?}");
        assert!(shown.0 <= 16, "{shown:?}");
    }
}
