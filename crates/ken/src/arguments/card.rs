//! The flags of `ken card`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};

use super::join::PartFlag;
use crate::config::{ADVANCED, FINDING, Key, MODEL, advanced, count, flags};

fn settings() -> Vec<Arg> {
    let own = [Key::corpus, Key::k];
    let finding = [&[Key::evidence_tokens, Key::neighbors], FINDING].concat();
    [flags(&own), advanced(&finding), flags(MODEL)].concat()
}

#[derive(Debug, Args)]
#[command(args = settings(), after_long_help = "\
Examples:
  ken card questions.jsonl --corpus notes.ken --model qwen2.5-1.5b
  ken card questions.jsonl --corpus notes.ken --by kind --by year --limit 300

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..], \"metadata\": {..}}. Each is answered without \
and with evidence; an answer is right if it is a golden answer. The card says what the model knows, by the fields \
of the questions' metadata; whether its own uncertainty tells what it knows; what evidence helps and harms; and what a \
search is worth. Re-run an interrupted command to resume.")]
pub(crate) struct CardArguments {
    /// JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Tell the questions apart by a field of their metadata; may be repeated
    ///
    /// By default, by each field with few values or with numbers, which are put into four bins.
    #[arg(long, value_name = "FIELD")]
    pub(crate) by: Vec<String>,

    /// Use a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Write answers and the card to DIR [default: NAME.card]
    ///
    /// QUESTIONS is NAME.jsonl.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) part: PartFlag,

    /// Questions answered at once
    ///
    /// Answers do not depend on it. Times are shares of a batch's.
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}
