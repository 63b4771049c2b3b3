//! The flags of `ken probe`. It loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ken_hub::ModelReference;
use ken_probe::{Correctness, Grouping};

use crate::config::{FINDING, Key, MODEL, SamplingTemperature, count, flags};

/// `ken probe`.
#[derive(Debug, Args)]
#[command(args = flags(&[Key::corpus, Key::k]), args = flags(FINDING), args = flags(MODEL), after_long_help = "\
Examples:
  ken probe questions.jsonl --corpus notes.ken --out known.jsonl
  ken probe questions.jsonl --out closed-book.jsonl --samples 10 --limit 200
  ken probe questions.jsonl --corpus notes.ken --correct judge --judge http://127.0.0.1:8000/v1
  ken probe questions.jsonl --corpus notes.ken --group meaning:0.85 --json

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..]}, and for multiple choice
\"choices\": [..]. Every question is answered many times: from memory, with the evidence that the
model would be given by ken ask, and with that evidence whose golden answers are masked. Without
a corpus only memory is probed.

One record per question goes to the --out file, and a table of all beside it (.parquet). Run
the same command again to go on where it was stopped: no sample is paid for twice.")]
pub(crate) struct ProbeArguments {
    /// A JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// How many answers to sample under each condition
    #[arg(long, value_name = "I", default_value = "30", value_parser = count::<NonZeroUsize>)]
    pub(crate) samples: NonZeroUsize,

    /// The temperature of the samples, above 0; 1 takes them from the model as it is
    #[arg(
        long,
        value_name = "T",
        default_value = "1",
        allow_negative_numbers = true
    )]
    pub(crate) temperature: SamplingTemperature,

    /// When an answer is right: exact, contains (a golden answer stands in it), or judge (a model
    /// is asked)
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub(crate) correct: Correctness,

    /// When two answers say the same: string, meaning:T (their embeddings have a cosine of at
    /// least T), or entailment (a model holds that each follows from the other)
    #[arg(long, value_name = "HOW", default_value = "string")]
    pub(crate) group: Grouping,

    /// Also take the eigenscore of the samples from memory: the model reads each once more
    #[arg(long)]
    pub(crate) eigenscore: bool,

    /// The model that judge and entailment ask, as --model; an endpoint's model may be named
    /// behind a # [default: the model that is probed]
    #[arg(long, value_name = "REF|URL")]
    pub(crate) judge: Option<ModelReference>,

    /// Probe so many questions at once. The records are the same with any number; one that is
    /// stopped loses at most a batch
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>)]
    pub(crate) batch: NonZeroUsize,

    /// Write the record of each question to FILE [default: NAME.probe.jsonl in the working directory,
    /// where QUESTIONS is NAME.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
