//! The flags of `ken prune`. It opens no corpus.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use ken_answer::Policy;
use ken_corpus::is_score_name;

use super::folder_or_milvus;
use crate::config::{
    ADVANCED, DECIDING, FINDING, Flag, Key, MODEL, Settings, advanced, count, flags, open_share,
    share,
};

/// How passages are ranked for pruning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PruneMethod {
    /// The mastery that a pruner predicts, highest first
    Pruner,
    /// The mastery that was measured (--labels), highest first
    Measured,
    /// At random
    Random,
    /// All but one of each group of near duplicates
    NearDuplicates,
}

/// The verbs of `ken prune`.
#[derive(Debug, Subcommand)]
pub(crate) enum PruneVerb {
    /// Exclude passages from all results, by what the model knows or by a list
    Apply(PruneApplyArguments),
    /// Keep scores of passages in the corpus, for --filter to prune by
    Score(PruneScoreArguments),
    /// Measure what pruning does to answers, size and speed
    ///
    /// The corpus is not changed.
    Report(PruneReportArguments),
    /// Restore what `ken prune apply` chose to prune
    #[command(arg = folder_or_milvus(), after_long_help = "\
Examples:
  ken prune undo --corpus notes.ken

Passages listed in a file (--ids) stay pruned; `ken corpus rollback` restores them.")]
    Undo,
}

impl PruneVerb {
    /// Only its own flag sets the policy of a report.
    pub(crate) fn amend(&self, settings: &mut Settings) {
        let policy = match self {
            Self::Report(report) => report.policy.unwrap_or(Policy::ALWAYS),
            Self::Apply(_) | Self::Score(_) | Self::Undo => Policy::ALWAYS,
        };
        settings.policy = policy.into();
    }
}

/// What scores the passages.
#[derive(Debug, Args)]
#[command(arg = folder_or_milvus(), args = flags(MODEL))]
pub(crate) struct PruneRanking {
    /// Pruner made by `ken train pruner`
    #[arg(long, value_name = "FILE")]
    pub(crate) pruner: Option<PathBuf>,

    /// Rank labeled passages by their measured mastery
    ///
    /// LABELS is what `ken label mastery` wrote.
    #[arg(long, value_name = "LABELS")]
    pub(crate) labels: Option<PathBuf>,

    /// What to prune first; a report takes several
    #[arg(
        long,
        value_name = "METHOD",
        value_delimiter = ',',
        default_value = "pruner"
    )]
    pub(crate) method: Vec<PruneMethod>,
}

/// What chooses the passages, and the questions that measure the effect.
#[derive(Debug, Args)]
#[command(arg = Key::k.flag(), args = advanced(FINDING))]
pub(crate) struct PruneBasis {
    #[command(flatten)]
    pub(crate) ranking: PruneRanking,

    /// Questions with golden answers
    ///
    /// A JSON Lines file. The pruner must not have been trained on them.
    #[arg(long, value_name = "FILE")]
    pub(crate) questions: Option<PathBuf>,

    /// Use only questions that were held out before
    ///
    /// R is the share that was held out when mastery was labeled and heads were trained.
    #[arg(long, value_name = "R", value_parser = share, help_heading = ADVANCED)]
    pub(crate) held_out: Option<f64>,

    /// Use a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken prune apply --corpus notes.ken --pruner pruner.json --ratio 0.3 --dry-run
  ken prune apply --corpus notes.ken --pruner pruner.json --ratio 0.3 --dry-run --out plan.jsonl
  ken prune apply --corpus notes.ken --pruner pruner.json --max-coverage-loss 0.02 --questions dev.jsonl
  ken prune apply --corpus notes.ken --score mastery --ratio 0.3
  ken prune apply --corpus notes.ken --ids redundant.jsonl

The ratio counts all passages that were not pruned by other means, and replaces what an earlier \
`ken prune apply` pruned. `ken prune undo` or a rollback restores passages; `ken corpus compact` \
removes them from disk. --max-coverage-loss takes the largest ratio at which, with the given \
confidence, at most that share of questions like these lose the passage with their answer. Questions \
that mastery was measured by are refused for that. In Milvus it takes --score, and passages of one score \
go together.

Each line of an --ids file, and of what --out writes, is {\"passage_id\": \"a.md#3\", \"score\": 0.9, \"reason\": \"known\"}.")]
pub(crate) struct PruneApplyArguments {
    /// Prune this share of the passages
    #[arg(long, value_name = "R", value_parser = ratio)]
    pub(crate) ratio: Option<f64>,

    /// Prune while at most this share loses its answer
    ///
    /// Prunes as much as possible while at most this share of --questions loses the passages with its
    /// answer.
    #[arg(long, value_name = "E", value_parser = open_share, conflicts_with = "ratio", requires = "questions")]
    pub(crate) max_coverage_loss: Option<f64>,

    /// Confidence of that guarantee
    #[arg(long, value_name = "C", value_parser = open_share, default_value_t = ken_policy::CONFIDENCE, help_heading = ADVANCED)]
    pub(crate) confidence: f64,

    /// Rank passages by the scores under NAME that `ken prune score` kept, highest first
    ///
    /// Passages without one are not pruned.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = score_name,
        conflicts_with_all = ["pruner", "labels", "method"]
    )]
    pub(crate) score: Option<String>,

    /// Prune the passages listed in FILE
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "pruner", "labels", "method", "score", "questions", "held_out", "limit", "ratio", "max_coverage_loss",
            "confidence", "dry_run", "out"
        ]
    )]
    pub(crate) ids: Option<PathBuf>,

    /// Show what would be pruned, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// With --dry-run: write the passages to FILE, for --ids or a server's console
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) basis: PruneBasis,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken prune score --corpus notes.ken --pruner pruner.json
  ken prune score --corpus notes.ken --method measured --labels mastery.jsonl --name measured
  ken prune score --corpus notes.ken --scores perplexity.jsonl --name perplexity
  ken search --corpus notes.ken --filter \"NOT mastery>=0.7\" \"oil change\"

Filters read scores as they read the metadata of documents, so one corpus is pruned at any threshold, \
without a change of its files. NOT mastery>=0.7 also finds passages without a score, such as those \
that were added later; mastery<0.7 does not. The command prints thresholds for some ratios. Scores \
replace those that were kept under their name.

Each line of a --scores file is {\"passage_id\": \"a.md#3\", \"score\": 12.5}.")]
pub(crate) struct PruneScoreArguments {
    /// Name of the scores, by which filters read them
    #[arg(long, value_name = "NAME", default_value = "mastery", value_parser = score_name)]
    pub(crate) name: String,

    /// Keep the scores that are listed in FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pruner", "labels", "method"])]
    pub(crate) scores: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) ranking: PruneRanking,
}

#[derive(Debug, Args)]
#[command(args = flags(DECIDING), mut_arg("questions", |flag| flag.required(true)), after_long_help = "\
Examples:
  ken prune report --corpus notes.ken --pruner pruner.json --questions dev.jsonl --limit 200
  ken prune report --corpus notes.ken --method pruner,random --pruner pruner.json --questions dev.jsonl
  ken prune report --corpus milvus://127.0.0.1:19530/notes --score mastery --questions dev.jsonl
  ken prune report --corpus notes.ken --pruner pruner.json --questions dev.jsonl --policy router@0.5 --router router.json --held-out 0.3 --by kind

Each ratio is pruned and compacted in a copy of the corpus, which is removed again; in Milvus, a filter \
leaves out the passages with the highest scores, those with equal scores together. Exact match is \
compared, question by question, with the same policy over the whole corpus, and with always retrieving \
from it. Labels and a router that were made from these questions flatter the result; the report says \
so.")]
pub(crate) struct PruneReportArguments {
    /// Ratios to measure
    #[arg(long, value_name = "R", value_parser = ratio, value_delimiter = ',', default_value = "0,0.1,0.3,0.5,0.7")]
    pub(crate) ratios: Vec<f64>,

    /// Rank passages by the scores under NAME that `ken prune score` kept, highest first
    ///
    /// Passages without one are not pruned. A corpus in Milvus is ranked by nothing else.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = score_name,
        conflicts_with_all = ["pruner", "labels", "method"],
        help_heading = ADVANCED
    )]
    pub(crate) score: Option<String>,

    /// Answer under this policy [default: always]
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,

    /// Keep the answers in DIR [default: NAME.prune-report]
    ///
    /// The corpus is NAME.ken.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Break the report down by a field of the questions' metadata
    ///
    /// Many numbers are put into four bins.
    #[arg(long, value_name = "FIELD", help_heading = ADVANCED)]
    pub(crate) by: Option<String>,

    /// Questions answered at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,

    #[command(flatten)]
    pub(crate) basis: PruneBasis,
}

/// A name of scores.
pub(super) fn score_name(text: &str) -> Result<String, String> {
    match is_score_name(text) {
        true => Ok(text.to_owned()),
        false => Err("up to 64 small letters, digits and underscores are expected".to_owned()),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (0.0..1.0).contains(&ratio) => Ok(ratio),
        _ => Err("a ratio from 0 to less than 1 is expected".to_owned()),
    }
}
