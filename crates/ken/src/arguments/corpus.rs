//! The flags of the verbs that fill and search a corpus. It opens none.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand};
use ken_corpus::Sharding;
use ken_documents::Format;
use ken_index::DenseLayout;
use ken_milvus::{IndexKind, MilvusAddress};

use crate::config::{FINDING, Key, count, flags, seed};

/// The settings of `ken ingest`.
const INGESTING: &[Key] = &[
    Key::corpus,
    Key::embedder,
    Key::segment,
    Key::precision,
    Key::max_document_bytes,
];

/// The settings of `ken search`.
fn searching() -> Vec<Arg> {
    let model = "The language model of --rerank likelihood, as for ken ask";
    let others = [Key::corpus, Key::k, Key::model_name, Key::precision];
    let mut searching = flags(&[&others, FINDING].concat());
    searching.push(Key::model.flag_for(model));
    searching
}

/// `ken ingest`.
#[derive(Debug, Args)]
#[command(args = flags(INGESTING), after_long_help = "\
Examples:
  ken ingest notes/ --corpus notes.ken
  ken ingest handbook.md faq.html --corpus help.ken --segment words:100/20
  ken ingest corpus.jsonl.gz --corpus wiki.ken --segment whole
  ken ingest notes/ --corpus notes.ken --embedder hf:intfloat/e5-small-v2
  curl -s https://example.org/passages.tsv.gz | ken ingest - --format tsv --corpus p.ken
  ken ingest wiki.jsonl --corpus wiki.ken --shards 12
  ken ingest wiki.jsonl --corpus part-3.ken --shards 12 --only-shard 3

Reads .txt, .md, .html, .jsonl, .csv, .tsv and .xml (MediaWiki dumps), each also as
.gz, .zst or .bz2, .pdf and .parquet, and folders with all that is in them. JSON Lines
records are {\"id\", \"contents\"} or {\"_id\", \"title\", \"text\"}; tables have columns of
these names.
Run it again after changes: what is unchanged is skipped, what changed is replaced.
Stop it at any time: what was published stays, and the next run goes on from there.")]
pub(crate) struct IngestArguments {
    /// Files and folders to take in; - is stdin, compressed or not
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// What stdin and the files among PATH hold, whatever their names: txt, md, html,
    /// pdf, jsonl, csv, tsv, parquet or xml
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Leave out documents that cannot be read, and name them on stderr, instead of stopping at
    /// the first
    #[arg(long)]
    pub(crate) skip_broken: bool,

    /// Split the documents into N equal random parts; fixed when the corpus is made [default: 1]
    #[arg(long, value_name = "N", value_parser = shard_count)]
    pub(crate) shards: Option<NonZeroU32>,

    /// Another seed splits in another way
    #[arg(long, value_name = "SEED", default_value_t = 0, requires = "shards", value_parser = seed)]
    pub(crate) shard_seed: u64,

    /// How vectors are searched: auto (by size), exact, graph (in memory) or disk (a small graph in
    /// memory, vectors on disk); with :f16 or :int8 they are stored in a half or a quarter of the
    /// bytes, as in auto:f16. Fixed when the corpus is made [default: auto]
    #[arg(long, value_name = "HOW")]
    pub(crate) dense: Option<DenseLayout>,

    /// Take in the documents of shard I only, from 0, into a corpus of its own: for a job among
    /// many that read the same documents in the same order
    #[arg(long, value_name = "I", requires = "shards")]
    pub(crate) only_shard: Option<u32>,
}

/// Parses a number of shards.
fn shard_count(text: &str) -> Result<NonZeroU32, String> {
    match count::<NonZeroU32>(text)? {
        shards if shards.get() <= Sharding::MOST => Ok(shards),
        _ => Err(format!("a corpus has at most {} shards", Sharding::MOST)),
    }
}

impl IngestArguments {
    /// How the documents are to be split, where it is said.
    pub(crate) fn sharding(&self) -> Option<Sharding> {
        self.shards.map(|count| Sharding {
            count: count.get(),
            seed: self.shard_seed,
        })
    }
}

/// `ken search`.
#[derive(Debug, Args)]
#[command(args = searching(), after_long_help = "\
Examples:
  ken search --corpus notes.ken \"oil change interval\"
  ken search --corpus notes.ken \"error E1347\" --mode lexical --k 3
  ken search --corpus notes.ken \"oil change interval\" --json
  ken search --corpus notes.ken \"oil change\" --filter \"year>=2020\" --filter lang=en
  ken search --corpus wiki.ken \"who found radium\" --scale 3
  ken search --corpus wiki.ken \"who found radium\" --rerank embedder --rerank-chunk words:60/30
  ken search --corpus wiki.ken \"who found radium\" --rerank cross-encoder:./models/reranker --k 3
  ken search --corpus notes.ken --json - < queries.txt")]
pub(crate) struct SearchArguments {
    /// What to look for; - reads queries from stdin, one a line
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
}

/// `ken corpus`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_long_help = "\
Every change makes a new generation: searches that run meanwhile keep the one that they
began with, and a command that is stopped leaves the old one."
)]
pub(crate) struct CorpusArguments {
    #[command(subcommand)]
    pub(crate) verb: CorpusVerb,
}

/// What can be done with a corpus that is there.
#[derive(Debug, Subcommand)]
pub(crate) enum CorpusVerb {
    /// Show what a corpus holds, by shard
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus info --corpus notes.ken
  ken corpus info --corpus notes.ken --json")]
    Info,
    /// Check every byte against its checksum; exit code 1 where something is damaged
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus verify --corpus notes.ken
  ken corpus verify --corpus notes.ken --repair

What is damaged takes its segment along, and nothing else. --repair publishes the corpus
without such segments: the rest can be searched again, and ingesting the documents once
more brings back what was lost. Where CURRENT or the current manifest is lost, --repair
takes up the newest generation that is whole. Earlier generations that are damaged can
no longer be returned to afterwards.")]
    Verify {
        /// Publish what is whole, and give up what is damaged
        #[arg(long)]
        repair: bool,
    },
    /// List the generations that can be returned to
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus history --corpus notes.ken")]
    History,
    /// Return to an earlier generation
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus rollback 7 --corpus notes.ken

It becomes a new generation, so that a rollback can be taken back too. That works where the
current generation is damaged, too.")]
    Rollback {
        /// Its number, as `ken corpus history` shows it
        #[arg(value_name = "GENERATION")]
        generation: u64,
    },
    /// Delete documents
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus delete --corpus notes.ken --doc cars/old.md
  ken corpus delete --corpus notes.ken --doc a.md --doc b.md

They are found no more. Their bytes go with the next compaction.")]
    Delete {
        /// The documents' ids
        #[arg(long = "doc", value_name = "ID", required = true)]
        documents: Vec<String>,
    },
    /// Leave passages out of every result
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus prune --corpus notes.ken --ids redundant.jsonl

Each line of FILE is {\"passage_id\": \"a.md#3\", \"score\": 0.9, \"reason\": \"known\"}. A
rollback brings pruned passages back, a compaction drops them for good.")]
    Prune {
        /// A JSON Lines file of passages
        #[arg(long, value_name = "FILE")]
        ids: PathBuf,
    },
    /// Drop from the files what was deleted, replaced or pruned
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus compact --corpus notes.ken

Earlier generations cannot be returned to afterwards. Stop it at any time: shards that
are done stay done.")]
    Compact,
    /// Put the corpora of jobs for single shards together into one
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus join part-0.ken part-1.ken --corpus wiki.ken

The parts stay as they are. All have to be made with the same embedder, segmentation,
number of shards and seed, and each shard comes from one part.")]
    Join {
        /// The corpora to put together
        #[arg(value_name = "PART", required = true)]
        parts: Vec<PathBuf>,
    },
    /// Bring a corpus to Milvus, or a collection there up to date
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus push --corpus notes.ken --to milvus://127.0.0.1:19530/notes
  ken corpus push --corpus wiki.ken --to milvus://milvus.example.org:19530/wiki --index diskann
  ken search --corpus milvus://127.0.0.1:19530/notes \"oil change interval\"

Push again after changes: what is new or changed is sent, what is gone is deleted, and the
rest stays. Stop it at any time: the next push goes on from there. Until a push is done
the collection cannot be searched. A server's API key, or USER:PASSWORD, is read from
KEN_MILVUS_TOKEN; over an unencrypted connection it is sent to this machine only.")]
    Push {
        /// The collection to fill: milvus://HOST:PORT/COLLECTION
        #[arg(long, value_name = "ADDRESS")]
        to: MilvusAddress,
        /// How a new collection finds near vectors: autoindex, hnsw (in memory) or diskann (on
        /// disk) [default: autoindex]
        #[arg(long, value_name = "INDEX")]
        index: Option<IndexKind>,
    },
    /// Write all passages as JSON Lines, to stdout or a file
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus export --corpus notes.ken > passages.jsonl
  ken corpus export --corpus notes.ken --to passages.jsonl

A line is {\"id\", \"title\", \"contents\", \"doc_id\", \"metadata\"}. Pruned passages are left out.")]
    Export {
        /// The file to write
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
}
