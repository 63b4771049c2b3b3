//! The flags of `ken mastery`. It loads no model and opens no corpus.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand};
use ken_hub::ModelReference;

use crate::config::{Key, MODEL, count, flags};

/// The corpus, named without a flag.
fn corpus() -> Arg {
    let corpus = Key::corpus.flag_for("The folder of the corpus");
    corpus.long(None::<&'static str>).value_name("CORPUS")
}

/// `ken mastery`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_long_help = "\
What a model has mastered, a corpus need not hold: passages of high mastery are those that
can be left out."
)]
pub(crate) struct MasteryArguments {
    #[command(subcommand)]
    pub(crate) verb: MasteryVerb,
}

/// What can be done about mastery.
#[derive(Debug, Subcommand)]
pub(crate) enum MasteryVerb {
    /// Measure which sentences of a corpus the language model knows without it
    Label(MasteryLabelArguments),
}

/// `ken mastery label`.
#[derive(Debug, Args)]
#[command(arg = corpus(), args = flags(MODEL), after_long_help = "\
Examples:
  ken mastery label notes.ken --limit 50
  ken mastery label wiki.ken --limit 2000 --seed 7 --out mastery.jsonl
  ken mastery label wiki.ken --limit 2000 --writer http://127.0.0.1:8000/v1
  ken mastery label wiki.ken --limit 2000 --json
  ken mastery label wiki.ken --questions dev.jsonl --records known.jsonl

The passages of the sample are cut into sentences. For each sentence a model writes questions
that the sentence answers, as many as there are numbers, names and phrases to ask for, and bad
ones are dropped. The language model answers the others from memory: the share that it gets
right is its mastery of the sentence.

One record per sentence goes to the --out file, and a table of all beside it (.parquet). Run
the same command again to go on where it was stopped, or with a larger --limit to add to it:
no question is paid for twice.

With --questions and --records nothing is written or answered: questions whose
metadata.gold_passage names a passage or document stand for the sentence of it that holds a
golden answer, and its mastery is the mean confidence that `ken probe` found in them.")]
pub(crate) struct MasteryLabelArguments {
    /// Take a random sample of N passages, chosen by the seed
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// The model that writes the questions and judges them, as --model; an endpoint's model may be
    /// named behind a # [default: the model that is measured]
    #[arg(long, value_name = "REF|URL")]
    pub(crate) writer: Option<ModelReference>,

    /// Ask at most N questions about a sentence
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>)]
    pub(crate) pairs: NonZeroUsize,

    /// Take the questions of FILE, which `ken probe` has probed, instead of having some written
    #[arg(
        long,
        value_name = "FILE",
        requires = "records",
        conflicts_with_all = ["limit", "writer"]
    )]
    pub(crate) questions: Option<PathBuf>,

    /// With --questions: what `ken probe` recorded of them
    #[arg(long, value_name = "RECORDS", requires = "questions")]
    pub(crate) records: Option<PathBuf>,

    /// Work on so many sentences at once. The records are the same with any number; a run that is
    /// stopped loses at most a batch
    #[arg(long, value_name = "N", default_value = "8", value_parser = count::<NonZeroUsize>)]
    pub(crate) batch: NonZeroUsize,

    /// Write the record of each sentence to FILE [default: NAME.mastery.jsonl in the working
    /// directory, where the corpus is NAME.ken]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
