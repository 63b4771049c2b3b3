//! ken's own parameters, routes and traces.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::guarantee::GuaranteeState;
use super::texts::Texts;

/// ken's own parameters of a question; the server's settings apply to those left out.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    /// When to retrieve; takes precedence over the model's name.
    pub(crate) policy: Option<String>,
    /// Which answers are withheld: a signal with its threshold, such as `evidence:confidence@-0.4`.
    pub(crate) abstain: Option<String>,
    /// The corpus, by its name, or several, for the most relevant passages of all; by default the first.
    pub(crate) corpus: Option<Texts>,
    /// The generation that the corpus must be at.
    pub(crate) generation: Option<u64>,
    /// Passages to retrieve; with a reranker, chunks to keep.
    pub(crate) k: Option<usize>,
    /// `dense`, `lexical` or `hybrid`.
    pub(crate) mode: Option<String>,
    /// Conditions on documents, such as `year>=2020 AND lang IN (de, fr)`; all have to hold.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) filter: Vec<String>,
    /// `none`, `embedder`, `likelihood`, or the reranker of the settings.
    pub(crate) rerank: Option<String>,
    /// `short` or `full`: in ken's words, whatever the application brings of its own.
    pub(crate) style: Option<String>,
    /// Whether the trace holds all that was retrieved.
    pub(crate) trace: Option<bool>,
    /// Passages found elsewhere, best first: they are read if the policy retrieves, and nothing is searched.
    pub(crate) passages: Option<Vec<GivenPassage>>,
}

/// A passage that a client found.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenPassage {
    /// Its text.
    pub(crate) text: String,
    /// The title of its document.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) title: String,
    /// Its name in citations; by default its position in the list, from 1.
    pub(crate) id: Option<String>,
}

/// A question for `/v1/ken/ask`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskRequest {
    /// The question.
    pub(crate) question: String,
    /// The earlier exchanges, oldest first.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) before: Vec<Said>,
    /// The longest answer, in tokens.
    pub(crate) max_tokens: Option<usize>,
    /// The temperature of sampling; 0 is greedy.
    pub(crate) temperature: Option<f64>,
    /// The seed of sampling.
    #[serde(default, deserialize_with = "super::field::seed")]
    #[schemars(with = "Option<i64>")]
    pub(crate) seed: Option<u64>,
    /// How it is answered.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) ken: Options,
}

/// An earlier question with its answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Said {
    /// The question.
    pub(crate) question: String,
    /// The answer.
    pub(crate) answer: String,
}

/// An answer with its whole trace.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AskResponse {
    /// The answer.
    pub(crate) answer: String,
    /// Whether it ended at the limit of its tokens.
    pub(crate) truncated: bool,
    /// How it came about.
    #[serde(flatten)]
    pub(crate) trace: Trace,
}

/// A question for `/v1/ken/decide`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecideRequest {
    /// The question.
    pub(crate) question: String,
    /// The earlier exchanges, oldest first.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) before: Vec<Said>,
    /// How it is decided.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) ken: Options,
}

/// The evidence for a question.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecideResponse {
    /// Whether there is evidence to read.
    pub(crate) retrieve: bool,
    /// The evidence as a part of a conversation: an introduction, and the passages by their numbers. Empty if there
    /// is none.
    pub(crate) evidence: String,
    /// How it was decided. Passages that are not to be read have `in_prompt` false.
    #[serde(flatten)]
    pub(crate) trace: Trace,
}

/// How an answer came about.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Trace {
    /// As in the header `x-request-id`.
    pub(crate) request_id: String,
    /// The question as it was answered: a follow-up is rewritten to stand alone.
    pub(crate) question: String,
    /// Whether it was only a greeting or thanks, for which nothing is retrieved.
    pub(crate) small_talk: bool,
    /// The policy that chose the route.
    pub(crate) policy: String,
    /// Where the knowledge came from: `self` or `corpus`.
    pub(crate) route: String,
    /// Why.
    pub(crate) reason: String,
    /// What the policy measured: the larger, the more the question needs retrieval.
    pub(crate) score: Option<f64>,
    /// The threshold that it was compared with.
    pub(crate) threshold: Option<f64>,
    /// Whether a signal that was to decide cannot tell, so that the question was searched for, evidence kept or the
    /// answer withheld.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cannot_tell: bool,
    /// Why the model wrote no answer, or not all of one: `cut_off`, `repeats`, `filtered`, `refused`, `tool_call` or `empty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lack: Option<String>,
    /// The withheld answer, if nothing vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) withheld: Option<String>,
    /// The guarantee of the policy, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) guarantee: Option<GuaranteeState>,
    /// The probability with which the question was drawn to watch the guarantee, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drawn: Option<f64>,
    /// The corpus, if there is one, and its generation.
    pub(crate) corpus: Option<CorpusState>,
    /// The other corpora that were searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_corpora: Vec<CorpusState>,
    /// The passages that the answer rests on.
    pub(crate) citations: Vec<Citation>,
    /// Where the answer names passages that were not read, in code points.
    pub(crate) unfounded: Vec<Span>,
    /// The documents whose files the question names, and in which alone passages were searched: the first ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) named_documents: Vec<String>,
    /// Everything that was retrieved, best first, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retrieved: Option<Vec<Retrieved>>,
    /// What the model wrote about what it knows, if it had to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verbalized: Option<String>,
    /// The unused parts of the request, such as `tools`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_used: Vec<String>,
    /// How often the model was called.
    pub(crate) model_calls: usize,
    /// How often the corpus was searched.
    pub(crate) searches: usize,
    /// Milliseconds by stage, and `total`.
    pub(crate) timing_ms: BTreeMap<String, f64>,
}

impl Trace {
    /// The corpus of a passage: the one that the passage names, or else the first one searched.
    pub(crate) fn corpus_of<'a>(&'a self, named: Option<&'a String>) -> &'a str {
        let first = self.corpus.as_ref().map(|corpus| &corpus.name);
        named.or(first).map_or("", String::as_str)
    }
}

/// A state of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CorpusState {
    /// The corpus.
    pub(crate) name: String,
    /// Its generation.
    pub(crate) generation: u64,
}

/// A range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Span {
    /// The first.
    pub(crate) start: usize,
    /// After the last.
    pub(crate) end: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        let Range { start, end } = range;
        Self { start, end }
    }
}

/// The place of a passage in its document, as far as known.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Location {
    /// The headings over it, from the outermost, with ` > ` between them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) heading: String,
    /// The page on which it begins, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<u32>,
    /// The page on which it ends, if that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_page: Option<u32>,
    /// Where the document can be read; if it has pages, at that page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
}

impl From<ken_corpus::Location> for Location {
    fn from(location: ken_corpus::Location) -> Self {
        let ken_corpus::Location {
            heading,
            page,
            last_page,
            url,
        } = location;
        Self {
            heading,
            page,
            last_page,
            url,
        }
    }
}

impl Location {
    /// The name of a passage: its document's title, or else its id, with the page if there are pages.
    pub(crate) fn named(&self, title: &str, doc_id: &str) -> String {
        let title = if title.is_empty() { doc_id } else { title };
        match self.page {
            Some(page) => format!("{title}, p. {page}"),
            None => title.to_owned(),
        }
    }
}

/// A passage that an answer rests on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Citation {
    /// The passage's number in the prompt, from 1.
    pub(crate) number: usize,
    /// The passage.
    pub(crate) passage_id: String,
    /// Its document.
    pub(crate) doc_id: String,
    /// The document's title.
    pub(crate) title: String,
    /// Its place in the document.
    #[serde(flatten)]
    pub(crate) location: Location,
    /// What the model read.
    pub(crate) text: String,
    /// Its corpus, if several were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) corpus: Option<String>,
    /// Where the answer names it, in code points; empty if it was found by comparison.
    pub(crate) places: Vec<Span>,
}

/// A passage that was found, or a chunk of one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Retrieved {
    /// The passage.
    pub(crate) passage_id: String,
    /// Its document.
    pub(crate) doc_id: String,
    /// The document's title.
    pub(crate) title: String,
    /// Its place in the document.
    #[serde(flatten)]
    pub(crate) location: Location,
    /// The text that was found.
    pub(crate) text: String,
    /// The characters of the passage that it is, if it is a chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chunk: Option<Span>,
    /// How well it fits; comparable within one search only. A neighbor of a passage that was found has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f32>,
    /// Its corpus, if several were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) corpus: Option<String>,
    /// Whether the model read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_prompt: Option<bool>,
    /// The document's metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) metadata: Map<String, Value>,
}

/// A query for `/v1/ken/search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchRequest {
    /// The query.
    pub(crate) query: String,
    /// The corpus, by its name, or several, for the most relevant passages of all; by default the first.
    pub(crate) corpus: Option<Texts>,
    /// The generation that the corpus must be at.
    pub(crate) generation: Option<u64>,
    /// How many passages.
    pub(crate) k: Option<usize>,
    /// `dense`, `lexical` or `hybrid`.
    pub(crate) mode: Option<String>,
    /// Conditions on documents, such as `year>=2020 AND lang IN (de, fr)`; all have to hold.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) filter: Vec<String>,
    /// `none`, `embedder`, `likelihood`, or the reranker of the settings.
    pub(crate) rerank: Option<String>,
}

/// The search results.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchResponse {
    /// The corpus that was searched.
    pub(crate) corpus: CorpusState,
    /// The other corpora that were searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_corpora: Vec<CorpusState>,
    /// Best first.
    pub(crate) hits: Vec<Retrieved>,
    /// How long it took, in milliseconds.
    pub(crate) ms: f64,
}

/// A question for `/v1/ken/knows`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnowsRequest {
    /// The question.
    pub(crate) question: String,
    /// The policy by which to judge it; by default that of the settings.
    pub(crate) policy: Option<String>,
}

/// What a policy measures about a question, without answering it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnowsResponse {
    /// The policy.
    pub(crate) policy: String,
    /// The probability that the model answers right from memory, if the signal predicts that; else null.
    pub(crate) probability: Option<f64>,
    /// The score: the larger, the more the question needs retrieval; null if it cannot be told, and then the question
    /// retrieves.
    pub(crate) score: Option<f64>,
    /// Above this the question retrieves.
    pub(crate) threshold: f64,
    /// Whether the question retrieves.
    pub(crate) retrieves: bool,
    /// The reason, in a sentence.
    pub(crate) reason: String,
    /// What is measured.
    pub(crate) measures: &'static str,
    /// The guarantee of the policy, if it has one.
    pub(crate) guarantee: Option<GuaranteeState>,
    /// What the signal was learned with, if it was learned.
    pub(crate) learned_with: Option<Learned>,
    /// Milliseconds.
    pub(crate) ms: f64,
}

/// What a signal was learned with.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Learned {
    /// The fingerprint of the predictor.
    pub(crate) by: String,
    /// The fingerprint of the model whose knowledge it predicts.
    pub(crate) model: String,
}

/// The corpora.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CorpusList {
    /// The first is the default.
    pub(crate) corpora: Vec<CorpusSummary>,
}

/// A corpus.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CorpusSummary {
    /// Its name.
    pub(crate) name: String,
    /// Its name for people, if that is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The current generation; 0 if it is empty.
    pub(crate) generation: u64,
    /// Live passages in it; absent if a search service does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passages: Option<usize>,
    /// The name of the embedder.
    pub(crate) embedder: String,
}

impl CorpusSummary {
    /// The summary of an empty corpus.
    pub(crate) fn empty(name: String, embedder: &str) -> Self {
        Self {
            name,
            title: None,
            generation: 0,
            passages: Some(0),
            embedder: embedder.to_owned(),
        }
    }
}

/// A passage.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PassageResponse {
    /// The corpus.
    pub(crate) corpus: CorpusState,
    /// The passage.
    pub(crate) passage_id: String,
    /// Its document.
    pub(crate) doc_id: String,
    /// The document's title.
    pub(crate) title: String,
    /// Its place in the document.
    #[serde(flatten)]
    pub(crate) location: Location,
    /// The text.
    pub(crate) text: String,
    /// The document's metadata.
    pub(crate) metadata: Map<String, Value>,
}
