//! The flags of `ken probe`. It loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ken_hub::ModelReference;
use ken_probe::{Correctness, Grouping};

use super::join::PartFlag;
use crate::config::{ADVANCED, FINDING, Key, MODEL, advanced, count, flags, sampling_temperature};

#[derive(Debug, Args)]
#[command(args = flags(&[Key::corpus, Key::k]), args = advanced(FINDING), args = flags(MODEL), after_long_help = "\
Examples:
  ken probe questions.jsonl --corpus notes.ken --out known.jsonl
  ken probe questions.jsonl --out closed-book.jsonl --samples 10 --limit 200
  ken probe questions.jsonl --corpus notes.ken --correct judge --judge http://127.0.0.1:8000/v1
  ken probe questions.jsonl --corpus notes.ken --by kind
  ken probe questions.jsonl --corpus notes.ken --k 8 --at-k 1,3

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..]}, and for multiple choice \
\"choices\": [..]. Answers are sampled under three conditions: from memory, with the evidence that \
`ken ask` would retrieve, and with its golden answers masked. Without a corpus, only from memory.

Records go to the --out file and, as a table, to .parquet beside it. Re-run an interrupted command \
to resume: no sample is drawn twice.")]
pub(crate) struct ProbeArguments {
    /// JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Write records to FILE [default: NAME.probe.jsonl]
    ///
    /// QUESTIONS is NAME.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Probe a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Answers to sample under each condition
    #[arg(long, value_name = "I", default_value = "30", value_parser = count::<NonZeroUsize>)]
    pub(crate) samples: NonZeroUsize,

    /// Sampling temperature, above 0
    #[arg(long, value_name = "T", value_parser = sampling_temperature, default_value = "1", allow_negative_numbers = true)]
    pub(crate) temperature: f32,

    /// When an answer is right: exact, contains or judge
    ///
    /// It equals a golden answer, contains one, or is right according to the --judge model.
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub(crate) correct: Correctness,

    /// When two answers agree: string, meaning:T or entailment
    ///
    /// They are equal, their embeddings have a cosine of at least T, or each entails the other
    /// according to the --judge model.
    #[arg(long, value_name = "HOW", default_value = "string")]
    pub(crate) group: Grouping,

    /// Model for judge and entailment [default: --model]
    ///
    /// URL#NAME picks an endpoint's model.
    #[arg(long, value_name = "REF|URL")]
    pub(crate) judge: Option<ModelReference>,

    /// Also answer with only the K best search results, for each K
    ///
    /// Greedily; `ken calibrate` chooses among these. Each is at most --k.
    #[arg(long, value_name = "K,K", value_delimiter = ',', value_parser = count::<NonZeroUsize>)]
    pub(crate) at_k: Vec<NonZeroUsize>,

    /// Also compute the eigenscore of the samples from memory; each is read once more
    #[arg(long, help_heading = ADVANCED)]
    pub(crate) eigenscore: bool,

    /// Break the report down by a field of the questions' metadata
    ///
    /// In the table and on the page. Many numbers are put into four bins.
    #[arg(long, value_name = "FIELD", help_heading = ADVANCED)]
    pub(crate) by: Option<String>,

    #[command(flatten)]
    pub(crate) part: PartFlag,

    /// Questions probed at once; records do not depend on it, and an interruption loses at most one
    /// batch
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}
