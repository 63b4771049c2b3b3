//! The flags of `ken prune`. It opens no corpus.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use ken_answer::Policy;

use crate::config::{DECIDING, FINDING, Key, MODEL, Settings, count, flags, open_share};

/// By what passages are pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PruneMethod {
    /// The mastery that a pruner foretells, the highest first
    Pruner,
    /// The mastery that was measured (--labels), the highest first
    Measured,
    /// By lot
    Random,
    /// Of passages that say nearly the same, all but one
    NearDuplicates,
}

/// `ken prune`.
#[derive(Debug, Args)]
#[command(args = flags(&[Key::corpus, Key::k]), args = flags(DECIDING), args = flags(FINDING), args = flags(MODEL), after_long_help = "\
Examples:
  ken prune --corpus notes.ken --pruner pruner.json --ratio 0.3 --dry-run
  ken prune --corpus notes.ken --pruner pruner.json --ratio 0.3
  ken prune --corpus notes.ken --pruner pruner.json --max-coverage-loss 0.02 --questions dev.jsonl
  ken prune --corpus notes.ken --method random --seed 7 --ratio 0.3
  ken prune --corpus notes.ken --pruner pruner.json --report --questions dev.jsonl --limit 200
  ken prune --corpus notes.ken --method pruner,random,near-duplicates --pruner pruner.json --report --questions dev.jsonl
  ken prune --corpus notes.ken --pruner pruner.json --labels mastery.jsonl --ratio 0.3
  ken prune --corpus notes.ken --pruner pruner.json --report --questions dev.jsonl --policy router@0.5 --router router.json
  ken prune --corpus notes.ken --undo

A ratio is taken of all passages but those that were pruned by other means, and replaces what
an earlier call pruned. Pruned passages are left out of every result; --undo, or a rollback,
brings them back, and `ken corpus compact` drops them for good. With --max-coverage-loss the
largest ratio is taken for which, with the confidence given, at most that share of questions
like these lose the passage with their answer. --report measures copies, and leaves the
corpus as it is.")]
pub(crate) struct PruneArguments {
    /// A pruner, made by ken train pruner
    #[arg(long, value_name = "FILE")]
    pub(crate) pruner: Option<PathBuf>,

    /// What ken mastery label measured: with it a passage goes by its own mastery, and by the
    /// pruner where it was not measured
    #[arg(long, value_name = "LABELS")]
    pub(crate) labels: Option<PathBuf>,

    /// By what passages are pruned; with --report several with commas between
    #[arg(
        long,
        value_name = "METHOD",
        value_enum,
        value_delimiter = ',',
        default_value = "pruner"
    )]
    pub(crate) method: Vec<PruneMethod>,

    /// Prune this share of the passages, from 0 to less than 1
    #[arg(long, value_name = "R", value_parser = ratio)]
    pub(crate) ratio: Option<f64>,

    /// Prune as much as lets at most this share of --questions lose their answer, between 0 and 1
    #[arg(
        long,
        value_name = "E",
        value_parser = open_share,
        conflicts_with = "ratio",
        requires = "questions"
    )]
    pub(crate) max_coverage_loss: Option<f64>,

    /// The confidence of that guarantee, between 0 and 1
    #[arg(long, value_name = "C", value_parser = open_share, default_value_t = ken_route::CONFIDENCE)]
    pub(crate) confidence: f64,

    /// A JSON Lines file of questions with golden answers, plain or .gz, that the pruner was not
    /// learned from
    #[arg(long, value_name = "FILE")]
    pub(crate) questions: Option<PathBuf>,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Say what would be pruned, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Bring back what was pruned by ken prune
    #[arg(long, conflicts_with_all = ["ratio", "max_coverage_loss", "report", "dry_run"])]
    pub(crate) undo: bool,

    /// Measure answers, bytes and search time at several ratios, on copies beside the corpus
    #[arg(
        long,
        requires = "questions",
        conflicts_with_all = ["ratio", "max_coverage_loss", "dry_run"]
    )]
    pub(crate) report: bool,

    /// The ratios of --report, from 0 to less than 1
    #[arg(
        long,
        value_name = "R",
        value_parser = ratio,
        value_delimiter = ',',
        default_value = "0,0.1,0.3,0.5,0.7"
    )]
    pub(crate) ratios: Vec<f64>,

    /// With --report: answer under this policy, with --router, --kbm or --datastore where it needs
    /// one [default: always]
    #[arg(long, value_name = "POLICY", requires = "report")]
    policy: Option<Policy>,

    /// With --report: answer so many questions at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>)]
    pub(crate) batch: NonZeroUsize,

    /// With --report: keep the answers in DIR [default: NAME.prune-report in the working directory,
    /// where the corpus is NAME.ken]
    #[arg(long, value_name = "DIR", requires = "report")]
    pub(crate) out: Option<PathBuf>,
}

impl PruneArguments {
    /// Only its own flag says by which policy the report answers.
    pub(crate) fn amend(&self, settings: &mut Settings) {
        settings.policy = self.policy.unwrap_or(Policy::Always);
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (0.0..1.0).contains(&ratio) => Ok(ratio),
        _ => Err("a ratio from 0 to less than 1 is wanted".to_owned()),
    }
}
