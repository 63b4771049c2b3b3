//! The flags of `ken world`. It generates nothing and loads no model.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_hub::ModelReference;
use ken_world::{Size, WorldSettings};

use crate::config::{Flag, Key, Settings, flags};

/// The verbs of `ken world`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = "\
An invented world of people, books and towns, with a corpus, questions, and small models trained on \
nothing else. How often the training data states a fact decides what such a model knows, and \
that can be computed exactly: methods can be compared with the truth.")]
pub(crate) enum WorldVerb {
    /// Generate a world: its corpus and its questions
    Make(WorldMakeArguments),
    /// Print the texts that models of the world train on
    #[command(after_long_help = "\
Examples:
  ken world mix island --limit 10
  ken world mix island --limit 120000 --json > training.jsonl

With --json, each line has the pieces of a text and marks those that are learned; the others are \
only read.")]
    Mix {
        /// World made by `ken world make`
        #[arg(value_name = "WORLD")]
        world: PathBuf,
        /// Index of the first text, from 0
        #[arg(long, value_name = "N", default_value_t = 0)]
        from: u64,
        /// Number of texts
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u64,
    },
    /// Write an untrained model
    #[command(after_long_help = "\
Examples:
  ken world model island --size small --out small-untrained

tiny, small, medium and large have about 0.25, 0.5, 2 and 8 million parameters. The directory is a model like \
any other, with random weights.")]
    Model(MemberFlags),
    /// Train a model on the world from scratch
    Train(WorldTrainArguments),
    /// Compute what a model knows of the world
    Truth(WorldTruthArguments),
}

impl WorldVerb {
    /// `truth` names its model without a flag.
    pub(crate) fn amend(&self, settings: &mut Settings) {
        if let Self::Truth(truth) = self {
            settings.model = truth.model.clone();
        }
    }
}

#[derive(Debug, Args)]
#[command(arg = Key::seed.flag(), after_long_help = "\
Examples:
  ken world make island
  ken world make island --people 1500 --unseen 200 --strangers 100 --seed 1
  ken world make faithful --documents 1 --look-alikes 0 --outdated 0 --wrong 0 --irrelevant 0

By default the corpus is wrong about many people whom models know, so that retrieving less can \
answer better. With the flags of the last example, it is right about everything that it holds. The \
people whom it misrepresents are drawn as often as the training data mentions them, couples \
together.

The table of sources shows what models would get that know 0.2, 0.5 or 0.8 of what the training data \
tells and believe the corpus: without retrieval, with retrieval for every question, and from the \
better of both.

OUT gets corpus.jsonl for `ken ingest`, questions.jsonl for `ken eval` and `ken probe`, and \
world.json, which reproduces the world. Each question records what it asks for, how often the \
training data states that, and whether it asks the question, too.")]
pub(crate) struct WorldMakeArguments {
    /// Directory to write to, new or empty
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,

    /// People in the training data
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().people)]
    pub(crate) people: usize,

    /// People in the corpus only
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().unseen)]
    pub(crate) unseen: usize,

    /// People in neither
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().strangers)]
    pub(crate) strangers: usize,

    /// Zipf exponent: the person of rank r appears in proportion to r^-S
    #[arg(long, value_name = "S", default_value_t = WorldSettings::default().exponent)]
    pub(crate) exponent: f64,

    /// Most documents about one subject
    ///
    /// The probability of c documents is proportional to c^-2.
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().documents)]
    pub(crate) documents: usize,

    /// Share of people replaced in the corpus by look-alikes
    ///
    /// Of the people in the training data. A look-alike has the same last name and the same relations.
    #[arg(long, value_name = "SHARE", default_value_t = WorldSettings::default().look_alikes)]
    pub(crate) look_alikes: f64,

    /// Share of people whose documents are outdated
    ///
    /// Of the people in the training data. Outdated documents state an earlier trade and employer.
    #[arg(long, value_name = "SHARE", default_value_t = WorldSettings::default().outdated)]
    pub(crate) outdated: f64,

    /// Share of people whose documents are wrong throughout
    ///
    /// Of the people in the training data.
    #[arg(long, value_name = "SHARE", default_value_t = WorldSettings::default().wrong)]
    pub(crate) wrong: f64,

    /// Share of training prompts with irrelevant passages
    ///
    /// Of the training texts with passages. The answer to these comes from memory.
    #[arg(long, value_name = "SHARE", default_value_t = WorldSettings::default().irrelevant)]
    pub(crate) irrelevant: f64,

    /// Texts that each model trains on
    #[arg(long, value_name = "N", default_value_t = WorldSettings::default().sequences)]
    pub(crate) sequences: usize,
}

/// A model of a world, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct MemberFlags {
    /// World made by `ken world make`
    #[arg(value_name = "WORLD")]
    pub(crate) world: PathBuf,

    /// Size of the model: tiny, small, medium or large
    #[arg(long, value_name = "SIZE", default_value = "small")]
    pub(crate) size: Size,

    /// Directory to write the model to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(arg = Key::device.flag(), after_long_help = "\
Examples:
  ken world train island --size small --out small
  ken world train island --size large --out large --device cuda

One pass over all texts of the world, in order. The small model takes minutes on two cores, the \
large one about an hour. Re-run an interrupted command to resume.")]
pub(crate) struct WorldTrainArguments {
    #[command(flatten)]
    pub(crate) member: MemberFlags,

    /// Texts per step
    #[arg(long, value_name = "N", default_value_t = 48)]
    pub(crate) batch: usize,

    /// Peak learning rate [default: by size]
    #[arg(long, value_name = "RATE")]
    pub(crate) learning_rate: Option<f64>,
}

#[derive(Debug, Args)]
#[command(args = flags(&[Key::adapter, Key::device]), after_long_help = "\
Examples:
  ken world truth ./small island
  ken world truth ./small island --limit 2000 --out truth.jsonl

The probability of each answer given its question: from memory, with the documents that answer it, \
with those that the corpus holds instead (misled), and with a document about somebody else. An answer \
sampled at temperature 1 is right exactly that often. Means are grouped by how often the training data \
states the fact. The last row is over all questions: the share of what the training data tells that the \
model knows, and what it gets without retrieval, with it for every question, and from the better of \
both.")]
pub(crate) struct WorldTruthArguments {
    /// Model reference or path
    #[arg(value_name = "MODEL")]
    pub(crate) model: ModelReference,

    /// World made by `ken world make`
    #[arg(value_name = "WORLD")]
    pub(crate) world: PathBuf,

    /// Use a random sample of N questions, chosen by the world's seed
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Write the probabilities of each question to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
