//! The flags of `ken train`. It loads no model and learns nothing.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Arg, Args, Subcommand, ValueEnum};
use ken_train::heads::Shape;

use super::tuning::{
    TrainExamplesArguments, TrainKbmArguments, TrainNoiseTolerantArguments, TrainSelfRouteArguments,
};
use crate::config::{Key, MODEL, flags, open_share};

/// `ken train`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct TrainArguments {
    #[command(subcommand)]
    pub(crate) verb: TrainVerb,
}

/// What can be learned.
#[derive(Debug, Subcommand)]
pub(crate) enum TrainVerb {
    /// A language model, from a file of examples
    Examples(Box<TrainExamplesArguments>),
    /// A language model that answers right whatever stands in its prompt
    NoiseTolerant(Box<TrainNoiseTolerantArguments>),
    /// A language model that says which answers a model knows
    Kbm(Box<TrainKbmArguments>),
    /// A language model that chooses where its knowledge comes from
    SelfRoute(Box<TrainSelfRouteArguments>),
    /// A router: which questions the language model answers right from memory
    Router(Box<TrainRouterArguments>),
    /// A pruner: which passages of a corpus say what the language model knows
    Pruner(Box<TrainPrunerArguments>),
}

/// How a head is learned and judged.
#[derive(Debug, Clone, Args)]
pub(crate) struct HeadFlags {
    /// What is learned: logistic, or mlp:N with one layer of N hidden units
    #[arg(long, value_name = "HEAD", default_value_t = Shape::Logistic)]
    pub(crate) head: Shape,

    /// The share of the labels that are kept aside to judge it, between 0 and 1
    #[arg(long, value_name = "R", value_parser = open_share, default_value_t = 0.3)]
    pub(crate) held_out: f64,
}

/// Which vectors of questions a router takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VectorSource {
    /// The question's embedding
    Embedding,
    /// The language model's hidden state behind the question
    Hidden,
    /// How sure the language model is of the first token of its answer
    FirstToken,
    /// The same, and what the model of --kbm says of the question
    FirstTokenAndKbm,
}

/// Which vectors of passages a pruner takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PassageSource {
    /// Those that the corpus is searched by; no model is loaded
    Embedding,
    /// The language model's hidden state at the end of the passage
    Hidden,
    /// How likely the language model finds the passage, token by token
    Likelihood,
}

/// Behind which blocks hidden states are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayerChoice {
    /// Half of them.
    Middle,
    /// A quarter, half, three quarters or all of them, whichever serves best.
    Auto,
    /// So many.
    Behind(usize),
}

impl FromStr for LayerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "middle" => Ok(Self::Middle),
            "auto" => Ok(Self::Auto),
            number => number
                .parse()
                .map(Self::Behind)
                .map_err(|_| "middle, auto or a number of blocks is wanted".to_owned()),
        }
    }
}

/// The settings of `ken train router`.
fn deciding() -> Vec<Arg> {
    let embedder =
        "With --from embedding and no corpus: the embedder; that of the corpus to be searched";
    let mut deciding = flags(&[&[Key::corpus, Key::kbm, Key::kbm_model], MODEL].concat());
    deciding.push(Key::embedder.flag_for(embedder));
    deciding
}

/// `ken train router`.
#[derive(Debug, Args)]
#[command(args = deciding(), after_long_help = "\
Examples:
  ken train router known.jsonl --corpus notes.ken --out router.json
  ken train router known.jsonl --from first-token --out router.json
  ken train router known.jsonl --from first-token-and-kbm --kbm kbm --out router.json
  ken train router known.jsonl --from hidden --layer auto --head mlp:16 --out router.json --json
  ken ask --corpus notes.ken --policy router@0.5 --router router.json \"Who keeps the keys?\"

RECORDS is what `ken probe` wrote. A question counts as known where the greedy answer from
memory is right, as probing judged it (--correct). The router gives the probability that it is
not known. With --kbm it is learned from questions alone that `ken train kbm` left out, and is
used with the same --kbm. A share of the questions, chosen by a hash of their words, is kept aside, and how
well the router does on these is printed.")]
pub(crate) struct TrainRouterArguments {
    /// A file of records of `ken probe`
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    /// Write the router to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// What it looks at; all but the embedding cost a model on this machine one call a question,
    /// which reads the prompt that asks it from memory, and what looks at --kbm one of that model too
    #[arg(long, value_name = "VECTORS", value_enum, default_value = "embedding")]
    pub(crate) from: VectorSource,

    /// With --from hidden: behind how many blocks, middle, or auto (the best of four, judged without
    /// the questions kept aside)
    #[arg(long, value_name = "LAYER", default_value = "middle")]
    pub(crate) layer: LayerChoice,

    #[command(flatten)]
    pub(crate) head: HeadFlags,
}

/// `ken train pruner`.
#[derive(Debug, Args)]
#[command(arg = Key::corpus.flag(), args = flags(MODEL), after_long_help = "\
Examples:
  ken train pruner mastery.jsonl --corpus notes.ken --out pruner.json
  ken train pruner mastery.jsonl --corpus notes.ken --head mlp:16 --out pruner.json --json
  ken train pruner mastery.jsonl --corpus notes.ken --from likelihood --out pruner.json
  ken prune --corpus notes.ken --pruner pruner.json --ratio 0.3 --dry-run

LABELS is what `ken mastery label` wrote about this corpus. The mastery of a passage, the mean
of its sentences', is foretold from the vector that the corpus is searched by, or from what a
language model makes of the passage, for which `ken prune` has it read them all. Whole documents are kept aside, and how well the order of what is foretold fits the
order of what was measured there is printed.")]
pub(crate) struct TrainPrunerArguments {
    /// A file of records of `ken mastery label`
    #[arg(value_name = "LABELS")]
    pub(crate) labels: PathBuf,

    /// Write the pruner to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// What it looks at
    #[arg(long, value_name = "VECTORS", value_enum, default_value = "embedding")]
    pub(crate) from: PassageSource,

    /// With --from hidden: behind how many blocks, middle, or auto (the best of four, judged without
    /// the passages kept aside)
    #[arg(long, value_name = "LAYER", default_value = "middle")]
    pub(crate) layer: LayerChoice,

    #[command(flatten)]
    pub(crate) head: HeadFlags,
}
