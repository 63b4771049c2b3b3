//! The flags of `ken label`. It loads no model.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use ken_milvus::AddressError;
use ken_study::label::GoldenChoice;

use super::FindingFlags;
use super::answering::ModelFlags;
use crate::config::{CorpusAddress, Layer};

/// `ken label`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct LabelArguments {
    #[command(subcommand)]
    pub(crate) verb: LabelVerb,
}

/// What questions can be labelled with.
#[derive(Debug, Subcommand)]
pub(crate) enum LabelVerb {
    /// The source that helps most: what the model knows, or one of several corpora
    Sources(SourcesArguments),
}

impl LabelVerb {
    /// What the flags say about settings.
    pub(crate) fn layer(&self) -> Layer {
        match self {
            Self::Sources(sources) => sources.layer(),
        }
    }
}

/// A corpus under the name that it has in labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CorpusSource {
    pub(crate) name: String,
    pub(crate) address: CorpusAddress,
}

impl CorpusSource {
    /// Under the name of its folder or collection.
    pub(crate) fn unnamed(address: CorpusAddress) -> Self {
        let name = match &address {
            CorpusAddress::Folder(path) => path.file_stem().map_or_else(
                || "corpus".to_owned(),
                |stem| stem.to_string_lossy().into_owned(),
            ),
            CorpusAddress::Milvus(address) => address.collection().to_owned(),
        };
        Self { name, address }
    }

    /// Reads `DIR` or `NAME=DIR`. A path may be no text.
    fn of_argument(given: OsString) -> Result<Self, AddressError> {
        let named = given.to_str().and_then(|text| text.split_once('='));
        match named {
            Some((name, corpus)) if is_name(name) => Ok(Self {
                name: name.to_owned(),
                address: corpus.parse()?,
            }),
            _ => CorpusAddress::of_argument(given).map(Self::unnamed),
        }
    }
}

/// So that a path with a `=` somewhere is not mistaken for a named corpus.
fn is_name(text: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    !text.is_empty() && text.chars().all(fits)
}

/// `ken label sources`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken label sources questions.jsonl --corpus notes.ken
  ken label sources questions.jsonl --corpus notes.ken --corpus wiki=/data/wiki.ken --out labels.jsonl
  ken label sources questions.jsonl --corpus notes.ken --contexts 3 --limit 200 --seed 7
  ken label sources questions.jsonl --corpus notes.ken --golden likeliest --json

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..]}, and for multiple choice
\"choices\": [..]. For every question the model writes N texts of what it knows, N passages are
found in each corpus, and the golden answer is scored after each of them. The source is
preferred that has most of the N most helpful texts (majority), or whose likelihoods have the
larger sum (sum).

One record per question goes to the --out file, and a table of all beside it (.parquet). What
the model wrote in the first round, from which examples for the second are taken, stands
beside it too (.first). Run the same command again to go on where it was stopped. The model
has to tell how likely given words are: one on this machine, or an endpoint as vLLM's.")]
pub(crate) struct SourcesArguments {
    /// A JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// A corpus as a source: its folder, or milvus://HOST:PORT/COLLECTION, with a name before it
    /// if that of the folder will not do; may be given several times [setting: corpus]
    #[arg(long = "corpus", value_name = "[NAME=]DIR", value_parser = corpus_source())]
    pub(crate) corpora: Vec<CorpusSource>,

    /// How many texts the model writes, and how many passages are found in each corpus
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) contexts: NonZeroUsize,

    /// Which of several golden answers is scored: first, or likeliest (after all texts together)
    #[arg(long, value_name = "WHICH", default_value = "first")]
    pub(crate) golden: GoldenChoice,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Label so many questions at once. The labels are the same with any number; a run that is
    /// stopped loses at most a batch
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) batch: NonZeroUsize,

    /// Write the record of each question to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    finding: FindingFlags,

    #[command(flatten)]
    model: ModelFlags,
}

fn corpus_source() -> impl TypedValueParser<Value = CorpusSource> {
    OsStringValueParser::new().try_map(CorpusSource::of_argument)
}

impl SourcesArguments {
    fn layer(&self) -> Layer {
        let mut layer = Layer::default();
        self.finding.onto(&mut layer);
        self.model.onto(&mut layer);
        layer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_named_by_its_folder_or_before_it() {
        let read = |given: &str| {
            let source = CorpusSource::of_argument(given.into()).unwrap();
            (source.name, source.address.to_string())
        };
        let both = |name: &str, address: &str| (name.to_owned(), address.to_owned());
        assert_eq!(read("sets/notes.ken"), both("notes", "sets/notes.ken"));
        assert_eq!(read("wiki=sets/notes.ken"), both("wiki", "sets/notes.ken"));
        assert_eq!(read("a/b=c"), both("b=c", "a/b=c"));
        assert_eq!(read(".."), both("corpus", ".."));
        let address = "milvus://box:19530/shelf";
        assert_eq!(read(address), both("shelf", address));
        assert_eq!(read(&format!("m={address}")), both("m", address));
        assert!(CorpusSource::of_argument("m=milvus://box".into()).is_err());
    }
}
