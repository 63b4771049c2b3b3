//! The flags of `ken tune`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};
use ken_eval::tune::MAX_LOSS;

use crate::config::{ADVANCED, FINDING, Key, MODEL, advanced, count, flags, keys, open_share};

/// All settings that an answer to a person depends on, except those that are chosen.
fn settings() -> Vec<Arg> {
    let own = [Key::corpus, Key::k, Key::style];
    let finding = [&keys![memory evidence_tokens neighbors], FINDING].concat();
    [flags(&own), advanced(&finding), flags(MODEL)].concat()
}

#[derive(Debug, Args)]
#[command(args = settings(), after_long_help = "\
Examples:
  ken tune questions.jsonl --corpus notes.ken
  ken tune questions.jsonl --corpus notes.ken --write
  ken tune questions.jsonl --corpus notes.ken --max-loss 0.02 --confirm others.jsonl
  ken tune questions.jsonl --corpus notes.ken --style short --limit 200

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..]}; about 200 tell policies \
apart, and fewer than 30 are refused. Each is answered without and with evidence, in the style in which \
`ken ask` and `ken serve` answer: a short answer is right if it is a golden answer, a full one if it \
contains one. Without any golden answers, a short answer is right if it is the one with evidence.

A few policies that cost little and take no training are measured: never, always, documents where it \
is the default, prompt, uncertainty:sequence-probability and evidence:doubt, each half of the questions \
at thresholds from the other half that lose hardly anything there. The yardstick is the better of never and always. Chosen is the \
policy with the fewest tokens of those that take less than that, in tokens and in time, and are not \
worse: whose difference to it, at the lower end of its 95% interval, is a loss of at most --max-loss. Re-run an interrupted command to resume.")]
pub(crate) struct TuneArguments {
    /// JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Choose a policy that is shown to lose at most this much
    ///
    /// Of the accuracy of the better of never and always, at the lower end of the 95% interval.
    #[arg(long, value_name = "L", value_parser = open_share, default_value_t = MAX_LOSS)]
    pub(crate) max_loss: f64,

    /// Try the chosen policy once on other questions
    #[arg(long, value_name = "FILE")]
    pub(crate) confirm: Option<PathBuf>,

    /// Write the chosen policy into ken.toml
    ///
    /// And its guarantee, if it has one, into tuned.guarantee.json beside it, for a server to watch.
    #[arg(long)]
    pub(crate) write: bool,

    /// Tune on a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Keep answers in DIR [default: NAME.tune]
    ///
    /// QUESTIONS is NAME.jsonl.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Questions answered at once
    ///
    /// Answers do not depend on it. Times are shares of a batch's.
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}
