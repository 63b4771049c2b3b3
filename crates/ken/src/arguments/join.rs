//! The flag by which a job measures a part, and those of `ken join`. Nothing is opened here.

use std::path::PathBuf;

use clap::Args;
use ken_eval::Part;

use crate::config::ADVANCED;

#[derive(Debug, Args)]
pub(crate) struct PartFlag {
    /// Measure part I of N; `ken join` joins all parts
    ///
    /// For several jobs with the same command, each with its own I from 1 to N. The part is every N-th question of
    /// each file, and goes to a folder beside what --out names: OUT.part-I-of-N.
    #[arg(long, value_name = "I/N", help_heading = ADVANCED)]
    pub(crate) part: Option<Part>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken join known.jsonl.part-1-of-2 known.jsonl.part-2-of-2 --out known.jsonl
  ken join questions.card.part-* --out questions.card
  ken join study.part-* --out study

`ken probe`, `ken card`, `ken eval`, `ken label` and `ken study run` measure a part with --part. Joined, the \
records are those that one run writes, in the same files, with the same report. No model is opened and no \
corpus, so the parts can be brought to any machine.

The parts stay as they are. All must be there, complete and of one run. Join again to complete what was \
interrupted.")]
pub(crate) struct JoinArguments {
    /// Folders of the parts
    #[arg(value_name = "PART", required = true)]
    pub(crate) parts: Vec<PathBuf>,

    /// Write what the run without --part would have written to FILE or DIR
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: PathBuf,
}
