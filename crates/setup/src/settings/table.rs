//! The settings, one line of the table each. A line defines the field of [`Settings`], the key of `ken.toml`, the
//! variable, the flag, the help and the line of `docs/reference/config.md`.

use std::fmt::Display;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use ken_answer::{Abstention, AnswerSettings, EvidencePlace, Memory, Policy, Rerank, Style};
use ken_corpus::{Active, Cut, Filter, Segmentation};
use ken_hub::ModelReference;
use ken_index::{Mode, Recall};
use ken_model::Precision;
use ken_model::decoder::{Device, ReadAs};
use serde::{Serialize, Serializer};

use super::address::CorpusAddress;
use super::define::{Setting, settings};
use super::keys::Keys;
use super::named_servers::Named;
use super::origins::Origins;
use super::source::CorpusSource;
use super::values::{Bytes, OrAuto, Value};
use crate::error::SetupError;

settings! {
    /// Withhold answers that this signal does not vouch for: SIGNAL@THRESHOLD, such as
    /// uncertainty:perplexity@1.3 or evidence:confidence@-0.4. `ken calibrate --abstain` finds the threshold
    /// together with that of the policy
    #[serde(skip_serializing_if = "Option::is_none")]
    abstain: Option<Abstention>, "SIGNAL", see "[abstaining](../how-to/choose-a-threshold.md#abstain)";

    /// LoRA adapter on top of the model. Written by `ken train` or PEFT
    adapter: Option<PathBuf>, "DIR";

    /// Send API keys to other machines over unencrypted connections, too
    allow_plaintext_keys: bool, "BOOL" = "false", see "[keys](#keys)";

    /// With `serve`: web pages and programs in browsers that may use it, by their origins, such as
    /// https://chat.example.org,http://localhost:3000
    #[serde(skip)]
    allowed_origins: Option<Origins>, "ORIGINS", only_flag "allowed-origins";

    /// With `serve`: guarantee to watch. Made by `ken calibrate --out`; the policy has to be its own
    #[serde(skip)]
    calibration: Option<PathBuf>, "FILE", see "[watch a guarantee](../how-to/watch-a-guarantee.md)";

    /// Corpus: a folder, milvus://HOST:PORT/COLLECTION, or a search service such as
    /// qdrant+http://HOST:PORT/COLLECTION. In Milvus and behind a service, it can only be searched
    corpus: Option<CorpusAddress>, "DIR", see "[addresses of corpora](cli.md#addresses-of-corpora)";

    /// Datastore for the policy self-route. Made by `ken datastore make`
    datastore: Option<PathBuf>, "DIR";

    /// With `serve`: how long a request may take, in seconds, waiting included
    #[serde(skip)]
    deadline: NonZeroU32, "SECONDS" = "300";

    /// Where the model runs: cpu, cuda, metal, or reference (the GPU code path on the CPU, slow)
    #[serde(serialize_with = "as_text")]
    device: Device, "DEVICE" = "cpu", see "[GPUs](../how-to/use-a-gpu.md)";

    /// Embedder of a new corpus. A model reference, or an endpoint as URL or URL#NAME; fixed once the
    /// corpus exists
    embedder: ModelReference, "REF" = "minilm";

    /// Other endpoints that serve the model of an embedder behind an endpoint: URL,URL. The work is divided among
    /// all of them
    #[serde(skip)]
    embedder_replicas: Option<String>, "URLS";

    /// With `serve`: where evidence stands in a conversation with instructions of its own: question (before it) or
    /// system (behind these)
    #[serde(skip)]
    evidence_place: EvidencePlace, "PLACE" = "question", see "[conversations](server.md#applications-with-a-prompt-of-their-own)";

    /// Token budget for retrieved passages in a prompt
    evidence_tokens: usize, "N" = "1536";

    /// With `serve`: what stands before the passages there, in place of ken's own words
    #[serde(skip)]
    evidence_words: Option<String>, "TEXT";

    /// Search only documents whose metadata fit: year>=2020 AND lang IN (de, fr). May be repeated, and
    /// all have to fit.
    ///
    /// Signs are =, !=, <, <=, >, >= and ^= (begins with). AND, OR, NOT, EXISTS KEY and parentheses join conditions.
    #[serde(skip)]
    filters: Vec<Filter>, "FILTER", only_flag "filter";

    /// Gate for the policy evidence:gate. Made by `ken train gate`
    gate: Option<PathBuf>, "FILE";

    /// With `serve`: how long a connection may be idle between two requests, in seconds
    // More than the minute after which load balancers give theirs up.
    #[serde(skip)]
    idle_timeout: NonZeroU32, "SECONDS" = "75", see "[connections](server.md#connections)";

    /// Passages to retrieve. With --rerank, chunks to keep, 8 by default
    k: Option<usize>, "N" = "3, 10 for `search`";

    /// Model for the policy kbm. Made by `ken train kbm`; routers may take its verdict as input, too
    kbm: Option<PathBuf>, "DIR";

    /// Let the model of --kbm decide for a model that it was not trained on
    kbm_for_any_model: bool, "BOOL" = "false";

    /// Base model of --kbm, if it is not the one that answers
    #[serde(skip_serializing_if = "Option::is_none")]
    kbm_model: Option<ModelReference>, "REF" = "same as `model`";

    /// With `serve`: keep what is asked and answered. It is in traces then, in memory and, with
    /// --server-data, on disk; without it, traces hold numbers and no texts
    #[serde(skip)]
    keep_questions: bool, "BOOL" = "false", see "[traces](../how-to/watch-a-server.md#traces)";

    /// With `serve`: address to listen on. Any but one of this machine needs keys
    #[serde(skip)]
    listen: SocketAddr, "ADDRESS" = "127.0.0.1:8484", see "[access](../how-to/serve.md#give-others-access)";

    /// Largest document (file, line, record, row or wiki page), unpacked, as in 500K, 64M or 2G;
    /// larger ones count as broken
    max_document_bytes: Bytes, "N" = "64M", see "[budgets](formats.md#budgets)";

    /// Longest answer, in tokens
    max_tokens: Option<usize>, "N" = "64, 512 in style full";

    /// Answers from memory where documents were looked up and do not answer: mark (full answers say so),
    /// answer or refuse
    #[serde(serialize_with = "as_text")]
    memory: Memory, "WAY" = "mark";

    /// Search: dense, lexical or hybrid. By meaning, by words, or both
    mode: Mode, "MODE" = "hybrid";

    /// Language model. A reference, a path, or the URL of an OpenAI-compatible endpoint, such as
    /// http://127.0.0.1:8000/v1, whose key is read from [keys] of ken.toml or from KEN_API_KEY
    #[serde(serialize_with = "as_text")]
    model: ModelReference, "REF|URL" = "smollm2-135m";

    /// Which of the endpoint's models to use
    model_name: Option<String>, "NAME";

    /// Models behind endpoints may think before they answer. Without it, those that do are asked not to, where their
    /// server takes that; thoughts are cut off in any case
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    model_thinks: bool, "BOOL" = "false";

    /// With `serve`: how long to wait at the start for a model server that is not there yet, in seconds
    #[serde(skip)]
    model_wait: usize, "SECONDS" = "60";

    /// Passages before and after each one found, which are read as well where the budget has room; none for search
    /// services. For documents cut into small passages whose answers go on in the next one
    neighbors: Option<usize>, "N";

    /// Where the corpus's embedder is now, if it has moved. Also consents to an endpoint, or a model to
    /// be downloaded, which are not used just because a corpus names them. With `serve` and no corpus: what embeds those that
    /// clients make
    #[serde(skip)]
    moved_embedder: Option<ModelReference>, "REF", only_flag "embedder";

    /// With `serve`: put questions and answers into the spans that a collector gets
    #[serde(skip)]
    otlp_content: bool, "BOOL" = "false";

    /// With `serve`: OpenTelemetry collector that gets a span for each question, such as
    /// http://127.0.0.1:4318. Without it, OTEL_EXPORTER_OTLP_ENDPOINT says; needs the feature otel
    #[serde(skip)]
    otlp_endpoint: Option<String>, "URL", see "[spans](../how-to/watch-a-server.md#spans)";

    /// With `serve`: questions answered at once
    #[serde(skip)]
    parallel: NonZeroUsize, "N" = "16";

    /// When to retrieve: documents, always, never, random:P or SIGNAL@THRESHOLD. documents retrieves
    /// always, and where passages do not answer, it answers from memory or says so; it is the default of
    /// larger models, and always of others. `ken calibrate --help` lists the signals, such as certainty,
    /// uncertainty:margin or router. After +, what reviews the evidence: double, or a signal of the
    /// evidence, such as evidence:cosine@0.5. SIGNAL:0:1:3@T:T chooses how many search results to read
    #[serde(serialize_with = "as_text")]
    policy: OrAuto<Policy>, "POLICY" = "auto", see "[policies](cli.md#policies)";

    /// Precision of models on the CPU: f32, int8 (integers: faster, less exact) or auto
    #[serde(serialize_with = "as_text")]
    precision: Precision, "PRECISION" = "auto";

    /// How a model on this machine reads prompts: auto (what suits the model), examples (text with worked
    /// examples), chat (a conversation in its chat template) or bare (text without them)
    #[serde(serialize_with = "as_text")]
    prompt_form: OrAuto<ReadAs>, "FORM" = "auto", see "[forms of prompts](cli.md#forms-of-prompts)";

    /// With `serve`: requests that may wait to be answered; more are refused
    #[serde(skip)]
    queue: usize, "N" = "256";

    /// Share of the nearest passages that dense search finds, on average. 1 scores every passage of a
    /// corpus on disk; Milvus does not take it
    #[serde(serialize_with = "as_text")]
    recall: Recall, "SHARE" = "0.99", see "[recall](../how-to/care-for-a-corpus.md#trade-recall-for-speed)";

    /// Rerank by none, cross-encoder:REF, likelihood or embedder. Passages are cut into chunks first;
    /// likelihood is that of the question under the language model
    #[serde(serialize_with = "as_text")]
    rerank: Rerank, "RERANKER" = "none", see "[rerankers](cli.md#rerankers)";

    /// With --rerank: how passages are cut into chunks, as in `ken ingest --segment`, except auto
    // Half of each chunk is in the next as well, so that no fifty words in a row are torn apart.
    #[serde(serialize_with = "as_text")]
    rerank_chunk: Segmentation, "HOW" = "words:100/50", see "[segmentations](cli.md#segmentations)";

    /// With --rerank: passages to retrieve and cut
    // As in "Less LLM, More Documents".
    rerank_depth: usize, "N" = "10";

    /// With --scale: search the last N shards instead of the first
    #[serde(skip)]
    reverse: bool, "BOOL" = "false", only_flag "reverse";

    /// Router for the policy router. Made by `ken train router`
    router: Option<PathBuf>, "FILE";

    /// Answers that sampling policies draw. A threshold is valid for the number it was calibrated with
    samples: usize, "N" = "10";

    /// Search the first N shards only
    #[serde(skip)]
    scale: Option<NonZeroU32>, "N" = "all";

    /// Random seed
    seed: u64, "SEED" = "0";

    /// How to segment documents: auto, whole, sentence, sentences:N, words:N[/M] or tokens:N[/M]. M is the
    /// overlap; auto means whole for records (JSON Lines, CSV, TSV, Parquet) and sentences:100 for all else
    #[serde(serialize_with = "as_text")]
    segment: Cut, "HOW" = "auto", see "[segmentations](cli.md#segmentations)";

    /// Corpus: a folder, or an address elsewhere. May be repeated for a model trained to choose among several,
    /// each known by NAME or by its folder's name [setting: corpus]
    #[serde(skip)]
    sources: Vec<CorpusSource>, "[NAME=]DIR", only_flag "corpora";

    /// With `serve`: folder for uploads, responses, traces and judged questions. Clients put files in, and make
    /// corpora; without it, nothing can be uploaded or changed, and traces are forgotten at the end
    #[serde(skip)]
    server_data: Option<PathBuf>, "DIR";

    /// With `serve`: file of the keys that open the server. Made by `ken serve key make`
    #[serde(skip)]
    server_keys: PathBuf, "FILE" = "ken-server-keys.json";

    /// With `serve`: folder of studies, comparisons of policies and probes that the console shows and adds to.
    /// What `ken study`, `ken eval --out` and `ken probe --out` wrote into it
    #[serde(skip)]
    studies: Option<PathBuf>, "DIR", see "[studies](../how-to/use-the-console.md#studies)";

    /// How much an answer says: short (a name, a number, a phrase), full (sentences or steps that cite
    /// passages) or auto (full where the model can)
    #[serde(serialize_with = "as_text")]
    style: OrAuto<Style>, "STYLE" = "auto", see "[styles of answers](cli.md#styles-of-answers)";

    /// Sampling temperature; 0 is greedy
    temperature: f64, "T" = "0";

    /// Number of threads
    threads: Option<NonZeroUsize>, "N" = "one per core";

    /// Query or download whatever embedder a corpus names
    trust_corpus_embedder: bool, "BOOL" = "false", see "[what ken trusts](#what-ken-trusts)";

    /// What the policy was tuned for: it is refused for anything else. Made by `ken tune --write`
    #[serde(skip)]
    tuned: Option<PathBuf>, "FILE", see "[what is measured is what answers](../how-to/choose-a-policy.md#what-is-measured-is-what-answers)";

    /// With `serve`: model that judges which of two answers is right, where the one without retrieval and the one
    /// with it differ. A reference, a path, or an endpoint as URL or URL#NAME
    #[serde(skip)]
    watch_judge: Option<ModelReference>, "REF|URL", see "[a judge](../how-to/watch-a-guarantee.md#a-judge)";

    /// With `serve`: share of questions that the guarantee is watched on
    #[serde(skip)]
    watch_share: f64, "P" = "0.05";
}

/// The default number of chunks to keep, as in "Less LLM, More Documents".
const CHUNKS_KEPT: usize = 8;

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl Settings {
    /// The longest short answer, in tokens.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
            .unwrap_or_else(|| AnswerSettings::default().max_tokens)
    }

    /// The corpus.
    ///
    /// # Errors
    /// [`SetupError::CorpusNotNamed`].
    pub fn corpus(&self) -> Result<&CorpusAddress, SetupError> {
        self.corpus.as_ref().ok_or(SetupError::CorpusNotNamed)
    }

    /// All corpora under their names; the first is [`Settings::corpus`].
    pub fn corpora(&self) -> Vec<CorpusSource> {
        match self.sources.as_slice() {
            [] => {
                let only = self.corpus.clone().map(CorpusSource::unnamed);
                only.into_iter().collect()
            }
            sources => sources.to_vec(),
        }
    }

    /// The corpus's folder, for work that needs a folder.
    ///
    /// # Errors
    /// No corpus is named, or one that is not in a folder.
    pub fn folder(&self) -> Result<&Path, SetupError> {
        match self.corpus()? {
            CorpusAddress::Folder(path) => Ok(path),
            CorpusAddress::Milvus(address) => Err(SetupError::CorpusInMilvus {
                address: address.to_string(),
            }),
            CorpusAddress::Service(address) => Err(SetupError::CorpusBehindService {
                address: address.to_string(),
            }),
        }
    }

    /// How many passages to retrieve, by default `passages`; with reranking, how many chunks to keep.
    pub fn k(&self, passages: usize) -> usize {
        self.k.unwrap_or(match self.rerank {
            Rerank::None => passages,
            _ => CHUNKS_KEPT,
        })
    }
}
