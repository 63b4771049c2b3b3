//! The flags of `ken datastore`. It opens none.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_study::LabelRule;

use super::training::LayerChoice;
use crate::config::{MODEL, count, flags, share};

/// `ken datastore`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct DatastoreArguments {
    #[command(subcommand)]
    pub(crate) verb: DatastoreVerb,
}

/// What can be done with a policy datastore.
#[derive(Debug, Subcommand)]
pub(crate) enum DatastoreVerb {
    /// Make one from questions that were labelled with the source that answers them best
    Make(DatastoreMakeArguments),
    /// Show entries
    List(DatastoreListArguments),
    /// Add an entry
    Add(DatastoreAddArguments),
    /// Give entries another source
    Edit(DatastoreEditArguments),
    /// Remove entries
    Remove(DatastoreRemoveArguments),
    /// Take in entries, new and changed, from a JSON Lines file
    Import(DatastoreImportArguments),
    /// Write all entries as JSON Lines
    Export(DatastoreExportArguments),
}

/// `ken datastore make`.
#[derive(Debug, Args)]
#[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken datastore make labels.jsonl --adapter routing --out routes
  ken datastore make labels.jsonl --adapter routing --rule sum --layer 12 --out routes
  ken ask --corpus notes.ken --adapter routing --datastore routes --policy self-route \"Who keeps the keys?\"

LABELS is what `ken label sources` wrote, best of all of the same model (with --adapter), since
training changes what a model knows. Keys are the model's states behind the questions, of that
layer whose nearest neighbours tell the sources best apart (SR-RAG, section 3.4).")]
pub(crate) struct DatastoreMakeArguments {
    /// A file of records of `ken label sources`
    #[arg(value_name = "LABELS")]
    pub(crate) labels: PathBuf,

    /// Write it into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// By which rule a source is preferred: majority, or sum
    #[arg(long, value_name = "RULE", default_value_t = LabelRule::Majority)]
    pub(crate) rule: LabelRule,

    /// Behind how many blocks keys are taken: middle, auto (the best of several), or a number
    #[arg(long, value_name = "N", default_value = "auto")]
    pub(crate) layer: LayerChoice,

    /// Leave out a share of the questions, to calibrate and evaluate on; that of the training
    #[arg(long, value_name = "R", value_parser = share, default_value_t = 0.3)]
    pub(crate) held_out: f64,
}

/// `ken datastore list`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken datastore list routes
  ken datastore list routes --source self --contains born
  ken datastore list routes --limit 20 --json")]
pub(crate) struct DatastoreListArguments {
    /// The datastore
    #[arg(value_name = "DIR")]
    pub(crate) datastore: PathBuf,

    /// Only entries of this source: self, or the name of a corpus
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,

    /// Only entries whose question holds this text, in whatever case
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Option<String>,

    /// Show N entries at most
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,
}

/// `ken datastore add`.
#[derive(Debug, Args)]
#[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken datastore add routes \"Who keeps the keys?\" --source notes --adapter routing
  ken datastore add routes \"Who wrote Hamlet?\" --source self --id hamlet --adapter routing")]
pub(crate) struct DatastoreAddArguments {
    /// The datastore
    #[arg(value_name = "DIR")]
    pub(crate) datastore: PathBuf,

    /// The question
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,

    /// What answers it best: self, or the name of a corpus
    #[arg(long, value_name = "NAME")]
    pub(crate) source: String,

    /// The entry's id [default: made from the question]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
}

/// `ken datastore edit`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken datastore edit routes q17 --source self
  ken datastore edit routes q17 q18 q19 --source notes")]
pub(crate) struct DatastoreEditArguments {
    /// The datastore
    #[arg(value_name = "DIR")]
    pub(crate) datastore: PathBuf,

    /// The entries
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,

    /// What answers them best: self, or the name of a corpus
    #[arg(long, value_name = "NAME")]
    pub(crate) source: String,
}

/// `ken datastore remove`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken datastore remove routes q17
  ken datastore remove routes q17 q18 q19")]
pub(crate) struct DatastoreRemoveArguments {
    /// The datastore
    #[arg(value_name = "DIR")]
    pub(crate) datastore: PathBuf,

    /// The entries
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

/// `ken datastore import`.
#[derive(Debug, Args)]
#[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken datastore export routes --out entries.jsonl
  ken datastore import routes entries.jsonl --adapter routing

Each line of FILE is {\"question\", \"source\"} and may have an \"id\". A line whose id and
question are there already gives that entry its source; one whose id has another question takes
the entry's place; all others are added. Either all lines are taken in or none.")]
pub(crate) struct DatastoreImportArguments {
    /// The datastore
    #[arg(value_name = "DIR")]
    pub(crate) datastore: PathBuf,

    /// The entries
    #[arg(value_name = "FILE")]
    pub(crate) entries: PathBuf,
}

/// `ken datastore export`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken datastore export routes > entries.jsonl
  ken datastore export routes --out entries.jsonl")]
pub(crate) struct DatastoreExportArguments {
    /// The datastore
    #[arg(value_name = "DIR")]
    pub(crate) datastore: PathBuf,

    /// Write to FILE instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
