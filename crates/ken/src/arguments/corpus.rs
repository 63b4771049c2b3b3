//! The flags of the verbs that fill and search a corpus. It opens none.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use ken_answer::Rerank;
use ken_corpus::{Filter, Segmentation, Sharding};
use ken_documents::Format;
use ken_hub::ModelReference;
use ken_index::{DenseLayout, Mode};
use ken_ingest::Cut;
use ken_milvus::{IndexKind, MilvusAddress};
use ken_model::Precision;

use crate::config::{Bytes, CorpusAddress, Layer, count, seed};

/// Where the corpus lies.
#[derive(Debug, Clone, Args)]
pub(crate) struct CorpusFlag {
    /// The folder of the corpus, or milvus://HOST:PORT/COLLECTION where it is only searched
    /// [setting: corpus]
    #[arg(long, value_name = "DIR", value_parser = corpus_address())]
    pub(crate) corpus: Option<CorpusAddress>,
}

/// A path may be no text.
pub(super) fn corpus_address() -> impl TypedValueParser<Value = CorpusAddress> {
    OsStringValueParser::new().try_map(CorpusAddress::of_argument)
}

impl CorpusFlag {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.corpus.clone_from(&self.corpus);
    }
}

/// Where the corpus lies, for what is done with its files.
#[derive(Debug, Clone, Args)]
pub(crate) struct FolderFlag {
    /// The folder of the corpus [setting: corpus]
    #[arg(long, value_name = "DIR", value_parser = corpus_address())]
    corpus: Option<CorpusAddress>,
}

impl FolderFlag {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.corpus.clone_from(&self.corpus);
    }
}

/// How many passages are found, and how.
#[derive(Debug, Clone, Args)]
pub(crate) struct SearchFlags {
    /// How many passages to find; with --rerank, how many chunks to keep [setting: k]
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) k: Option<NonZeroUsize>,

    #[command(flatten)]
    pub(crate) finding: FindingFlags,
}

/// How passages are found.
#[derive(Debug, Clone, Args)]
pub(crate) struct FindingFlags {
    /// dense (by meaning), lexical (by words) or hybrid (both, fused) [setting: mode]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,

    /// Cut the passages found into chunks and rank those by none, cross-encoder:REF, likelihood
    /// (of the question, by the language model) or embedder; keeps 8 chunks if --k says nothing
    /// [setting: rerank]
    #[arg(long, value_name = "RERANKER")]
    pub(crate) rerank: Option<Rerank>,

    /// With --rerank: how many passages are found and cut [default: 10] [setting: rerank_depth]
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) rerank_depth: Option<NonZeroUsize>,

    /// With --rerank: how they are cut, as for --segment of ken ingest [default: words:100/50]
    /// [setting: rerank_chunk]
    #[arg(long, value_name = "HOW")]
    pub(crate) rerank_chunk: Option<Segmentation>,

    /// Search the first N shards only [setting: scale]
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>)]
    pub(crate) scale: Option<NonZeroU32>,

    /// With --scale: the last N shards
    #[arg(long)]
    pub(crate) reverse: bool,

    /// Search documents only whose metadata fit: KEY=VALUE, or with !=, <, <=, > or >=; may be
    /// given several times, and then all have to fit
    #[arg(long = "filter", value_name = "CONDITION")]
    pub(crate) filters: Vec<Filter>,

    /// Where the embedder of the corpus is now, if it was moved; or where it always was, if that is
    /// an endpoint or a model to be fetched, which are not used because a corpus names them
    #[arg(long, value_name = "REF")]
    pub(crate) embedder: Option<ModelReference>,
}

impl SearchFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.k = self.k;
        self.finding.onto(layer);
    }
}

impl FindingFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.mode = self.mode;
        layer.rerank.clone_from(&self.rerank);
        layer.rerank_depth = self.rerank_depth;
        layer.rerank_chunk = self.rerank_chunk;
        layer.scale = self.scale;
        layer.reverse = self.reverse;
        layer.filters.clone_from(&self.filters);
        layer.moved_embedder.clone_from(&self.embedder);
    }
}

/// `ken ingest`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
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

    #[command(flatten)]
    pub(crate) corpus: FolderFlag,

    /// The sentence embedder; fixed when the corpus is made [setting: embedder]
    #[arg(long, value_name = "REF")]
    pub(crate) embedder: Option<ModelReference>,

    /// auto, whole, sentence, words:N[/M] or tokens:N[/M], where M is the overlap
    /// and auto means whole for records (JSON Lines, CSV, TSV, Parquet) and words:100 for all else
    /// [setting: segment]
    #[arg(long, value_name = "HOW")]
    pub(crate) segment: Option<Cut>,

    /// How the embedder's weights are held: f32, int8 (faster, less exact), or auto
    /// [setting: precision]
    #[arg(long, value_name = "PRECISION")]
    pub(crate) precision: Option<Precision>,

    /// Leave out documents that cannot be read, and name them on stderr, instead of stopping at
    /// the first
    #[arg(long)]
    pub(crate) skip_broken: bool,

    /// The most bytes of a document: of a file, line, record, row or wiki page, unpacked; may be
    /// written as 500K, 64M or 2G. Larger ones count as broken [default: 64M]
    /// [setting: max_document_bytes]
    #[arg(long, value_name = "N")]
    pub(crate) max_document_bytes: Option<Bytes>,

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

    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer {
            embedder: self.embedder.clone(),
            segment: self.segment,
            precision: self.precision,
            max_document_bytes: self.max_document_bytes,
            ..Layer::default()
        };
        self.corpus.onto(&mut layer);
        layer
    }
}

/// `ken search`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
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

    #[command(flatten)]
    pub(crate) corpus: CorpusFlag,

    #[command(flatten)]
    pub(crate) search: SearchFlags,

    /// The language model of --rerank likelihood, as for ken ask [setting: model]
    #[arg(long, value_name = "REF|URL")]
    pub(crate) model: Option<ModelReference>,

    /// Which of the endpoint's models, if it has several [setting: model_name]
    #[arg(long, value_name = "NAME")]
    pub(crate) model_name: Option<String>,

    /// How the models' weights are held: f32, int8 (faster, less exact), or auto
    /// [setting: precision]
    #[arg(long, value_name = "PRECISION")]
    pub(crate) precision: Option<Precision>,
}

impl SearchArguments {
    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer {
            model: self.model.clone(),
            model_name: self.model_name.clone(),
            precision: self.precision,
            ..Layer::default()
        };
        self.corpus.onto(&mut layer);
        self.search.onto(&mut layer);
        layer
    }
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
    #[command(after_long_help = "\
Examples:
  ken corpus info --corpus notes.ken
  ken corpus info --corpus notes.ken --json")]
    Info(CorpusFlag),
    /// Check every byte against its checksum; exit code 1 where something is damaged
    #[command(after_long_help = "\
Examples:
  ken corpus verify --corpus notes.ken
  ken corpus verify --corpus notes.ken --repair

What is damaged takes its segment along, and nothing else. --repair publishes the corpus
without such segments: the rest can be searched again, and ingesting the documents once
more brings back what was lost. Where CURRENT or the current manifest is lost, --repair
takes up the newest generation that is whole. Earlier generations that are damaged can
no longer be returned to afterwards.")]
    Verify {
        #[command(flatten)]
        corpus: FolderFlag,
        /// Publish what is whole, and give up what is damaged
        #[arg(long)]
        repair: bool,
    },
    /// List the generations that can be returned to
    #[command(after_long_help = "\
Examples:
  ken corpus history --corpus notes.ken")]
    History(FolderFlag),
    /// Return to an earlier generation
    #[command(after_long_help = "\
Examples:
  ken corpus rollback 7 --corpus notes.ken

It becomes a new generation, so that a rollback can be taken back too. That works where the
current generation is damaged, too.")]
    Rollback {
        /// Its number, as `ken corpus history` shows it
        #[arg(value_name = "GENERATION")]
        generation: u64,
        #[command(flatten)]
        corpus: FolderFlag,
    },
    /// Delete documents
    #[command(after_long_help = "\
Examples:
  ken corpus delete --corpus notes.ken --doc cars/old.md
  ken corpus delete --corpus notes.ken --doc a.md --doc b.md

They are found no more. Their bytes go with the next compaction.")]
    Delete {
        /// The documents' ids
        #[arg(long = "doc", value_name = "ID", required = true)]
        documents: Vec<String>,
        #[command(flatten)]
        corpus: FolderFlag,
    },
    /// Leave passages out of every result
    #[command(after_long_help = "\
Examples:
  ken corpus prune --corpus notes.ken --ids redundant.jsonl

Each line of FILE is {\"passage_id\": \"a.md#3\", \"score\": 0.9, \"reason\": \"known\"}. A
rollback brings pruned passages back, a compaction drops them for good.")]
    Prune {
        /// A JSON Lines file of passages
        #[arg(long, value_name = "FILE")]
        ids: PathBuf,
        #[command(flatten)]
        corpus: FolderFlag,
    },
    /// Drop from the files what was deleted, replaced or pruned
    #[command(after_long_help = "\
Examples:
  ken corpus compact --corpus notes.ken

Earlier generations cannot be returned to afterwards. Stop it at any time: shards that
are done stay done.")]
    Compact(FolderFlag),
    /// Put the corpora of jobs for single shards together into one
    #[command(after_long_help = "\
Examples:
  ken corpus join part-0.ken part-1.ken --corpus wiki.ken

The parts stay as they are. All have to be made with the same embedder, segmentation,
number of shards and seed, and each shard comes from one part.")]
    Join {
        /// The corpora to put together
        #[arg(value_name = "PART", required = true)]
        parts: Vec<PathBuf>,
        #[command(flatten)]
        corpus: FolderFlag,
    },
    /// Bring a corpus to Milvus, or a collection there up to date
    #[command(after_long_help = "\
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
        #[command(flatten)]
        corpus: FolderFlag,
    },
    /// Write all passages as JSON Lines, to stdout or a file
    #[command(after_long_help = "\
Examples:
  ken corpus export --corpus notes.ken > passages.jsonl
  ken corpus export --corpus notes.ken --to passages.jsonl

A line is {\"id\", \"title\", \"contents\", \"doc_id\", \"metadata\"}. Pruned passages are left out.")]
    Export {
        /// The file to write
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        #[command(flatten)]
        corpus: FolderFlag,
    },
}

impl CorpusVerb {
    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer::default();
        match self {
            Self::Info(corpus) => corpus.onto(&mut layer),
            Self::History(corpus)
            | Self::Compact(corpus)
            | Self::Verify { corpus, .. }
            | Self::Rollback { corpus, .. }
            | Self::Delete { corpus, .. }
            | Self::Prune { corpus, .. }
            | Self::Join { corpus, .. }
            | Self::Push { corpus, .. }
            | Self::Export { corpus, .. } => corpus.onto(&mut layer),
        }
        layer
    }
}
