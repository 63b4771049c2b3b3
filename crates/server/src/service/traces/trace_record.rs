//! How one question was answered, and the feedback on the answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::service::watch::comparison::Verdict;
use crate::wire::ken::Trace;

/// A rating of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Rating {
    /// It is useful.
    Good,
    /// It is not.
    Bad,
}

/// Feedback on an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Feedback {
    /// The rating.
    pub(crate) rating: Option<Rating>,
    /// Right answers; empty if texts are not kept.
    pub(crate) answers: Vec<String>,
    /// The source that was right: `self`, or a corpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<String>,
    /// When it was last given, in seconds since 1970 (UTC).
    pub(crate) at: u64,
}

impl Feedback {
    /// Adds later feedback, which replaces earlier values of the same kind.
    fn then(self, later: Self) -> Self {
        Self {
            rating: later.rating.or(self.rating),
            answers: match later.answers.is_empty() {
                true => self.answers,
                false => later.answers,
            },
            source: later.source.or(self.source),
            at: later.at,
        }
    }
}

/// How a question was answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TraceRecord {
    /// When it was, in seconds since 1970 (UTC).
    pub(crate) at: u64,
    /// The id of the key that asked.
    pub(crate) key: Option<String>,
    /// The corpora besides that of the trace among which the model chose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) beside: Vec<String>,
    /// The answer; `None` if texts are not kept.
    pub(crate) answer: Option<String>,
    pub(crate) truncated: bool,
    /// Tokens read and written by all calls.
    pub(crate) tokens: [usize; 2],
    /// Milliseconds, waiting included.
    pub(crate) ms: f64,
    pub(crate) trace: Trace,
    /// The outcome of watching the guarantee, if it was drawn for that.
    #[serde(default)]
    pub(crate) watched: Option<String>,
    /// A judge's verdict, if one was asked.
    #[serde(default)]
    pub(crate) judge: Option<Verdict>,
    #[serde(default)]
    pub(crate) feedback: Option<Feedback>,
}

impl TraceRecord {
    pub(crate) fn id(&self) -> &str {
        &self.trace.request_id
    }

    /// The question, if it is kept.
    pub(crate) fn question(&self) -> Option<&str> {
        let question = self.trace.question.as_str();
        (!question.is_empty()).then_some(question)
    }

    /// The corpora from which it may be answered.
    pub(crate) fn corpora(&self) -> Vec<String> {
        let searched = self.trace.corpus.iter().chain(&self.trace.other_corpora);
        let searched = searched.map(|corpus| &corpus.name);
        searched.chain(&self.beside).cloned().collect()
    }

    /// Whether it is for a caller: whoever asked, and whoever watches the server and may read the corpora.
    pub(crate) fn is_for(&self, caller: &Caller) -> bool {
        let watches = caller.may(Scope::Admin).is_ok() && caller.may_read_each(&self.corpora());
        watches || self.key.as_deref() == caller.key()
    }

    /// Adds feedback on the answer.
    pub(crate) fn add_feedback(&mut self, feedback: Feedback) {
        let before = self.feedback.take().unwrap_or_default();
        self.feedback = Some(before.then(feedback));
    }

    /// Removes the texts of passages: these stay in the corpus, from which they can be deleted.
    pub(crate) fn without_passages(mut self) -> Self {
        // Replaced, since a cleared string still holds its memory.
        for citation in &mut self.trace.citations {
            citation.text = String::new();
        }
        for passage in self.trace.retrieved.iter_mut().flatten() {
            passage.text = String::new();
        }
        self
    }

    /// Removes everything that somebody asked, wrote or found.
    pub(crate) fn without_texts(mut self) -> Self {
        self.answer = None;
        if let Some(feedback) = &mut self.feedback {
            feedback.answers = Vec::new();
        }
        let trace = &mut self.trace;
        trace.question = String::new();
        trace.citations = Vec::new();
        trace.unfounded = Vec::new();
        trace.named_documents = Vec::new();
        trace.retrieved = None;
        trace.verbalized = None;
        if let Some(withheld) = &mut trace.withheld {
            *withheld = String::new();
        }
        self
    }

    /// Whether it holds anything that [`TraceRecord::without_texts`] removes.
    pub(crate) fn has_texts(&self) -> bool {
        self.question().is_some() || self.answer.is_some()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_that_are_not_kept_hold_no_memory() {
        let passage = json!({"passage_id": "p", "doc_id": "d", "title": "t", "text": "long".repeat(100),
            "chunk": null, "score": 0.5, "in_prompt": true, "metadata": {}});
        let citation = json!({"number": 1, "passage_id": "p", "doc_id": "d", "title": "t",
            "text": "long".repeat(100), "places": []});
        let trace = json!({
            "request_id": "req_1", "question": "why?", "small_talk": false, "policy": "always",
            "route": "corpus", "reason": "r", "score": null, "threshold": null, "corpus": null,
            "citations": [citation], "retrieved": [passage], "unfounded": [], "model_calls": 1,
            "searches": 1, "timing_ms": {},
        });
        let past = TraceRecord {
            at: 7,
            key: None,
            beside: Vec::new(),
            answer: Some("because".to_owned()),
            truncated: false,
            tokens: [3, 1],
            ms: 2.5,
            trace: serde_json::from_value(trace).unwrap(),
            watched: None,
            judge: None,
            feedback: None,
        };
        let kept = past.clone().without_passages();
        let found = kept.trace.retrieved.as_ref().unwrap();
        assert!(kept.has_texts() && found[0].doc_id == "d");
        assert_eq!(found[0].text.capacity(), 0);
        assert_eq!(kept.trace.citations[0].text.capacity(), 0);
        let bare = past.without_texts();
        assert!(!bare.has_texts() && bare.trace.retrieved.is_none());
        assert_eq!(bare.trace.question.capacity(), 0);
        assert_eq!(bare.trace.citations.capacity(), 0);
    }
}
