//! The flags of the verbs that fill and search a corpus. It opens none.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use ken_corpus::Format;
use ken_index::Mode;
use ken_ingest::Cut;
use ken_model::Precision;
use ken_model::hub::ModelReference;

use crate::config::Layer;

/// Where the corpus lies.
#[derive(Debug, Clone, Args)]
pub(crate) struct CorpusFlag {
    /// The folder of the corpus [setting: corpus]
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,
}

impl CorpusFlag {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.corpus.clone_from(&self.corpus);
    }
}

/// How passages are found.
#[derive(Debug, Clone, Args)]
pub(crate) struct SearchFlags {
    /// How many passages to find [setting: k]
    #[arg(long, value_name = "N")]
    pub(crate) k: Option<NonZeroUsize>,

    /// dense (by meaning), lexical (by words) or hybrid (both, fused) [setting: mode]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,

    /// Where the embedder of the corpus is now, if it was moved
    #[arg(long, value_name = "REF")]
    pub(crate) embedder: Option<ModelReference>,
}

impl SearchFlags {
    /// Writes what was given over a layer of settings.
    pub(crate) fn onto(&self, layer: &mut Layer) {
        layer.k = self.k;
        layer.mode = self.mode;
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
    pub(crate) corpus: CorpusFlag,

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
}

impl IngestArguments {
    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer {
            embedder: self.embedder.clone(),
            segment: self.segment,
            precision: self.precision,
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
  ken search --corpus notes.ken --json - < queries.txt")]
pub(crate) struct SearchArguments {
    /// What to look for; - reads queries from stdin, one a line
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,

    #[command(flatten)]
    pub(crate) corpus: CorpusFlag,

    #[command(flatten)]
    pub(crate) search: SearchFlags,

    /// How the embedder's weights are held: f32, int8 (faster, less exact), or auto
    /// [setting: precision]
    #[arg(long, value_name = "PRECISION")]
    pub(crate) precision: Option<Precision>,
}

impl SearchArguments {
    /// What these flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        let mut layer = Layer {
            precision: self.precision,
            ..Layer::default()
        };
        self.corpus.onto(&mut layer);
        self.search.onto(&mut layer);
        layer
    }
}
