//! The flags of `ken label`. It loads no model and opens no corpus.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_hub::ModelReference;
use ken_lab::label::GoldenChoice;
use ken_probe::Correctness;
use ken_probe::mastery::AnswersFrom;

use super::join::PartFlag;
use super::{corpora, folder_or_milvus};
use crate::config::{ADVANCED, FINDING, MODEL, advanced, count, flags, share};

/// The verbs of `ken label`.
#[derive(Debug, Subcommand)]
pub(crate) enum LabelVerb {
    /// Label questions with the source that helps most
    ///
    /// The model itself, or one of several corpora.
    Sources(SourcesArguments),
    /// Label a corpus's sentences with how well the model knows them
    Mastery(Box<MasteryArguments>),
}

#[derive(Debug, Args)]
#[command(arg = corpora(), args = advanced(FINDING), args = flags(MODEL), after_long_help = "\
Examples:
  ken label sources questions.jsonl --corpus notes.ken
  ken label sources questions.jsonl --corpus notes.ken --corpus wiki=/data/wiki.ken --out labels.jsonl

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..]}, and for multiple choice \
\"choices\": [..]. For each question, the model writes N texts from memory, N passages are retrieved \
from each corpus, and the golden answer is scored after each of them. The preferred source has most \
of the N most helpful texts (majority), or the larger sum of likelihoods (sum).

Records go to the --out file and, as a table, to .parquet beside it; the texts of the first round, \
which serve as examples in the second, go to .first. Re-run an interrupted command to resume. The \
model must report likelihoods: one on this machine, or an endpoint such as vLLM's.

With --part, run the command of each part, `ken join`, and both again: the first round ends with the \
texts of all questions, the second with their labels.")]
pub(crate) struct SourcesArguments {
    /// JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Write records to FILE [default: NAME.sources.jsonl]
    ///
    /// QUESTIONS is NAME.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Label a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Contexts to compare from each source
    ///
    /// Texts that the model writes, and passages retrieved from each corpus.
    #[arg(long, value_name = "N", default_value = "5", value_parser = count::<NonZeroUsize>)]
    pub(crate) contexts: NonZeroUsize,

    /// Which of several golden answers to score: first, or likeliest (over all texts together)
    #[arg(long, value_name = "WHICH", default_value = "first", help_heading = ADVANCED)]
    pub(crate) golden: GoldenChoice,

    #[command(flatten)]
    pub(crate) part: PartFlag,

    /// Questions labeled at once; labels do not depend on it, and an interruption loses at most
    /// one batch
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}

#[derive(Debug, Args)]
#[command(arg = folder_or_milvus(), args = flags(MODEL), after_long_help = "\
Examples:
  ken label mastery --corpus wiki.ken --limit 2000 --out mastery.jsonl
  ken label mastery --corpus wiki.ken --limit 2000 --writer http://127.0.0.1:8000/v1
  ken label mastery --corpus wiki.ken --limit 2000 --correct contains
  ken label mastery --corpus wiki.ken --questions dev.jsonl --records known.jsonl --held-out 0.3

Passages of high mastery can be pruned, since the model knows what they say. For each sentence of the \
sampled passages, a model writes questions about its numbers, names and phrases, and bad questions \
are dropped. The language model answers the rest from memory; its mastery of the sentence is the \
share it gets right.

Records go to the --out file and, as a table, to .parquet beside it. Re-run an interrupted command \
to resume, or with a larger --limit to extend it: no question is asked twice.

With --questions and --records, nothing is written or answered: a question whose \
metadata.gold_passage names a passage or document counts for the sentence in it that contains a \
golden answer. The sentence's mastery is the mean confidence that `ken probe` recorded, by the \
--correct of that command. Questions held out here can measure what pruning by these labels does: \
`ken prune report --held-out`.")]
pub(crate) struct MasteryArguments {
    /// Write records to FILE [default: NAME.mastery.jsonl]
    ///
    /// The corpus is NAME.ken.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Label a random sample of N passages
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Model that writes the questions [default: --model]
    ///
    /// It also checks them. URL#NAME picks an endpoint's model.
    #[arg(long, value_name = "REF|URL")]
    pub(crate) writer: Option<ModelReference>,

    /// Who picks the answers that are asked for: program or writer
    ///
    /// The program finds numbers, names, titles and phrases in a sentence; the writer chooses its own, as in the
    /// paper. Weak writers choose answers that the sentence does not give, which are dropped.
    #[arg(long, value_name = "WHO", default_value = "program", help_heading = ADVANCED)]
    pub(crate) answers: AnswersFrom,

    /// When an answer is right: exact, contains or judge
    ///
    /// It equals the sentence's answer, contains it, or is right according to the --judge model. Models
    /// that answer in sentences have mastered more than exact shows.
    #[arg(long, value_name = "HOW", default_value = "exact")]
    pub(crate) correct: Correctness,

    /// Model for --correct judge [default: --model]
    ///
    /// URL#NAME picks an endpoint's model.
    #[arg(long, value_name = "REF|URL")]
    pub(crate) judge: Option<ModelReference>,

    /// Ask at most N questions about a sentence
    #[arg(long, value_name = "N", default_value = "4", value_parser = count::<NonZeroUsize>)]
    pub(crate) pairs: NonZeroUsize,

    /// Use these questions, which have been probed
    #[arg(long, value_name = "FILE", requires = "records", conflicts_with_all = ["limit", "writer", "answers", "correct", "judge", "part"])]
    pub(crate) questions: Option<PathBuf>,

    /// With --questions: their records of `ken probe`
    #[arg(long, value_name = "RECORDS", requires = "questions")]
    pub(crate) records: Option<PathBuf>,

    /// With --questions: leave out those held out for measuring
    ///
    /// R is the share that `ken prune report`, `ken eval` and training hold out.
    #[arg(long, value_name = "R", value_parser = share, requires = "questions", help_heading = ADVANCED)]
    pub(crate) held_out: Option<f64>,

    #[command(flatten)]
    pub(crate) part: PartFlag,

    /// Sentences labeled at once; records do not depend on it, and an interruption loses at most
    /// one batch
    #[arg(long, value_name = "N", default_value = "8", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}
