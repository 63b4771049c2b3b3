//! The flags of `ken train`. It loads no model and trains nothing.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand, ValueEnum};
use ken_hub::{HubError, ModelReference};
use ken_lab::{LayerChoice, Target};
use ken_train::heads::Shape;

use super::folder_or_milvus;
use super::tune::{
    TrainExamplesArguments, TrainKbmArguments, TrainNoiseTolerantArguments, TrainSelfRouteArguments,
};
use crate::config::{Flag, Key, MODEL, count, flags, keys, open_share};

/// What can be trained.
#[derive(Debug, Subcommand)]
pub(crate) enum TrainVerb {
    /// Fine-tune a language model on a file of training examples
    Examples(Box<TrainExamplesArguments>),
    /// Fine-tune a language model to tolerate irrelevant passages
    NoiseTolerant(Box<TrainNoiseTolerantArguments>),
    /// Fine-tune a language model to say which answers a model knows
    Kbm(Box<TrainKbmArguments>),
    /// Fine-tune a language model to choose its source of knowledge
    SelfRoute(Box<TrainSelfRouteArguments>),
    /// Train a router to predict which questions the model knows
    Router(Box<TrainRouterArguments>),
    /// Train a gate to predict which evidence is worth using
    Gate(Box<TrainGateArguments>),
    /// Train a pruner to predict which passages the model knows
    Pruner(Box<TrainPrunerArguments>),
}

/// How a head is trained and evaluated.
#[derive(Debug, Clone, Args)]
pub(crate) struct HeadFlags {
    /// logistic, mlp:N with N hidden units, or mean-difference
    ///
    /// mean-difference projects on the difference of the means of both classes; it is for routers.
    #[arg(long, value_name = "HEAD", default_value_t = Shape::Logistic)]
    pub(crate) head: Shape,

    /// Share of the labels to hold out
    ///
    /// They evaluate what was trained, and are those of `ken eval --held-out`.
    #[arg(long, value_name = "R", value_parser = open_share, default_value_t = 0.3)]
    pub(crate) held_out: f64,
}

/// How often a head is trained.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct SeedFlags {
    /// Train with N seeds, and tell the mean and the spread of what is measured
    ///
    /// From --seed on, each with other labels held out. What is written is of the first, which holds out those of
    /// `ken eval --held-out`.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count::<NonZeroUsize>)]
    seeds: NonZeroUsize,
}

impl SeedFlags {
    /// All seeds, from the first.
    pub(crate) fn from(self, first: u64) -> impl Iterator<Item = u64> {
        let others = self.seeds.get() as u64;
        (0..others).map(move |more| first.wrapping_add(more))
    }
}

/// The features of questions that a router takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VectorSource {
    /// The question's words (TF-IDF); no model is loaded
    Words,
    /// The question's embedding
    Embedding,
    /// The language model's hidden state at the end of the question
    Hidden,
    /// How sure the language model is of the first token of its answer
    FirstToken,
    /// The same, and the verdict of the --kbm model on the question
    FirstTokenAndKbm,
}

/// Features that a router is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ControlSource {
    /// The question's words.
    Words,
    /// Hidden states of another model.
    Model(ModelReference),
}

fn control_source(text: &str) -> Result<ControlSource, HubError> {
    match text {
        "words" => Ok(ControlSource::Words),
        reference => reference.parse().map(ControlSource::Model),
    }
}

/// The features that a gate takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GateSource {
    /// How well passages fit, and how sure the model is of its answer from memory
    Evidence,
    /// The same, how sure it is of its answer with the evidence, and whether both are the same
    Answers,
}

/// The features of passages that a pruner takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PassageSource {
    /// The corpus's own vectors; no model is loaded
    Embedding,
    /// The language model's hidden state at the end of the passage
    Hidden,
    /// How likely the language model finds the passage, token by token
    Likelihood,
}

/// The settings of `ken train router`.
fn deciding() -> Vec<Arg> {
    let embedder = "Embedder, if no --corpus is given. That of the corpus to be searched";
    let own = keys![corpus kbm kbm_model kbm_for_any_model];
    let mut deciding = flags(&[&own, MODEL].concat());
    deciding.push(Key::embedder.flag_for(embedder));
    deciding
}

#[derive(Debug, Args)]
#[command(args = deciding(), after_long_help = "\
Examples:
  ken train router known.jsonl --corpus notes.ken --out router.json
  ken train router known.jsonl --features first-token --seeds 3 --out router.json
  ken train router known.jsonl --features hidden --layer auto --head mlp:16 --out router.json
  ken train router asked.jsonl --features hidden --predict semantic-entropy --out router.json
  ken train router known.jsonl --features hidden --control words --control hf:Qwen/Qwen2.5-0.5B --out router.json
  ken ask --corpus notes.ken --policy router@0.5 --router router.json \"Who keeps the keys?\"

RECORDS is what `ken probe` wrote. A question counts as known if the greedy answer from memory is \
right, by the probe's --correct. The router predicts the probability that it is not known. Held-out \
questions, those of `ken eval --held-out`, evaluate it. With --kbm, the router trains only on \
questions that `ken train kbm` held out; use it with the same --kbm.

With --predict certainty or semantic-entropy, no golden answers are needed: the router learns from \
raw questions how much sampled answers differ, and predicts the probability that they differ more than \
a border that splits the training questions best. Where there are golden answers, it is evaluated by \
them all the same.

--control trains the same head on other features: what it reaches, the router does not owe to \
looking into the model that it predicts for.

All features except the words and the embedding take a model on this machine and cost one call that reads the \
question; first-token-and-kbm costs another, of the --kbm model.")]
pub(crate) struct TrainRouterArguments {
    /// Records written by `ken probe`
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    /// Write the router to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// What the router takes as input
    #[arg(long, value_name = "FEATURES", default_value = "embedding")]
    pub(crate) features: VectorSource,

    /// What the router predicts: mastery, certainty or semantic-entropy
    ///
    /// Whether the answer from memory is right, by golden answers; or how much sampled answers agree, which
    /// takes none.
    #[arg(long, value_name = "TARGET", default_value_t = Target::Mastery)]
    pub(crate) predict: Target,

    /// Compare with a head over other features: words, or hidden states of the model REF
    ///
    /// May be repeated.
    #[arg(long = "control", value_name = "words|REF", value_parser = control_source)]
    pub(crate) controls: Vec<ControlSource>,

    /// For hidden: N, middle or auto
    ///
    /// The layer after which hidden states are taken; auto is the best of four on training questions.
    #[arg(long, value_name = "LAYER", default_value = "middle")]
    pub(crate) layer: LayerChoice,

    #[command(flatten)]
    pub(crate) head: HeadFlags,

    #[command(flatten)]
    pub(crate) seeds: SeedFlags,
}

/// The settings of `ken train gate`.
fn weighing() -> Vec<Arg> {
    let embedder = "Embedder, if no --corpus is given. That of the corpus that was probed with";
    let mut weighing = flags(&[Key::corpus, Key::seed]);
    weighing.push(Key::embedder.flag_for(embedder));
    weighing
}

#[derive(Debug, Args)]
#[command(args = weighing(), after_long_help = "\
Examples:
  ken train gate known.jsonl --corpus notes.ken --out gate.json
  ken ask --corpus notes.ken --policy evidence:gate --gate gate.json \"Who keeps the keys?\"
  ken calibrate known.jsonl --policy uncertainty:perplexity+evidence:gate --gate gate.json

RECORDS is what `ken probe` wrote with a corpus, best of questions that it covers and of others that it \
does not. The gate predicts how much exact match the evidence adds, from numbers that are there \
anyway: how well passages fit by vectors and by words, and how sure the model is of its greedy answers. \
Evidence that adds nothing is refused, and the answer from memory stands. Held-out questions, those \
of `ken eval --held-out`, evaluate it.")]
pub(crate) struct TrainGateArguments {
    /// Records written by `ken probe` with a corpus
    #[arg(value_name = "RECORDS")]
    pub(crate) records: PathBuf,

    /// Write the gate to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// What the gate takes as input
    ///
    /// answers knows more; with evidence, the model does not read what is refused.
    #[arg(long, value_name = "FEATURES", default_value = "answers")]
    pub(crate) features: GateSource,

    #[command(flatten)]
    pub(crate) head: HeadFlags,

    #[command(flatten)]
    pub(crate) seeds: SeedFlags,
}

#[derive(Debug, Args)]
#[command(arg = folder_or_milvus(), args = flags(MODEL), after_long_help = "\
Examples:
  ken train pruner mastery.jsonl --corpus notes.ken --out pruner.json
  ken train pruner mastery.jsonl --corpus notes.ken --features likelihood --out pruner.json
  ken prune apply --corpus notes.ken --pruner pruner.json --ratio 0.3 --dry-run

LABELS is what `ken label mastery` wrote about this corpus. The pruner predicts the mastery of a \
passage, the mean over its sentences, from the vector that the corpus is searched by, or from what \
a language model computes on the passage; pruning then has that model read every passage. Held-out \
documents evaluate how well predicted and measured mastery agree in rank.")]
pub(crate) struct TrainPrunerArguments {
    /// Labels written by `ken label mastery`
    #[arg(value_name = "LABELS")]
    pub(crate) labels: PathBuf,

    /// Write the pruner to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// What the pruner takes as input
    #[arg(
        long = "features",
        value_name = "FEATURES",
        default_value = "embedding"
    )]
    pub(crate) from: PassageSource,

    /// For hidden: N, middle or auto
    ///
    /// The layer after which hidden states are taken; auto is the best of four on training passages.
    #[arg(long, value_name = "LAYER", default_value = "middle")]
    pub(crate) layer: LayerChoice,

    #[command(flatten)]
    pub(crate) head: HeadFlags,
}
