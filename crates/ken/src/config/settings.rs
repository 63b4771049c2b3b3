//! The settings: one line of the table each. From it follow the field of [`Settings`], the key of
//! `ken.toml`, the variable, the flag, the help and the line of `docs/reference/config.md`.

use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Arg;
use ken_answer::Policy;
use ken_answer::Rerank;
use ken_corpus::{Active, Filter, Segmentation};
use ken_hub::ModelReference;
use ken_index::Mode;
use ken_ingest::Cut;
use ken_model::Precision;
use ken_model::decoder::Device;
use serde::{Serialize, Serializer};

use super::address::CorpusAddress;
use super::define::{Setting, settings};
use super::keys::Keys;
use super::source::CorpusSource;
use super::values::{Bytes, Temperature, Value};
use crate::failure::Refusal;

settings! {
    /// The folder of an adapter, as `ken train` and PEFT write it, that is merged into the
    /// model's weights
    adapter: Option<PathBuf>, "DIR";

    /// Send keys over unencrypted connections to other machines too
    allow_plaintext_keys: bool, "BOOL" = "false", see "[keys](#keys)";

    /// The folder of the corpus, or milvus://HOST:PORT/COLLECTION where it is only searched
    corpus: Option<CorpusAddress>, "DIR", see "[addresses of corpora](cli.md#addresses-of-corpora)";

    /// The datastore of the policy self-route, made by ken datastore make
    datastore: Option<PathBuf>, "DIR";

    /// Where the model computes: cpu, cuda or metal, as ken was built for, or reference (on the CPU
    /// as a GPU would, slowly)
    #[serde(serialize_with = "as_text")]
    device: Device, "DEVICE" = "cpu", see "[GPUs](../how-to/use-a-gpu.md)";

    /// The embedder of a new corpus: a reference, or an endpoint as URL or URL#NAME; fixed when the
    /// corpus is made
    embedder: ModelReference, "REF" = "minilm";

    /// The most tokens that retrieved passages may take in a prompt
    evidence_tokens: usize, "N" = "1536";

    /// Search only documents whose metadata match: KEY=VALUE, or with !=, <, <=, > or >=; may be
    /// given several times, and then all have to match
    #[serde(skip)]
    filters: Vec<Filter>, "CONDITION", only_flag "filter";

    /// How many passages to find; with --rerank, how many chunks to keep
    k: Option<usize>, "N" = "10 for `search`, 3 for answers; 8 with `rerank`";

    /// The adapter, or the model, made by ken train kbm: of the policy kbm, and of routers that
    /// look at it
    kbm: Option<PathBuf>, "DIR";

    /// The model that this adapter was trained on, if that is not the one that answers: one on this
    /// machine
    #[serde(skip_serializing_if = "Option::is_none")]
    kbm_model: Option<ModelReference>, "REF" = "`model`";

    /// The most bytes of a document: of a file, line, record, row or wiki page, unpacked; may be
    /// written as 500K, 64M or 2G. Larger ones count as broken
    max_document_bytes: Bytes, "N" = "64M", see "[budgets](formats.md#budgets)";

    /// The longest answer, in tokens
    max_tokens: usize, "N" = "64";

    /// dense (by meaning), lexical (by words) or hybrid (both, fused)
    mode: Mode, "MODE" = "hybrid";

    /// The language model: a reference, or the base URL of an OpenAI-compatible endpoint such as
    /// http://127.0.0.1:8000/v1, whose key is read from [keys] of ken.toml or from KEN_API_KEY
    #[serde(serialize_with = "as_text")]
    model: ModelReference, "REF|URL" = "smollm2-135m";

    /// Which of the endpoint's models, if it has several
    model_name: Option<String>, "NAME";

    /// Where the embedder of the corpus is now, if it was moved; or where it always was, if that is
    /// an endpoint or a model to be fetched, which are not used because a corpus names them
    #[serde(skip)]
    moved_embedder: Option<ModelReference>, "REF", only_flag "embedder";

    /// When a question retrieves: always, never, random:P, or SIGNAL@T, where a signal of the model
    /// is above the threshold T; SIGNAL+double judges again with the evidence. `ken calibrate --help`
    /// lists the signals, such as certainty, uncertainty:margin or router
    #[serde(serialize_with = "as_text")]
    policy: Policy, "POLICY" = "always", see "[policies](cli.md#policies)";

    /// How the weights of models are held on the CPU: f32, int8 (faster, less exact), or auto
    #[serde(serialize_with = "as_text")]
    precision: Precision, "PRECISION" = "auto";

    /// Cut the passages found into chunks and rank those by none, cross-encoder:REF, likelihood
    /// (of the question, by the language model) or embedder
    #[serde(serialize_with = "as_text")]
    rerank: Rerank, "RERANKER" = "none", see "[rerankers](cli.md#rerankers)";

    /// With --rerank: how they are cut, as for --segment of ken ingest, other than auto
    // Half of each chunk stands in the next as well, so that no fifty words in a row are torn apart.
    #[serde(serialize_with = "as_text")]
    rerank_chunk: Segmentation, "HOW" = "words:100/50", see "[segmentations](cli.md#segmentations)";

    /// With --rerank: how many passages are found and cut
    // As in "Less LLM, More Documents".
    rerank_depth: usize, "N" = "10";

    /// With --scale: the last N shards
    #[serde(skip)]
    reverse: bool, "BOOL" = "false", only_flag "reverse";

    /// The router of the policy of that name, made by ken train router
    router: Option<PathBuf>, "FILE";

    /// How many answers a policy samples to measure by; a threshold holds for the number that it
    /// was calibrated with
    samples: usize, "N" = "10";

    /// Search the first N shards only
    #[serde(skip)]
    scale: Option<NonZeroU32>, "N" = "all";

    /// The seed of all that is random
    seed: u64, "SEED" = "0";

    /// How documents are cut: auto, whole, sentence, words:N[/M] or tokens:N[/M], where M is the
    /// overlap and auto means whole for records (JSON Lines, CSV, TSV, Parquet) and words:100 for
    /// all else
    #[serde(serialize_with = "as_text")]
    segment: Cut, "HOW" = "auto", see "[segmentations](cli.md#segmentations)";

    /// A corpus beside --corpus, by the name under which a model that was trained to choose among
    /// several knows it; may be repeated
    #[serde(skip)]
    sources: Vec<CorpusSource>, "NAME=CORPUS", only_flag "source";

    /// 0 takes the most likely token each time; higher values vary more
    temperature: Temperature, "T" = "0";

    /// Use N threads
    threads: Option<NonZeroUsize>, "N" = "one per core";

    /// Ask or fetch whatever embedder a corpus names
    trust_corpus_embedder: bool, "BOOL" = "false", see "[what ken trusts](#what-ken-trusts)";

    /// Where the model answers from what it knows: have it write that down first, and answer from
    /// the text
    verbalize: bool, "BOOL" = "false";
}

/// The chunks kept where nobody says how many, as in "Less LLM, More Documents".
const CHUNKS_KEPT: usize = 8;

impl Key {
    /// The flag of the setting.
    pub(crate) fn flag(self) -> Arg {
        self.flag_for(SETTINGS[self as usize].help)
    }

    /// The flag of the setting, with what it is for where a verb has a use of its own for it.
    pub(crate) fn flag_for(self, help: &str) -> Arg {
        SETTINGS[self as usize].flag(help)
    }
}

/// The flags of some settings.
pub(crate) fn flags(keys: &[Key]) -> Vec<Arg> {
    keys.iter().map(|key| key.flag()).collect()
}

/// The settings of the language model.
pub(crate) const MODEL: &[Key] = &[
    Key::model,
    Key::model_name,
    Key::adapter,
    Key::precision,
    Key::device,
    Key::max_tokens,
    Key::seed,
];

/// The settings of how passages are found.
pub(crate) const FINDING: &[Key] = &[
    Key::mode,
    Key::rerank,
    Key::rerank_depth,
    Key::rerank_chunk,
    Key::scale,
    Key::reverse,
    Key::filters,
    Key::moved_embedder,
];

/// The settings of what policies decide by.
pub(crate) const DECIDING: &[Key] = &[
    Key::samples,
    Key::router,
    Key::kbm,
    Key::kbm_model,
    Key::datastore,
];

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl Settings {
    /// The corpus, or the error that says how to name one.
    pub(crate) fn corpus(&self) -> Result<&CorpusAddress, Refusal> {
        self.corpus.as_ref().ok_or_else(|| {
            Refusal::new("corpus_not_named", "no corpus is named".to_owned())
                .hinting("give --corpus DIR, set KEN_CORPUS, or write corpus = \"DIR\" to ken.toml")
        })
    }

    /// The corpus, if it lies in a folder, for what can be done there only.
    pub(crate) fn folder(&self) -> Result<&Path, Refusal> {
        match self.corpus()? {
            CorpusAddress::Folder(path) => Ok(path),
            CorpusAddress::Milvus(address) => Err(Refusal::new(
                "corpus_in_milvus",
                format!("this cannot be done with a corpus in Milvus, as {address} is"),
            )
            .hinting(format!(
                "do it with the corpus's folder, and bring the result there by `ken corpus push --corpus DIR --to {address}`"
            ))),
        }
    }

    /// How many passages are wanted, by default `passages`; where they are reranked, how many
    /// chunks.
    pub(crate) fn k(&self, passages: usize) -> usize {
        self.k.unwrap_or(match self.rerank {
            Rerank::None => passages,
            _ => CHUNKS_KEPT,
        })
    }
}
