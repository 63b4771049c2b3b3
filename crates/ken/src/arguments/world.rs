//! The flags of `ken world`. It invents nothing and loads no model.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_hub::ModelReference;
use ken_study::world::{Size, WorldSettings};

use crate::config::{Key, Settings, flags};

/// `ken world`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_long_help = "\
An invented world of people, books and towns, with a corpus, questions, and small decoders that
learn from it and nothing else. What such a model knows is set by how often its training tells
of a fact, and can be computed exactly: methods can be held against the truth."
)]
pub(crate) struct WorldArguments {
    #[command(subcommand)]
    pub(crate) verb: WorldVerb,
}

/// What can be done about invented worlds.
#[derive(Debug, Subcommand)]
pub(crate) enum WorldVerb {
    /// Invent a world: its corpus and its questions
    Make(WorldMakeArguments),
    /// Print the texts that models learn the world from
    Mix(WorldMixArguments),
    /// Write a model that has learned nothing yet
    Model(WorldModelArguments),
    /// Train a model on the world from nothing
    Train(WorldTrainArguments),
    /// Compute what a model knows of the world
    Truth(WorldTruthArguments),
}

impl WorldVerb {
    /// The model whose truth is computed is always named.
    pub(crate) fn amend(&self, settings: &mut Settings) {
        if let Self::Truth(truth) = self {
            settings.model = truth.model.clone();
        }
    }
}

/// `ken world make`.
#[derive(Debug, Args)]
#[command(arg = Key::seed.flag(), after_long_help = "\
Examples:
  ken world make island
  ken world make island --people 1500 --exponent 0.8 --seed 1
  ken world make island --json

OUT gets corpus.jsonl for ken ingest, questions.jsonl for ken eval and ken probe, and
world.json, from which the same world is made again. Each question says what it asks for, how
often training tells of that, and whether training asks it too.")]
pub(crate) struct WorldMakeArguments {
    /// The folder to write to, which must be new or empty
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,

    /// People that training tells of
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().people)]
    pub(crate) people: usize,

    /// People that only the corpus tells of
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().unseen)]
    pub(crate) unseen: usize,

    /// People that nothing tells of
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().strangers)]
    pub(crate) strangers: usize,

    /// The person of rank r is told of in proportion to r to the power of -S
    #[arg(long, value_name = "S", default_value_t = WorldSettings::default().exponent)]
    pub(crate) exponent: f64,

    /// The texts that each model learns from
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().sequences)]
    pub(crate) sequences: usize,
}

/// `ken world mix`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken world mix island --limit 10
  ken world mix island --limit 120000 --json > training.jsonl

With --json each text is a line with its pieces; those that are learned are marked, and the
others are only read.")]
pub(crate) struct WorldMixArguments {
    /// The folder of the world
    #[arg(value_name = "WORLD")]
    pub(crate) world: PathBuf,

    /// The number of the first text, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,

    /// How many texts
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u64,
}

/// `ken world model`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken world model island --size small --out small-untrained
  ken world model island --size large --out large-untrained --json

About 0.5, 2 and 8 million parameters: small, medium, large. The folder is a model like any
other; its weights are random until it is trained.")]
pub(crate) struct WorldModelArguments {
    /// The folder of the world
    #[arg(value_name = "WORLD")]
    pub(crate) world: PathBuf,

    /// small, medium or large
    #[arg(long, value_name = "SIZE", default_value = "small")]
    pub(crate) size: Size,

    /// The folder to write the model to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// `ken world train`.
#[derive(Debug, Args)]
#[command(arg = Key::device.flag(), after_long_help = "\
Examples:
  ken world train island --size small --out small
  ken world train island --size large --out large --device cuda
  ken world train island --size small --out small --json

All texts of the world are read once, in their order. The small model takes minutes on two
cores, the large one about an hour. Run the same command again to go on where it was stopped.")]
pub(crate) struct WorldTrainArguments {
    /// The folder of the world
    #[arg(value_name = "WORLD")]
    pub(crate) world: PathBuf,

    /// small, medium or large
    #[arg(long, value_name = "SIZE", default_value = "small")]
    pub(crate) size: Size,

    /// The folder to write the model to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Texts a step
    #[arg(long, value_name = "N", default_value_t = 48)]
    pub(crate) batch: usize,

    /// The highest learning rate [default: by size]
    #[arg(long, value_name = "RATE")]
    pub(crate) learning_rate: Option<f64>,
}

/// `ken world truth`.
#[derive(Debug, Args)]
#[command(args = flags(&[Key::adapter, Key::device]), after_long_help = "\
Examples:
  ken world truth ./small island
  ken world truth ./small island --limit 2000 --out truth.jsonl
  ken world truth ./small island --adapter tuned
  ken world truth ./small island --json

The probability of each answer, given its question from memory, given the documents that answer
it, and given a document about somebody else: an answer sampled at temperature 1 is right just
so often. Means are shown by how often training tells of what is asked.")]
pub(crate) struct WorldTruthArguments {
    /// The model, a reference or path
    #[arg(value_name = "MODEL")]
    pub(crate) model: ModelReference,

    /// The folder of the world
    #[arg(value_name = "WORLD")]
    pub(crate) world: PathBuf,

    /// Take a random sample of N questions, chosen by the world's seed
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Write the probabilities of each question to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
