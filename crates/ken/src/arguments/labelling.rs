//! The flags of `ken label`. It loads no model and opens no corpus.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_hub::ModelReference;
use ken_study::label::GoldenChoice;

use super::corpora;
use crate::config::{ADVANCED, FINDING, Flag, Key, MODEL, advanced, count, flags};

/// `ken label`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct LabelArguments {
    #[command(subcommand)]
    pub(crate) verb: LabelVerb,
}

/// What can be labelled.
#[derive(Debug, Subcommand)]
pub(crate) enum LabelVerb {
    /// Label questions with the source that helps most: the model itself, or one of several corpora
    Sources(SourcesArguments),
    /// Label a corpus's sentences with how well the model knows them
    Mastery(MasteryArguments),
}

/// `ken label sources`.
#[derive(Debug, Args)]
#[command(arg = corpora(), args = advanced(FINDING), args = flags(MODEL), after_long_help = "\
Examples:
  ken label sources questions.jsonl --corpus notes.ken
  ken label sources questions.jsonl --corpus notes.ken --corpus wiki=/data/wiki.ken --out labels.jsonl

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..]}, and for multiple choice
\"choices\": [..]. For each question, the model writes N texts from memory, N passages are retrieved
from each corpus, and the golden answer is scored after each of them. The preferred source has most
of the N most helpful texts (majority), or the larger sum of likelihoods (sum).

Records go to the --out file and, as a table, to .parquet beside it; the texts of the first round,
which serve as examples in the second, go to .first. Re-run an interrupted command to resume. The
model must report likelihoods: one on this machine, or an endpoint such as vLLM's.")]
pub(crate) struct SourcesArguments {
    /// JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Write records to FILE [default: NAME.sources.jsonl for NAME.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Label a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Texts that the model writes, and passages retrieved from each corpus
    #[arg(long, value_name = "N", default_value = "5", value_parser = count::<NonZeroUsize>)]
    pub(crate) contexts: NonZeroUsize,

    /// Which of several golden answers to score: first, or likeliest (over all texts together)
    #[arg(long, value_name = "WHICH", default_value = "first", help_heading = ADVANCED)]
    pub(crate) golden: GoldenChoice,

    /// Questions labelled at once; labels do not depend on it, and an interruption loses at most
    /// one batch
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}

/// `ken label mastery`.
#[derive(Debug, Args)]
#[command(arg = Key::corpus.flag_for("Corpus to label, a folder"), args = flags(MODEL), after_long_help = "\
Examples:
  ken label mastery --corpus wiki.ken --limit 2000 --out mastery.jsonl
  ken label mastery --corpus wiki.ken --limit 2000 --writer http://127.0.0.1:8000/v1
  ken label mastery --corpus wiki.ken --questions dev.jsonl --records known.jsonl

Passages of high mastery can be pruned: the model knows what they say. For each sentence of the
sampled passages, a model writes questions about its numbers, names and phrases, and bad questions
are dropped. The language model answers the rest from memory; its mastery of the sentence is the
share it gets right.

Records go to the --out file and, as a table, to .parquet beside it. Re-run an interrupted command
to resume, or with a larger --limit to extend: no question is paid for twice.

With --questions and --records, nothing is written or answered: a question whose
metadata.gold_passage names a passage or document stands for the sentence there that contains a
golden answer, and its mastery is the mean confidence that `ken probe` recorded.")]
pub(crate) struct MasteryArguments {
    /// Write records to FILE [default: NAME.mastery.jsonl for the corpus NAME.ken]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Label a random sample of N passages
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Model that writes and checks the questions; URL#NAME picks an endpoint's model
    /// [default: the model measured]
    #[arg(long, value_name = "REF|URL")]
    pub(crate) writer: Option<ModelReference>,

    /// Ask at most N questions about a sentence
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>)]
    pub(crate) pairs: NonZeroUsize,

    /// Use these questions, which `ken probe` has probed, instead of writing some
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

    /// Sentences labelled at once; records do not depend on it, and an interruption loses at most
    /// one batch
    #[arg(
        long, value_name = "N", default_value = "8", value_parser = count::<NonZeroUsize>,
        help_heading = ADVANCED
    )]
    pub(crate) batch: NonZeroUsize,
}
