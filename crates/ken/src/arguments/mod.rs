//! What may stand on the command line: the verbs, their flags and their help.
//! It reads words into values and decides nothing; `config` adds what the file
//! and the environment say.

mod answering;
mod calibrating;
mod corpus;
mod datastore;
#[cfg(test)]
mod documented;
mod exporting;
mod labelling;
mod mastery;
mod model;
mod probing;
mod pruning;
mod training;
mod tuning;
mod world;

pub(crate) use answering::{AskArguments, ChatArguments, DemoArguments, EvalArguments};
pub(crate) use calibrating::CalibrateArguments;
pub(crate) use corpus::{CorpusArguments, CorpusVerb, IngestArguments, SearchArguments};
pub(crate) use datastore::{
    DatastoreAddArguments, DatastoreArguments, DatastoreExportArguments, DatastoreImportArguments,
    DatastoreListArguments, DatastoreMakeArguments, DatastoreVerb,
};
pub(crate) use exporting::{
    ExportArguments, ExportFlags, ExportModelArguments, ExportTrainingDataArguments, ExportVerb,
    TrainingData,
};
pub(crate) use labelling::{LabelArguments, LabelVerb, SourcesArguments};
pub(crate) use mastery::{MasteryArguments, MasteryLabelArguments, MasteryVerb};
pub(crate) use model::{ModelArguments, ModelVerb};
pub(crate) use probing::ProbeArguments;
pub(crate) use pruning::{PruneArguments, PruneMethod};
pub(crate) use training::{
    HeadFlags, LayerChoice, PassageSource, TrainArguments, TrainPrunerArguments,
    TrainRouterArguments, TrainVerb, VectorSource,
};
pub(crate) use tuning::{
    KbmExampleFlags, NoiseTolerantFlags, SelfRouteExampleFlags, TrainExamplesArguments,
    TrainKbmArguments, TrainNoiseTolerantArguments, TrainSelfRouteArguments, TuningFlags,
};
pub(crate) use world::{
    WorldArguments, WorldMakeArguments, WorldMixArguments, WorldModelArguments,
    WorldTrainArguments, WorldTruthArguments, WorldVerb,
};

use std::path::PathBuf;

use clap::{Arg, Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::{Key, flags};

/// The settings of every verb.
fn global() -> impl Iterator<Item = Arg> {
    let keys = [
        Key::allow_plaintext_keys,
        Key::trust_corpus_embedder,
        Key::threads,
    ];
    let flags = flags(&keys).into_iter();
    flags.map(|flag| flag.global(true).help_heading(GLOBAL))
}

/// What the help calls the flags of every verb.
const GLOBAL: &str = "Global options";

/// Answers questions over your documents, and retrieves only when the language
/// model does not already know.
#[derive(Debug, Parser)]
#[command(
    name = "ken",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_long_help = "\
Examples:
  ken demo                                     see it work on a corpus that ships with ken
  ken ingest notes/ --corpus notes.ken         take a folder of documents in
  ken search --corpus notes.ken \"oil change\"   find passages
  ken ask --corpus notes.ken \"When is the next oil change?\"
  ken doctor                                   what is installed, cached and reachable

Settings come from ken.toml in the working directory (or --config FILE), then
from KEN_* variables, then from flags; the later wins.

Exit code: 0 done, 1 failed, 2 the command line is wrong."
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
    /// Print JSON on stdout: one object, or one a line
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,

    /// Read settings from FILE instead of ./ken.toml
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = GLOBAL
    )]
    pub(crate) config: Option<PathBuf>,
}

/// What `ken` can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// See ken work: small models, a small corpus, three policies side by side
    Demo(DemoArguments),
    /// Fetch, list, check and try models
    Model(ModelArguments),
    /// Take documents into a corpus
    Ingest(IngestArguments),
    /// Look into a corpus, check it, and change what it holds
    Corpus(CorpusArguments),
    /// Find the passages of a corpus that fit a query
    Search(SearchArguments),
    /// Answer one question, with citations and the reason for the route
    Ask(AskArguments),
    /// Answer questions one after the other, read from stdin
    Chat(ChatArguments),
    /// Measure a policy over a file of questions
    Eval(EvalArguments),
    /// Measure what the language model knows, and what evidence changes, over a file of questions
    Probe(ProbeArguments),
    /// Find the source of knowledge that helps most with each question of a file
    Label(LabelArguments),
    /// Measure how much of what a corpus says the language model knows without it
    Mastery(MasteryArguments),
    /// Teach a router, a pruner or a language model from what was measured
    Train(TrainArguments),
    /// Make, show and correct what a model that chooses its source is advised by
    Datastore(DatastoreArguments),
    /// Leave out of a corpus what the language model knows without it
    Prune(PruneArguments),
    /// Choose a policy's threshold from what was probed, with a guarantee if you want one
    Calibrate(CalibrateArguments),
    /// Invent a world, and measure exactly what a model knows of it
    World(WorldArguments),
    /// Hand models and training data to other tools
    Export(ExportArguments),
    /// Report what is installed, cached and reachable, and how fast this machine is
    Doctor(DoctorArguments),
    /// Print the completions of a shell
    Completions(CompletionsArguments),
}

/// `ken doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken doctor
  ken doctor --bench
  ken doctor --json

It changes nothing, and waits three seconds at most for the network.")]
pub(crate) struct DoctorArguments {
    /// Measure the models at the work that ken lives on: sampling, reading, scoring,
    /// writing and embedding (a minute or more)
    #[arg(long)]
    pub(crate) bench: bool,
}

/// `ken completions`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken completions bash > ~/.local/share/bash-completion/completions/ken
  ken completions zsh > ~/.zfunc/_ken
  ken completions fish > ~/.config/fish/completions/ken.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell to complete in
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_parser_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_verb_shows_examples() {
        fn visit(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            if command.get_subcommands().next().is_none() || command.get_name() == "ken" {
                let help = command.get_after_long_help().map(ToString::to_string);
                assert!(
                    help.is_some_and(|help| help.contains("Examples:")),
                    "{path} has no examples"
                );
            }
            for verb in command.get_subcommands() {
                visit(verb, &path);
            }
        }
        visit(&Arguments::command(), "");
    }
}
