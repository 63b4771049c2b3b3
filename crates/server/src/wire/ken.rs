//! ken's own parameters, routes and traces.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::guarantee::GuaranteeState;
use super::texts::Texts;

/// ken's own parameters of a question; what is left out is as in the server's settings.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    /// When to retrieve; takes precedence over the model's name.
    pub(crate) policy: Option<String>,
    /// Which answers are withheld: a signal with its threshold, such as `evidence:confidence@-0.4`.
    pub(crate) abstain: Option<String>,
    /// The corpus, by its name, or several, of which the most relevant passages of all are found; the first where none is
    /// named.
    pub(crate) corpus: Option<Texts>,
    /// The generation that the corpus has to be at.
    pub(crate) generation: Option<u64>,
    /// Passages to retrieve; with a reranker, chunks to keep.
    pub(crate) k: Option<usize>,
    /// `dense`, `lexical` or `hybrid`.
    pub(crate) mode: Option<String>,
    /// Conditions on documents, such as `year>=2020 AND lang IN (de, fr)`; all have to hold.
    #[serde(default)]
    pub(crate) filter: Vec<String>,
    /// `none`, `embedder`, `likelihood`, or the reranker of the settings.
    pub(crate) rerank: Option<String>,
    /// `short` or `full`: in ken's words, whatever the application brings of its own.
    pub(crate) style: Option<String>,
    /// Whether the trace holds all that was retrieved.
    pub(crate) trace: Option<bool>,
    /// What was found elsewhere, best first: this is read where the policy retrieves, and nothing is searched.
    pub(crate) passages: Option<Vec<GivenPassage>>,
}

/// A passage that a client found.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenPassage {
    /// What it says.
    pub(crate) text: String,
    /// The title of its document.
    #[serde(default)]
    pub(crate) title: String,
    /// By which it is named in citations; its place in the list, from 1, where none is given.
    pub(crate) id: Option<String>,
}

/// A question for `/v1/ken/ask`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskRequest {
    /// The question.
    pub(crate) question: String,
    /// What was said before, oldest first.
    #[serde(default)]
    pub(crate) before: Vec<Said>,
    /// The longest answer, in tokens.
    pub(crate) max_tokens: Option<usize>,
    /// The temperature of sampling; 0 is greedy.
    pub(crate) temperature: Option<f64>,
    /// The seed of sampling.
    pub(crate) seed: Option<u64>,
    /// How it is answered.
    #[serde(default)]
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
    /// Whether it ended because it had as many tokens as it may have.
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
    /// What was said before, oldest first.
    #[serde(default)]
    pub(crate) before: Vec<Said>,
    /// How it is decided.
    #[serde(default)]
    pub(crate) ken: Options,
}

/// What a question is to be answered from.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecideResponse {
    /// Whether there is evidence to be read.
    pub(crate) retrieve: bool,
    /// The evidence as a part of a conversation: what stands before the passages, and these by their numbers. Empty
    /// where there is none.
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
    /// The question as it was answered: a follow-up is rewritten into one of its own.
    pub(crate) question: String,
    /// Whether it was none but a greeting or thanks, for which nothing is retrieved.
    pub(crate) small_talk: bool,
    /// The policy that chose the route.
    pub(crate) policy: String,
    /// Where the knowledge came from: `self` or `corpus`.
    pub(crate) route: String,
    /// Why.
    pub(crate) reason: String,
    /// What the policy measured: the larger, the more the question needs retrieval.
    pub(crate) score: Option<f64>,
    /// What it was compared with.
    pub(crate) threshold: Option<f64>,
    /// Whether a signal that was to decide cannot tell, so that the question was searched for, evidence kept or the
    /// answer withheld.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cannot_tell: bool,
    /// Why the model wrote no answer, or not all of one: `cut_off`, `repeats`, `filtered`, `refused`, `tool_call` or `empty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lack: Option<String>,
    /// The answer that is withheld, where nothing vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) withheld: Option<String>,
    /// The guarantee of the policy, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) guarantee: Option<GuaranteeState>,
    /// The probability with which the question was drawn to watch the guarantee, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drawn: Option<f64>,
    /// The corpus, where there is one, and its generation.
    pub(crate) corpus: Option<CorpusState>,
    /// The corpora that were searched beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_corpora: Vec<CorpusState>,
    /// The passages that the answer rests on.
    pub(crate) citations: Vec<Citation>,
    /// Where the answer names passages that were not read, in code points.
    pub(crate) unfounded: Vec<Span>,
    /// All that was retrieved, best first, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retrieved: Option<Vec<Retrieved>>,
    /// What the model wrote of what it knows, where it was to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verbalized: Option<String>,
    /// What of the request was not used, such as `tools`.
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
    /// The corpus of a passage: the one that the passage names, or else the first that was searched.
    pub(crate) fn corpus_of<'a>(&'a self, named: Option<&'a String>) -> &'a str {
        let first = self.corpus.as_ref().map(|corpus| &corpus.name);
        named.or(first).map_or("", String::as_str)
    }
}

/// Which state of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CorpusState {
    /// The corpus.
    pub(crate) name: String,
    /// Its generation.
    pub(crate) generation: u64,
}

/// From the first to behind the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Span {
    /// The first.
    pub(crate) start: usize,
    /// Behind the last.
    pub(crate) end: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        let Range { start, end } = range;
        Self { start, end }
    }
}

/// Where a passage stands in its document, as far as that is known.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Location {
    /// The headings over it, from the outermost, with ` > ` between them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) heading: String,
    /// The page on which it begins, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<u32>,
    /// The page on which it ends, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_page: Option<u32>,
    /// Where the document can be read; of a document with pages, that page.
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
    /// What a passage is called by a document's title, or else its id: with the page, where there are pages.
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
    /// Where it stands.
    #[serde(flatten)]
    pub(crate) location: Location,
    /// What the model read.
    pub(crate) text: String,
    /// Its corpus, where that was searched beside another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) corpus: Option<String>,
    /// Where the answer names it, in code points; none where it was found by comparison.
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
    /// Where it stands.
    #[serde(flatten)]
    pub(crate) location: Location,
    /// The text that was found.
    pub(crate) text: String,
    /// Which characters of the passage it is, where it is a chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chunk: Option<Span>,
    /// How well it fits; comparable within one search only.
    pub(crate) score: f32,
    /// Its corpus, where that was searched beside another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) corpus: Option<String>,
    /// Whether the model got to read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_prompt: Option<bool>,
    /// What the document says of itself.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) metadata: Map<String, Value>,
}

/// A query for `/v1/ken/search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchRequest {
    /// The query.
    pub(crate) query: String,
    /// The corpus, by its name, or several, of which the most relevant passages of all are found; the first where none is
    /// named.
    pub(crate) corpus: Option<Texts>,
    /// The generation that the corpus has to be at.
    pub(crate) generation: Option<u64>,
    /// How many passages.
    pub(crate) k: Option<usize>,
    /// `dense`, `lexical` or `hybrid`.
    pub(crate) mode: Option<String>,
    /// Conditions on documents, such as `year>=2020 AND lang IN (de, fr)`; all have to hold.
    #[serde(default)]
    pub(crate) filter: Vec<String>,
    /// `none`, `embedder`, `likelihood`, or the reranker of the settings.
    pub(crate) rerank: Option<String>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchResponse {
    /// Where.
    pub(crate) corpus: CorpusState,
    /// Where else.
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
    /// By which policy it is judged; that of the settings where none is named.
    pub(crate) policy: Option<String>,
}

/// What a policy makes of a question, without answering it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KnowsResponse {
    /// The policy.
    pub(crate) policy: String,
    /// The probability that the model answers right from memory, where the signal is a prediction of
    /// that; null where it is another measure.
    pub(crate) probability: Option<f64>,
    /// What was measured: the larger, the more the question needs retrieval; null where that cannot be told, and
    /// then the question retrieves.
    pub(crate) score: Option<f64>,
    /// Above this the question retrieves.
    pub(crate) threshold: f64,
    /// Whether it does.
    pub(crate) retrieves: bool,
    /// In a sentence.
    pub(crate) reason: String,
    /// What is measured.
    pub(crate) measures: &'static str,
    /// The guarantee of the policy, where it has one.
    pub(crate) guarantee: Option<GuaranteeState>,
    /// What the signal was learned with, where it was learned.
    pub(crate) learned_with: Option<Learned>,
    /// Milliseconds.
    pub(crate) ms: f64,
}

/// What a signal was learned with.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Learned {
    /// The fingerprint of what predicts.
    pub(crate) by: String,
    /// The fingerprint of the model whose knowledge it predicts.
    pub(crate) model: String,
}

/// The corpora.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CorpusList {
    /// The first is the one that is searched where none is named.
    pub(crate) corpora: Vec<CorpusSummary>,
}

/// A corpus.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CorpusSummary {
    /// Its name.
    pub(crate) name: String,
    /// What people call it, where that is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The generation that is searched; 0 of one that is empty.
    pub(crate) generation: u64,
    /// Live passages in it; absent where a search service does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passages: Option<usize>,
    /// The embedder, as the corpus names it.
    pub(crate) embedder: String,
}

impl CorpusSummary {
    /// One that nothing was put into.
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
    /// Where it stands.
    #[serde(flatten)]
    pub(crate) location: Location,
    /// The text.
    pub(crate) text: String,
    /// What the document says of itself.
    pub(crate) metadata: Map<String, Value>,
}
