//! The flags of `ken label`. It loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand};
use ken_study::label::GoldenChoice;

use crate::config::{FINDING, Key, MODEL, count, flags};

/// The corpora, each a source.
fn sources() -> Arg {
    let help = "A corpus as a source: its folder, or milvus://HOST:PORT/COLLECTION, with a name before \
                it if that of the folder will not do; may be given several times [setting: corpus]";
    let flag = Key::sources.flag_for(help);
    flag.long("corpus").value_name("[NAME=]DIR")
}

/// `ken label`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct LabelArguments {
    #[command(subcommand)]
    pub(crate) verb: LabelVerb,
}

/// What questions can be labelled with.
#[derive(Debug, Subcommand)]
pub(crate) enum LabelVerb {
    /// The source that helps most: what the model knows, or one of several corpora
    Sources(SourcesArguments),
}

/// `ken label sources`.
#[derive(Debug, Args)]
#[command(arg = sources(), args = flags(FINDING), args = flags(MODEL), after_long_help = "\
Examples:
  ken label sources questions.jsonl --corpus notes.ken
  ken label sources questions.jsonl --corpus notes.ken --corpus wiki=/data/wiki.ken --out labels.jsonl
  ken label sources questions.jsonl --corpus notes.ken --contexts 3 --limit 200 --seed 7
  ken label sources questions.jsonl --corpus notes.ken --golden likeliest --json

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..]}, and for multiple choice
\"choices\": [..]. For every question the model writes N texts of what it knows, N passages are
found in each corpus, and the golden answer is scored after each of them. The source is
preferred that has most of the N most helpful texts (majority), or whose likelihoods have the
larger sum (sum).

One record per question goes to the --out file, and a table of all beside it (.parquet). What
the model wrote in the first round, from which examples for the second are taken, stands
beside it too (.first). Run the same command again to go on where it was stopped. The model
has to tell how likely given words are: one on this machine, or an endpoint as vLLM's.")]
pub(crate) struct SourcesArguments {
    /// A JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// How many texts the model writes, and how many passages are found in each corpus
    #[arg(long, value_name = "N", default_value = "5", value_parser = count::<NonZeroUsize>)]
    pub(crate) contexts: NonZeroUsize,

    /// Which of several golden answers is scored: first, or likeliest (after all texts together)
    #[arg(long, value_name = "WHICH", default_value = "first")]
    pub(crate) golden: GoldenChoice,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Label so many questions at once. The labels are the same with any number; a run that is
    /// stopped loses at most a batch
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>)]
    pub(crate) batch: NonZeroUsize,

    /// Write the record of each question to FILE [default: NAME.sources.jsonl in the working
    /// directory, where QUESTIONS is NAME.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
