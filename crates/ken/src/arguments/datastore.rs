//! The flags of `ken datastore`. It opens none.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use ken_lab::{LabelRule, LayerChoice};

use crate::config::{ADVANCED, MODEL, count, flags, share};

/// The verbs of `ken datastore`.
#[derive(Debug, Subcommand)]
pub(crate) enum DatastoreVerb {
    /// Build a datastore from source labels
    Make(DatastoreMakeArguments),
    /// List entries
    List(DatastoreListArguments),
    /// Add an entry
    #[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken datastore add routes \"Who keeps the keys?\" --source notes --adapter routing
  ken datastore add routes \"Who wrote Hamlet?\" --source self --id hamlet --adapter routing")]
    Add {
        /// Datastore
        #[arg(value_name = "DIR")]
        datastore: PathBuf,
        /// Question
        #[arg(value_name = "QUESTION")]
        question: String,
        /// Source that answers it best: self, or a corpus's name
        #[arg(long, value_name = "NAME")]
        source: String,
        /// Id of the entry [default: a hash of the question]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Change the source of entries
    #[command(after_long_help = "\
Examples:
  ken datastore edit routes q17 q18 --source notes")]
    Edit {
        /// Datastore
        #[arg(value_name = "DIR")]
        datastore: PathBuf,
        /// Ids of the entries
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
        /// Source that answers them best: self, or a corpus's name
        #[arg(long, value_name = "NAME")]
        source: String,
    },
    /// Remove entries
    #[command(after_long_help = "\
Examples:
  ken datastore remove routes q17 q18")]
    Remove {
        /// Datastore
        #[arg(value_name = "DIR")]
        datastore: PathBuf,
        /// Ids of the entries
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Import new and changed entries from JSON Lines
    #[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken datastore export routes --out entries.jsonl
  ken datastore import routes entries.jsonl --adapter routing

Each line of FILE is {\"question\", \"source\"}, optionally with an \"id\". A line with the id and \
question of an entry changes its source; one with the id and another question replaces the entry; \
all others are added. Either all lines are imported or none.")]
    Import {
        /// Datastore
        #[arg(value_name = "DIR")]
        datastore: PathBuf,
        /// JSON Lines file of entries
        #[arg(value_name = "FILE")]
        entries: PathBuf,
    },
    /// Export all entries as JSON Lines
    #[command(after_long_help = "\
Examples:
  ken datastore export routes > entries.jsonl
  ken datastore export routes --out entries.jsonl")]
    Export {
        /// Datastore
        #[arg(value_name = "DIR")]
        datastore: PathBuf,
        /// Write to FILE instead of stdout
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(args = flags(MODEL), after_long_help = "\
Examples:
  ken datastore make labels.jsonl --adapter routing --out routes
  ken ask --corpus notes.ken --adapter routing --datastore routes --policy self-route \"Who keeps the keys?\"

LABELS is what `ken label sources` wrote with the same --adapter, since training changes what a model \
knows. Of them, those vote that training held out, except a share left to evaluate on. Keys are the \
model's hidden states at the end of the questions (SR-RAG, section 3.4); the layer, and how many \
neighbors vote, are the best on a quarter of the questions by the votes of the others.")]
pub(crate) struct DatastoreMakeArguments {
    /// Labels written by `ken label sources`
    #[arg(value_name = "LABELS")]
    pub(crate) labels: PathBuf,

    /// Directory to write the datastore to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Rule that picks the preferred source: majority or sum
    ///
    /// That of `ken train self-route`.
    #[arg(long, value_name = "RULE", default_value_t = LabelRule::default())]
    pub(crate) rule: LabelRule,

    /// Layer whose hidden states are the keys: middle, auto (the best of several) or a number
    #[arg(long, value_name = "LAYER", default_value = "auto", help_heading = ADVANCED)]
    pub(crate) layer: LayerChoice,

    /// Divide votes by the sources' shares of the sum of likelihoods
    #[arg(long)]
    pub(crate) soft: bool,

    /// How many neighbors vote: auto (the best of 10, 30 and 100) or a number
    #[arg(long, value_name = "N", default_value = "auto", value_parser = neighbors, help_heading = ADVANCED)]
    pub(crate) neighbors: Neighbors,

    /// Share of the questions to leave for evaluation [default: half of what training held out]
    #[arg(long, value_name = "R", value_parser = share)]
    pub(crate) held_out: Option<f64>,
}

/// How many neighbors vote: the numbers to choose from.
#[derive(Debug, Clone)]
pub(crate) struct Neighbors(pub(crate) Vec<usize>);

fn neighbors(text: &str) -> Result<Neighbors, String> {
    match (text, text.parse::<NonZeroUsize>()) {
        ("auto", _) => Ok(Neighbors(vec![10, 30, 100])),
        (_, Ok(number)) => Ok(Neighbors(vec![number.get()])),
        _ => Err("auto or a number from 1 is expected".to_owned()),
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken datastore list routes
  ken datastore list routes --source self --contains born")]
pub(crate) struct DatastoreListArguments {
    /// Datastore
    #[arg(value_name = "DIR")]
    pub(crate) datastore: PathBuf,

    /// List only entries of this source: self, or a corpus's name
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,

    /// List only entries whose question contains TEXT, ignoring case
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Option<String>,

    /// List at most N entries
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,
}
