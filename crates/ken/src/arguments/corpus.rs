//! The flags of the verbs that fill, search and maintain a corpus. It opens none.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand};
use ken_corpus::{FieldName, Part, Sharding};
use ken_documents::{BaseUrl, Converter, Encoding, Format, HtmlPart};
use ken_index::DenseLayout;
use ken_milvus::{MilvusAddress, VectorIndex};

use super::folder;
use crate::config::{ADVANCED, FINDING, Flag, Key, count, flags, keys, seed};

/// The settings of `ken ingest`.
const INGESTING: &[Key] = &keys![embedder embedder_replicas segment precision max_document_bytes];

/// The settings of `ken search`.
fn searching() -> Vec<Arg> {
    let model = "Language model of --rerank likelihood";
    let others = [Key::corpus, Key::k, Key::model_name, Key::precision];
    let mut searching = flags(&[&others, FINDING].concat());
    searching.push(Key::model.flag_for(model).help_heading(ADVANCED));
    searching
}

#[derive(Debug, Args)]
#[command(arg = folder(), args = flags(INGESTING), after_long_help = "\
Examples:
  ken ingest notes/ --corpus notes.ken
  ken ingest handbook.docx faq.html --corpus help.ken --segment words:100/20
  ken ingest notes/ --corpus notes.ken --sync --dry-run
  ken ingest notes/ --corpus notes.ken --watch
  ken ingest project/ --corpus project.ken --exclude tests/ --exclude '*.log'
  ken ingest manuals/ --corpus help.ken --base-url https://docs.example.org/manuals/
  ken ingest answers.csv --corpus answers.ken --field id=number --field text=body
  curl -s https://example.org/passages.tsv.gz | ken ingest - --format tsv --corpus p.ken
  ken ingest wiki.jsonl --corpus part-3.ken --shards 12 --only-shard 3

Reads text, Markdown, HTML, PDF, Office documents, books, mail, notebooks, source code, records (JSON, \
JSON Lines, CSV, TSV, Parquet), MediaWiki dumps, archives of all these, and directories, recursively. \
Records are {\"id\", \"contents\"} or {\"_id\", \"title\", \"text\"}, or by other common names, or as \
--field says. Of those without an id or without a text, each is a row that tells all its fields.

Re-run it after edits: only changed documents are processed, and --sync deletes those that are gone. An interrupted run keeps what was \
published, and the next one resumes from there.")]
pub(crate) struct IngestArguments {
    /// Files and directories to ingest; `-` reads stdin
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Format of stdin and of the files given, by its usual extension, e.g. txt, md, docx or jsonl; code for source code
    ///
    /// Without it, the extension of a file determines its format; stdin needs it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Field of records that is the id, title, text or metadata: text=body; may be repeated
    ///
    /// Without it, common names are known. A table without a header has its columns by number: text=3.
    #[arg(long, value_name = "ROLE=NAME")]
    pub(crate) field: Vec<FieldName>,

    /// Encoding of all text, such as windows-1252
    ///
    /// Without it, that of each file is found out, and told where it is not UTF-8.
    #[arg(long, value_name = "ENCODING", help_heading = ADVANCED)]
    pub(crate) encoding: Option<Encoding>,

    /// Command that reads files of a name and writes text or Markdown: '*.png=tesseract {} -'; may be repeated
    ///
    /// {} stands for the file. What it wrote is kept by the contents of the file. A command may take 10 minutes and 8 GiB.
    #[arg(long, value_name = "NAMES=COMMAND", help_heading = ADVANCED)]
    pub(crate) convert: Vec<Converter>,

    /// What of HTML pages is read: main, the article where a page has one, or all
    #[arg(long, value_name = "PART", default_value = "main", help_heading = ADVANCED)]
    pub(crate) html: HtmlPart,

    /// Read files outside a folder that links in it lead to
    ///
    /// Without it, such links are skipped and listed on stderr. Links to folders are skipped either way.
    #[arg(long)]
    pub(crate) follow_links: bool,

    /// Leave out files and folders of a name: drafts/ or '*.log'; may be repeated
    ///
    /// As a line of a .gitignore file. It comes before the .ignore and .gitignore files in the folders, which hold as well:
    /// '!build/' takes in what they leave out.
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Skip documents that cannot be read
    ///
    /// They are listed on stderr. Without it, the first one stops the run.
    #[arg(long)]
    pub(crate) skip_broken: bool,

    /// Delete documents whose files or records are gone from the given paths
    ///
    /// What was only moved or renamed is not embedded again. Nothing is deleted if anything could not be read.
    #[arg(long, conflicts_with = "only_shard")]
    pub(crate) sync: bool,

    /// Keep running, and sync whenever files change
    ///
    /// A file is read once it is no longer written to. What cannot be read is skipped and told. A server of the corpus
    /// serves each change within a second.
    #[arg(long, conflicts_with_all = ["only_shard", "dry_run"])]
    pub(crate) watch: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Address of the folder on the web: documents link to it and their paths
    ///
    /// Citations then lead to the original, and in a PDF to the page. Not for records, whose field url is taken.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<BaseUrl>,

    /// Split the documents into N random shards [default: 1]
    ///
    /// Fixed once the corpus exists.
    #[arg(long, value_name = "N", value_parser = shard_count)]
    pub(crate) shards: Option<NonZeroU32>,

    /// Ingest only shard I, counted from 0, into a corpus of its own
    ///
    /// For one job of many that read the same documents in the same order; `ken corpus join` joins
    /// their corpora.
    #[arg(long, value_name = "I", requires = "shards", help_heading = ADVANCED)]
    pub(crate) only_shard: Option<u32>,

    /// Seed of the split into shards
    #[arg(long, value_name = "SEED", default_value_t = 0, requires = "shards", value_parser = seed, help_heading = ADVANCED)]
    pub(crate) shard_seed: u64,

    /// Vector index: auto (by size), exact, graph (in memory) or disk [default: auto]
    ///
    /// With :f16 or :int8, vectors take half or a quarter of the space, as in auto:f16. Fixed once
    /// the corpus exists.
    #[arg(long, value_name = "INDEX", help_heading = ADVANCED)]
    pub(crate) dense: Option<DenseLayout>,
}

/// Parses a number of shards.
fn shard_count(text: &str) -> Result<NonZeroU32, String> {
    match count::<NonZeroU32>(text)? {
        shards if shards.get() <= Sharding::MOST => Ok(shards),
        _ => Err(format!("a corpus has at most {} shards", Sharding::MOST)),
    }
}

/// Parses the number of a generation.
fn generation(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| "it must be a number that `ken corpus history` lists".to_owned())
}

impl IngestArguments {
    /// The split of the documents into shards, if given.
    pub(crate) fn sharding(&self) -> Option<Sharding> {
        self.shards.map(|count| Sharding {
            count: count.get(),
            seed: self.shard_seed,
        })
    }
}

#[derive(Debug, Args)]
#[command(args = searching(), after_long_help = "\
Examples:
  ken search --corpus notes.ken \"oil change interval\"
  ken search --corpus notes.ken \"oil change\" --filter \"year>=2020\" --filter lang=en
  ken search --corpus wiki.ken \"who found radium\" --rerank embedder --k 3
  ken search --corpus notes.ken --json - < queries.txt")]
pub(crate) struct SearchArguments {
    /// Text to search for; `-` reads queries from stdin, one per line
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
}

/// The verbs of `ken corpus`.
#[derive(Debug, Subcommand)]
#[command(after_long_help = "\
Every change publishes a new generation. Running searches keep the generation they started with, \
and an interrupted command leaves the corpus as it was.")]
pub(crate) enum CorpusVerb {
    /// Show what a corpus holds, by shard
    #[command(arg = Key::corpus.flag(), after_long_help = "\
Examples:
  ken corpus info --corpus notes.ken")]
    Info,
    /// List the documents of a corpus, oldest first
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus list --corpus notes.ken
  ken corpus list --corpus notes.ken --prefix manuals/ --limit 20
  ken corpus list --corpus notes.ken --json

With --json, each line is a document with its metadata, and the file that it was read from.")]
    List {
        /// Only documents whose ids begin with this
        #[arg(
            long,
            value_name = "TEXT",
            default_value = "",
            hide_default_value = true
        )]
        prefix: String,
        /// At most so many documents
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        /// Only documents after this one
        #[arg(long, value_name = "ID")]
        after: Option<String>,
    },
    /// Check every byte against its checksum
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus verify --corpus notes.ken
  ken corpus verify --corpus notes.ken --repair

The exit code is 1 if anything is damaged.

Damage costs the segment that it is in, and nothing else. --repair publishes the corpus without \
such segments; ingest the documents again to restore them. If CURRENT or the current manifest is \
lost, --repair continues from the newest intact generation. Damaged earlier generations can no \
longer be rolled back to.")]
    Verify {
        /// Publish the intact segments and drop the damaged ones
        #[arg(long)]
        repair: bool,
    },
    /// List the generations you can roll back to
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus history --corpus notes.ken")]
    History,
    /// Roll back to an earlier generation
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus rollback 7 --corpus notes.ken

A rollback publishes a new generation, so it can be rolled back, too. It works even if the current \
generation is damaged.")]
    Rollback {
        /// Generation number, as shown by `ken corpus history`
        #[arg(value_name = "GENERATION", value_parser = generation)]
        generation: u64,
    },
    /// Delete documents
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus delete --corpus notes.ken --doc a.md --doc cars/old.md

Deleted documents are no longer found; `ken corpus compact` frees their space.")]
    Delete {
        /// Document to delete (repeatable)
        #[arg(long = "doc", value_name = "ID", required = true)]
        documents: Vec<String>,
    },
    /// Remove deleted, replaced and pruned passages from disk
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus compact --corpus notes.ken

You cannot roll back to earlier generations afterwards. An interrupted run keeps the shards that \
are done.")]
    Compact,
    /// Join single-shard corpora into one
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus join part-0.ken part-1.ken --corpus wiki.ken
  ken corpus join part-0.ken --corpus wiki.ken --partial

The parts stay as they are. All must have the same embedder, segmentation, number of shards and \
seed. Each shard comes from one part, and none may be missing without --partial.")]
    Join {
        /// Corpora to join
        #[arg(value_name = "PART", required = true)]
        parts: Vec<PathBuf>,

        /// Join what is there; the parts of other shards can be joined later
        #[arg(long)]
        partial: bool,
    },
    /// Copy a corpus into a backup folder, or bring that up to date
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus backup /backups/notes.ken --corpus notes.ken
  ken search --corpus /backups/notes.ken \"oil change interval\"
  ken corpus backup notes.ken --corpus /backups/notes.ken

The corpus may be written to meanwhile: the backup holds the generation that was current when the \
command started, and every byte is checked as it is copied. A later backup into the same folder \
copies only what is new. A backup is itself a corpus; the last example restores it.")]
    Backup {
        /// Folder of the backup: a new one, or that of the last backup
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Push a corpus to Milvus, or update a collection there
    Push(PushArguments),
    /// Write all passages as JSON Lines
    #[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus export --corpus notes.ken > passages.jsonl
  ken corpus export --corpus notes.ken --out passages.jsonl

Each line is {\"id\", \"title\", \"contents\", \"doc_id\", \"metadata\"}. Pruned passages are left out.")]
    Export {
        /// Write to FILE instead of stdout
        #[arg(long = "out", alias = "to", value_name = "FILE")]
        to: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(arg = folder(), after_long_help = "\
Examples:
  ken corpus push --corpus notes.ken --to milvus://127.0.0.1:19530/notes
  ken corpus push --corpus wiki.ken --to milvus://milvus.example.org:19530/wiki --index diskann
  ken corpus push --corpus wiki.ken --to milvus://milvus.example.org:19530/wiki --part 3/12
  ken corpus push --corpus notes.ken --to milvus://127.0.0.1:19530/notes --switch
  ken search --corpus milvus://127.0.0.1:19530/notes \"oil change interval\"

Push again after changes: only the difference is sent. An interrupted push resumes, and until it \
is done the collection cannot be searched, unless --switch sends all of it to a new one meanwhile. A server's API key, or USER:PASSWORD, is read from \
KEN_MILVUS_TOKEN; over an unencrypted connection it is sent to this machine only.")]
pub(crate) struct PushArguments {
    /// Collection to fill: milvus://HOST:PORT/COLLECTION
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: MilvusAddress,
    /// Index of a new collection: autoindex, hnsw, diskann or ivf_rabitq [default: autoindex]
    ///
    /// With --switch, the default is the index of the collection that is replaced.
    ///
    /// With :f16 or :int8, as in hnsw:int8, vectors have half or a quarter of the bytes, on servers that take them.
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<VectorIndex>,
    /// Push to a new collection, and switch the address to it when that is done
    #[arg(long)]
    pub(crate) switch: bool,
    /// Push part I of N of the passages, beside jobs that push the others
    ///
    /// For several jobs with the same command and the same corpus, or copies of it, each with its own I from 1 to N. The
    /// job that ends last completes the collection.
    #[arg(long, value_name = "I/N", conflicts_with = "switch", help_heading = ADVANCED)]
    pub(crate) part: Option<Part>,
}
