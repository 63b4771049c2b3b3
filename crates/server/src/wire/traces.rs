//! Traces, and the questions made of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ken::Trace;
use super::page::Page;
use super::query::{self, Parameter};
use super::refusal::Refusal;
use crate::service::traces::trace_record::{Feedback, Rating, TraceRecord};
use crate::service::watch::comparison::Verdict;

/// How a question was answered. Texts are empty or null if the server does not keep them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TraceObject {
    /// The id of the request.
    pub(crate) id: String,
    object: &'static str,
    /// In seconds since 1970 (UTC).
    created_at: u64,
    /// The id of the key that asked.
    key: Option<String>,
    answer: Option<String>,
    /// Whether it ended at the limit of its tokens.
    truncated: bool,
    /// Tokens read by all calls of the model.
    prompt_tokens: usize,
    /// Tokens written.
    completion_tokens: usize,
    /// Milliseconds, waiting included.
    ms: f64,
    /// The outcome, if it was drawn to watch the guarantee: `retrieved`, `agrees`, `differs`, `given`, `dropped` or
    /// `failed`.
    watched: Option<String>,
    /// The judge's verdict, if there is one: on both answers if they differ, or on the one that was given.
    judge: Option<Verdict>,
    /// The feedback on the answer.
    feedback: Option<Feedback>,
    /// How it came about; without passages' texts, which the corpus has.
    #[serde(flatten)]
    trace: Trace,
}

impl From<&TraceRecord> for TraceObject {
    fn from(past: &TraceRecord) -> Self {
        let past = past.clone();
        Self {
            id: past.id().to_owned(),
            object: "trace",
            created_at: past.at,
            key: past.key,
            answer: past.answer,
            truncated: past.truncated,
            prompt_tokens: past.tokens[0],
            completion_tokens: past.tokens[1],
            ms: past.ms,
            watched: past.watched,
            judge: past.judge,
            feedback: past.feedback,
            trace: past.trace,
        }
    }
}

/// Which traces a client selects.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wanted {
    policy: Option<String>,
    route: Option<String>,
    corpus: Option<String>,
    slower_than_ms: Option<f64>,
    rating: Option<Rating>,
}

/// The parameters of a page of traces.
pub(crate) const PAGE: &[Parameter] = &[
    Parameter("limit", "integer", "Traces of a page"),
    Parameter(
        "after",
        "string",
        "The id of the last trace before the page",
    ),
    Parameter("order", "string", "`desc`, newest first, or `asc`"),
];

/// The parameters that select traces.
pub(crate) const FILTERS: &[Parameter] = &[
    Parameter(
        "policy",
        "string",
        "A policy, or a kind of it, as `certainty`",
    ),
    Parameter("route", "string", "`self` or `corpus`"),
    Parameter("corpus", "string", "A corpus, by its name"),
    Parameter("slower_than_ms", "number", "Milliseconds"),
    Parameter("rating", "string", "`good` or `bad`"),
];

/// Their names, for messages.
const FILTER_NAMES: &str = "`policy`, `route`, `corpus`, `slower_than_ms` and `rating`";

impl Wanted {
    /// Reads the query of an address that lists traces page by page.
    ///
    /// # Errors
    /// An unknown parameter, a value that cannot be taken.
    pub(crate) fn paged(query: Option<&str>) -> Result<(Self, Page), Refusal> {
        let (mut wanted, mut page) = (Self::default(), Page::default());
        for (name, value) in query::pairs(query) {
            if !page.take(&name, &value)? && !wanted.take(&name, &value)? {
                let known = format!("`limit`, `after`, `order`, {FILTER_NAMES}");
                return Err(query::unknown(&name, &known));
            }
        }
        Ok((wanted, page))
    }

    /// Reads the query of an address that returns all traces.
    ///
    /// # Errors
    /// As [`Wanted::paged`].
    pub(crate) fn all(query: Option<&str>) -> Result<Self, Refusal> {
        let mut wanted = Self::default();
        for (name, value) in query::pairs(query) {
            if !wanted.take(&name, &value)? {
                return Err(query::unknown(&name, FILTER_NAMES));
            }
        }
        Ok(wanted)
    }

    /// Takes a parameter; returns whether it selects traces.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, Refusal> {
        let refused = |message: &str| Refusal::invalid(name, message);
        match name {
            "policy" => self.policy = Some(value.to_owned()),
            "route" => self.route = Some(value.to_owned()),
            "corpus" => self.corpus = Some(value.to_owned()),
            "slower_than_ms" => match value.parse() {
                Ok(ms) if ms >= 0.0 => self.slower_than_ms = Some(ms),
                _ => return Err(refused("it must be a number of milliseconds")),
            },
            "rating" => match value {
                "good" => self.rating = Some(Rating::Good),
                "bad" => self.rating = Some(Rating::Bad),
                _ => return Err(refused("it must be `good` or `bad`")),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a trace is selected.
    pub(crate) fn is(&self, past: &TraceRecord) -> bool {
        let trace = &past.trace;
        let kind = trace.policy.split('@').next();
        let is_policy = |wanted: &String| trace.policy == *wanted || kind == Some(wanted);
        let is_corpus = |wanted: &String| {
            let corpus = trace.corpus.as_ref();
            corpus.is_some_and(|corpus| corpus.name == *wanted)
        };
        let rating = past.feedback.as_ref().and_then(|feedback| feedback.rating);
        self.policy.as_ref().is_none_or(is_policy)
            && self
                .route
                .as_ref()
                .is_none_or(|route| trace.route == *route)
            && self.corpus.as_ref().is_none_or(is_corpus)
            && self.slower_than_ms.is_none_or(|ms| past.ms > ms)
            && self.rating.is_none_or(|wanted| rating == Some(wanted))
    }
}

/// A question to evaluate on: that of a trace, or another one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MakeEvalQuestion {
    /// The id of the trace whose question it is.
    pub(crate) trace: Option<String>,
    /// The question, if it is not that of a trace; at most 65536 bytes.
    pub(crate) question: Option<String>,
    /// The corpus that such a question is asked of; required with a key for several corpora.
    pub(crate) corpus: Option<String>,
    /// Short right answers, 1 to 20; for a trace, by default those of its feedback.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) golden_answers: Vec<String>,
}

/// The longest question, in bytes.
pub(crate) const LONGEST_QUESTION: usize = 64 << 10;
