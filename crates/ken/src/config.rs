//! Settings, in three steps: each source (flags, `KEN_*` variables, `ken.toml`)
//! is parsed into a [`Layer`]; the layers are resolved into [`Settings`], the
//! higher one winning; the verbs run on those. It opens no corpus and no model.

mod address;
mod keys;
mod source;
mod values;

pub(crate) use address::CorpusAddress;
pub(crate) use keys::{KeySource, Keys};
pub(crate) use source::CorpusSource;
pub(crate) use values::{Bytes, SamplingTemperature, Temperature, count, seed};

use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Result;
use ken_answer::{Policy, Rerank};
use ken_corpus::{Active, Budget, Filter, Segmentation};
use ken_index::Mode;
use ken_ingest::Cut;
use ken_model::Precision;
use ken_model::decoder::Device;
use ken_model::hub::ModelReference;
use serde::{Serialize, Serializer};

use crate::failure::Refusal;

/// The file that is read where none is named.
const DEFAULT_FILE: &str = "ken.toml";

/// The chunks kept, where nobody says how many, and the passages that they are cut from: the
/// numbers of "Less LLM, More Documents".
const CHUNKS_KEPT: usize = 8;
const RERANK_DEPTH: usize = 10;

/// How passages are cut for reranking where nobody says: half of each chunk stands in the next as
/// well, so that no fifty words in a row are torn apart.
const RERANK_CHUNK: Segmentation = Segmentation::Words {
    size: 100,
    overlap: 50,
};

/// The keys of `ken.toml`; in capitals after `KEN_` they are also variables.
const KEYS: [&str; 29] = [
    "adapter",
    "allow_plaintext_keys",
    "corpus",
    "datastore",
    "device",
    "embedder",
    "evidence_tokens",
    "k",
    "kbm",
    "kbm_model",
    "max_document_bytes",
    "max_tokens",
    "mode",
    "model",
    "model_name",
    "policy",
    "precision",
    "rerank",
    "rerank_chunk",
    "rerank_depth",
    "router",
    "samples",
    "scale",
    "seed",
    "segment",
    "temperature",
    "threads",
    "trust_corpus_embedder",
    "verbalize",
];

/// The keys whose values are true or false.
const TRUTHS: [&str; 3] = ["allow_plaintext_keys", "trust_corpus_embedder", "verbalize"];

/// The table of `ken.toml` that says where the keys of servers are.
const KEY_TABLE: &str = "keys";

/// What one source says; `None` where it says nothing.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Layer {
    pub(crate) adapter: Option<PathBuf>,
    pub(crate) allow_plaintext_keys: Option<bool>,
    pub(crate) corpus: Option<CorpusAddress>,
    pub(crate) datastore: Option<PathBuf>,
    pub(crate) device: Option<Device>,
    pub(crate) embedder: Option<ModelReference>,
    pub(crate) evidence_tokens: Option<NonZeroUsize>,
    /// Said by flags only.
    pub(crate) filters: Vec<Filter>,
    pub(crate) k: Option<NonZeroUsize>,
    pub(crate) kbm: Option<PathBuf>,
    pub(crate) kbm_model: Option<ModelReference>,
    /// Said by the file only.
    pub(crate) keys: Keys,
    pub(crate) max_document_bytes: Option<Bytes>,
    pub(crate) max_tokens: Option<NonZeroUsize>,
    pub(crate) mode: Option<Mode>,
    pub(crate) model: Option<ModelReference>,
    pub(crate) model_name: Option<String>,
    /// Said by flags only: a corpus knows its embedder, whatever new ones are made with.
    pub(crate) moved_embedder: Option<ModelReference>,
    pub(crate) policy: Option<Policy>,
    pub(crate) precision: Option<Precision>,
    pub(crate) rerank: Option<Rerank>,
    pub(crate) rerank_chunk: Option<Segmentation>,
    pub(crate) rerank_depth: Option<NonZeroUsize>,
    /// Said by flags only.
    pub(crate) reverse: bool,
    pub(crate) router: Option<PathBuf>,
    /// Said by flags only.
    pub(crate) sources: Vec<CorpusSource>,
    pub(crate) samples: Option<NonZeroUsize>,
    pub(crate) scale: Option<NonZeroU32>,
    pub(crate) seed: Option<u64>,
    pub(crate) segment: Option<Cut>,
    pub(crate) temperature: Option<Temperature>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) trust_corpus_embedder: Option<bool>,
    pub(crate) verbalize: Option<bool>,
}

/// Why one key could not be taken.
enum Rejection {
    UnknownKey,
    BadValue(String),
}

impl From<String> for Rejection {
    fn from(reason: String) -> Self {
        Self::BadValue(reason)
    }
}

impl Layer {
    /// This layer where it speaks, the lower one where it does not.
    fn over(self, lower: Self) -> Self {
        Self {
            adapter: self.adapter.or(lower.adapter),
            allow_plaintext_keys: self.allow_plaintext_keys.or(lower.allow_plaintext_keys),
            corpus: self.corpus.or(lower.corpus),
            datastore: self.datastore.or(lower.datastore),
            device: self.device.or(lower.device),
            embedder: self.embedder.or(lower.embedder),
            evidence_tokens: self.evidence_tokens.or(lower.evidence_tokens),
            filters: match self.filters.is_empty() {
                true => lower.filters,
                false => self.filters,
            },
            k: self.k.or(lower.k),
            kbm: self.kbm.or(lower.kbm),
            kbm_model: self.kbm_model.or(lower.kbm_model),
            keys: self.keys.over(lower.keys),
            max_document_bytes: self.max_document_bytes.or(lower.max_document_bytes),
            max_tokens: self.max_tokens.or(lower.max_tokens),
            mode: self.mode.or(lower.mode),
            model: self.model.or(lower.model),
            model_name: self.model_name.or(lower.model_name),
            moved_embedder: self.moved_embedder.or(lower.moved_embedder),
            policy: self.policy.or(lower.policy),
            precision: self.precision.or(lower.precision),
            rerank: self.rerank.or(lower.rerank),
            rerank_chunk: self.rerank_chunk.or(lower.rerank_chunk),
            rerank_depth: self.rerank_depth.or(lower.rerank_depth),
            reverse: self.reverse || lower.reverse,
            router: self.router.or(lower.router),
            sources: match self.sources.is_empty() {
                true => lower.sources,
                false => self.sources,
            },
            samples: self.samples.or(lower.samples),
            scale: self.scale.or(lower.scale),
            seed: self.seed.or(lower.seed),
            segment: self.segment.or(lower.segment),
            temperature: self.temperature.or(lower.temperature),
            threads: self.threads.or(lower.threads),
            trust_corpus_embedder: self.trust_corpus_embedder.or(lower.trust_corpus_embedder),
            verbalize: self.verbalize.or(lower.verbalize),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Rejection> {
        match key {
            "adapter" => self.adapter = Some(PathBuf::from(value)),
            "allow_plaintext_keys" => self.allow_plaintext_keys = Some(values::truth(value)?),
            "corpus" => self.corpus = Some(read(value)?),
            "datastore" => self.datastore = Some(value.into()),
            "device" => self.device = Some(read(value)?),
            "embedder" => self.embedder = Some(read(value)?),
            "evidence_tokens" => self.evidence_tokens = Some(count(value)?),
            "k" => self.k = Some(count(value)?),
            "kbm" => self.kbm = Some(PathBuf::from(value)),
            "kbm_model" => self.kbm_model = Some(read(value)?),
            "max_document_bytes" => self.max_document_bytes = Some(read(value)?),
            "max_tokens" => self.max_tokens = Some(count(value)?),
            "mode" => self.mode = Some(read(value)?),
            "model" => self.model = Some(read(value)?),
            "model_name" => self.model_name = Some(value.to_owned()),
            "policy" => self.policy = Some(read(value)?),
            "precision" => self.precision = Some(read(value)?),
            "rerank" => self.rerank = Some(read(value)?),
            "rerank_chunk" => self.rerank_chunk = Some(read(value)?),
            "rerank_depth" => self.rerank_depth = Some(count(value)?),
            "router" => self.router = Some(value.into()),
            "samples" => self.samples = Some(count(value)?),
            "scale" => self.scale = Some(count(value)?),
            "seed" => self.seed = Some(seed(value)?),
            "segment" => self.segment = Some(read(value)?),
            "temperature" => self.temperature = Some(read(value)?),
            "threads" => self.threads = Some(count(value)?),
            "trust_corpus_embedder" => self.trust_corpus_embedder = Some(values::truth(value)?),
            "verbalize" => self.verbalize = Some(values::truth(value)?),
            _ => return Err(Rejection::UnknownKey),
        }
        Ok(())
    }

    /// The settings of a file. A relative corpus, adapter, datastore, kbm or router is
    /// relative to the file.
    fn of_file(path: &Path, text: &str) -> Result<Self, Refusal> {
        let table: toml::Table =
            toml::from_str(text).map_err(|cause| Refusal::config(not_toml(path, text, &cause)))?;
        let mut layer = Self::default();
        for (key, value) in &table {
            if key == KEY_TABLE {
                layer.keys = Keys::read(value).map_err(|reason| {
                    Refusal::config(format!("`{key}` in {}: {reason}", path.display()))
                })?;
                continue;
            }
            let value = match value {
                toml::Value::String(text) => text.clone(),
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(number) => number.to_string(),
                toml::Value::Boolean(yes) if TRUTHS.contains(&key.as_str()) => yes.to_string(),
                other => {
                    let message = format!(
                        "`{key}` in {} is of type {}; a text or a number is expected",
                        path.display(),
                        other.type_str()
                    );
                    return Err(match KEYS.contains(&key.as_str()) {
                        true => Refusal::config(message),
                        false => unknown_key(key, path),
                    });
                }
            };
            layer
                .set(key, &value)
                .map_err(|rejection| match rejection {
                    Rejection::UnknownKey => unknown_key(key, path),
                    Rejection::BadValue(reason) => Refusal::config(format!(
                        "`{key} = {}` in {}: {reason}",
                        shown(&value),
                        path.display()
                    )),
                })?;
        }
        if let Some(folder) = path.parent() {
            layer.corpus = layer.corpus.map(|corpus| corpus.below(folder));
            layer.adapter = layer.adapter.map(|adapter| folder.join(adapter));
            layer.datastore = layer.datastore.map(|datastore| folder.join(datastore));
            layer.kbm = layer.kbm.map(|kbm| folder.join(kbm));
            layer.router = layer.router.map(|router| folder.join(router));
        }
        Ok(layer)
    }

    /// The settings of the environment, asked by name; an empty value counts as
    /// none.
    fn of_environment(get: impl Fn(&str) -> Option<String>) -> Result<Self, Refusal> {
        let mut layer = Self::default();
        for key in KEYS {
            let name = format!("KEN_{}", key.to_ascii_uppercase());
            let Some(value) = get(&name).filter(|value| !value.is_empty()) else {
                continue;
            };
            if let Err(Rejection::BadValue(reason)) = layer.set(key, &value) {
                return Err(Refusal::config(format!(
                    "the variable {name}={}: {reason}",
                    shown(&value)
                )));
            }
        }
        Ok(layer)
    }
}

fn read<T: FromStr<Err: ToString>>(value: &str) -> Result<T, Rejection> {
    value
        .parse()
        .map_err(|reason: T::Err| Rejection::BadValue(reason.to_string()))
}

/// What a message shows of a value: of one that is like a URL, nothing that could be a password.
fn shown(value: &str) -> &str {
    match value.contains("://") {
        true => ken_model::remote::without_secrets(value),
        false => value,
    }
}

/// Where the file is no TOML, and why. The line itself is not shown: it may hold a key.
fn not_toml(path: &Path, text: &str, cause: &toml::de::Error) -> String {
    let before = cause.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(1, |before| before.matches('\n').count() + 1);
    let reason = cause.message();
    format!("{} is not TOML: {reason}, at line {line}", path.display())
}

fn unknown_key(key: &str, path: &Path) -> Refusal {
    let near: Vec<String> = KEYS
        .iter()
        .filter(|known| edits(key, known) <= 2)
        .map(|known| format!("`{known}`"))
        .collect();
    let hint = match near.as_slice() {
        [] => format!(
            "the keys are {}, and the table is [{KEY_TABLE}]",
            KEYS.join(", ")
        ),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Refusal::config(format!("unknown key `{key}` in {}", path.display())).hinting(hint)
}

/// How many letters must be added, removed or replaced to turn one word into
/// the other (Levenshtein's distance).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// What holds for this run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Settings {
    /// The folder of what the model learned on top of its weights.
    pub(crate) adapter: Option<PathBuf>,
    /// Whether keys are sent over unencrypted connections to other machines.
    pub(crate) allow_plaintext_keys: bool,
    /// The shards that are searched.
    #[serde(serialize_with = "as_text")]
    pub(crate) active: Active,
    /// The folder or the address of the corpus, if one was named.
    pub(crate) corpus: Option<CorpusAddress>,
    /// Where the language model computes.
    #[serde(serialize_with = "as_text")]
    pub(crate) device: Device,
    /// The folder of the datastore of the policy `self-route`.
    pub(crate) datastore: Option<PathBuf>,
    /// Corpora beside the first, by the names under which a model chooses them.
    #[serde(skip)]
    pub(crate) sources: Vec<CorpusSource>,
    /// The embedder of a new corpus.
    pub(crate) embedder: ModelReference,
    /// The most evidence in a prompt, in tokens.
    pub(crate) evidence_tokens: usize,
    /// What the documents that are searched have to fit.
    #[serde(skip)]
    pub(crate) filters: Vec<Filter>,
    /// How many passages are retrieved, or chunks kept, where somebody says.
    pub(crate) k: Option<usize>,
    /// The folder of the adapter of the policy `kbm`.
    pub(crate) kbm: Option<PathBuf>,
    /// The model under it, where that is not the one that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kbm_model: Option<ModelReference>,
    /// Where the keys of servers are.
    pub(crate) keys: Keys,
    /// The most bytes of a document that is taken in.
    pub(crate) max_document_bytes: Bytes,
    /// The longest answer, in tokens.
    pub(crate) max_tokens: usize,
    pub(crate) mode: Mode,
    /// The model that answers.
    #[serde(serialize_with = "as_text")]
    pub(crate) model: ModelReference,
    /// Its name, where it is one of several behind an endpoint.
    pub(crate) model_name: Option<String>,
    /// Where the embedder of the corpus is, if not where it was when the corpus was made.
    #[serde(skip)]
    pub(crate) moved_embedder: Option<ModelReference>,
    #[serde(serialize_with = "as_text")]
    pub(crate) policy: Policy,
    /// How the language model's weights are held.
    #[serde(serialize_with = "as_text")]
    pub(crate) precision: Precision,
    /// By what found passages are ranked once more.
    #[serde(serialize_with = "as_text")]
    pub(crate) rerank: Rerank,
    #[serde(serialize_with = "as_text")]
    pub(crate) rerank_chunk: Segmentation,
    /// How many passages are found to be reranked.
    pub(crate) rerank_depth: usize,
    /// The file of the router that the policy of that name decides by.
    pub(crate) router: Option<PathBuf>,
    /// Answers that a policy samples to measure by.
    pub(crate) samples: usize,
    pub(crate) seed: u64,
    #[serde(serialize_with = "as_text")]
    pub(crate) segment: Cut,
    pub(crate) temperature: Temperature,
    /// `None` for one thread per core.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Whether an embedder is asked or fetched because a corpus names it.
    pub(crate) trust_corpus_embedder: bool,
    /// Whether the model writes what it knows before it answers from that.
    pub(crate) verbalize: bool,
}

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

/// Reads the file and the environment and puts the flags over them. `file` is
/// the one that a flag names; without it a missing `ken.toml` says nothing.
pub(crate) fn resolve(flags: Layer, file: Option<&Path>) -> Result<Settings> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    let from_file = match std::fs::read_to_string(path) {
        Ok(text) => Layer::of_file(path, &text)?,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound && file.is_none() => {
            Layer::default()
        }
        Err(cause) => {
            let message = format!("cannot read the settings {}: {cause}", path.display());
            return Err(Refusal::config(message)
                .hinting("check the path after --config")
                .into());
        }
    };
    let from_environment = Layer::of_environment(|name| std::env::var(name).ok())?;
    settings(flags.over(from_environment).over(from_file))
}

fn settings(layer: Layer) -> Result<Settings> {
    Ok(Settings {
        adapter: layer.adapter,
        allow_plaintext_keys: layer.allow_plaintext_keys.unwrap_or(false),
        active: active(layer.scale, layer.reverse)?,
        corpus: layer.corpus,
        datastore: layer.datastore,
        device: layer.device.unwrap_or_default(),
        embedder: match layer.embedder {
            Some(reference) => reference,
            None => ken_model::hub::DEFAULT_EMBEDDER.parse()?,
        },
        evidence_tokens: layer.evidence_tokens.map_or(1536, NonZeroUsize::get),
        filters: layer.filters,
        k: layer.k.map(NonZeroUsize::get),
        kbm: layer.kbm,
        kbm_model: layer.kbm_model,
        keys: layer.keys,
        max_document_bytes: layer
            .max_document_bytes
            .unwrap_or(Bytes(Budget::DEFAULT_DOCUMENT_BYTES)),
        max_tokens: layer.max_tokens.map_or(64, NonZeroUsize::get),
        mode: layer.mode.unwrap_or(Mode::Hybrid),
        model: match layer.model {
            Some(model) => model,
            None => ken_model::hub::DEFAULT_GENERATOR.parse()?,
        },
        model_name: layer.model_name,
        moved_embedder: layer.moved_embedder,
        policy: layer.policy.unwrap_or(Policy::Always),
        precision: layer.precision.unwrap_or_default(),
        rerank: layer.rerank.unwrap_or_default(),
        rerank_chunk: layer.rerank_chunk.unwrap_or(RERANK_CHUNK),
        rerank_depth: layer.rerank_depth.map_or(RERANK_DEPTH, NonZeroUsize::get),
        router: layer.router,
        sources: layer.sources,
        samples: layer.samples.map_or(ken_answer::SAMPLES, NonZeroUsize::get),
        seed: layer.seed.unwrap_or(0),
        segment: layer.segment.unwrap_or(Cut::Auto),
        temperature: layer.temperature.unwrap_or_default(),
        threads: layer.threads,
        trust_corpus_embedder: layer.trust_corpus_embedder.unwrap_or(false),
        verbalize: layer.verbalize.unwrap_or(false),
    })
}

fn active(scale: Option<NonZeroU32>, reverse: bool) -> Result<Active, Refusal> {
    match (scale.map(NonZeroU32::get), reverse) {
        (None, false) => Ok(Active::All),
        (Some(scale), false) => Ok(Active::First(scale)),
        (Some(scale), true) => Ok(Active::Last(scale)),
        (None, true) => Err(Refusal::new(
            "scale_not_named",
            "--reverse takes the last shards, but not how many is said",
        )
        .hinting("add --scale N")),
    }
}

#[cfg(test)]
mod tests;
