//! The log: one entry for each request and for each answer, as data. It holds no questions, no answers, no
//! keys and no addresses of clients.

use std::sync::Arc;

use serde::Serialize;

/// Takes entries; it must not block for long.
pub type Log = Arc<dyn Fn(&Entry) + Send + Sync>;

/// An entry of the log.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Entry {
    /// A request was responded to; a stream only began.
    Request {
        /// As in the header `x-request-id`.
        request_id: String,
        /// The id that the client gave it, where it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        client_request_id: Option<String>,
        /// `GET` or `POST`.
        method: String,
        /// The route, not the path; empty where there is none.
        route: String,
        /// The status of the response.
        status: u16,
        /// Milliseconds until its head.
        ms: f64,
        /// The id of the key, where one was given.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The code of the error, where it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
        /// What went wrong in the server, where something did.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A question was answered.
    Answer {
        /// As in the header `x-request-id`.
        request_id: String,
        /// The policy.
        policy: String,
        /// `self` or `corpus`.
        source: String,
        /// Whether the answer is withheld, where it is.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        withheld: bool,
        /// Whether a signal that was to decide cannot tell.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cannot_tell: bool,
        /// Tokens read.
        prompt_tokens: usize,
        /// Tokens written.
        completion_tokens: usize,
        /// Milliseconds, waiting included.
        ms: f64,
    },
    /// A question was not answered.
    Failure {
        /// As in the header `x-request-id`.
        request_id: String,
        /// The code of the error.
        code: &'static str,
        /// What went wrong in the server, where something did.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The server waits at its start for an endpoint that is not there yet.
    Waiting {
        /// Which, and what it says.
        detail: String,
    },
    /// A new generation of a corpus is served.
    Corpus {
        /// The corpus.
        name: String,
        /// The generation.
        generation: u64,
    },
    /// A question that was drawn to watch the guarantee.
    Watched {
        /// As in the header `x-request-id`.
        request_id: String,
        /// Which of all questions of the policy it is.
        number: u64,
        /// The probability with which each is drawn.
        propensity: f64,
        /// `retrieved`, `agrees`, `differs`, `given`, `dropped` or `failed`.
        outcome: &'static str,
        /// What went wrong in the server, where something did.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A judge was asked whether the answers to such a question are right.
    Judged {
        /// As in the header `x-request-id`.
        request_id: String,
        /// `lost`, `kept`, `wrong`, `right`, `dropped` or `failed`.
        verdict: &'static str,
        /// What went wrong, where something did.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// What the policy measures is distributed otherwise than at calibration. Nothing changes by that.
    Drifted {
        /// The policy.
        policy: String,
        /// Questions until it showed.
        questions: u64,
        /// The evidence for it.
        evidence: f64,
        /// What to do.
        advice: String,
    },
    /// More was lost, or wrong, than guaranteed: from now on, retrieval is always used.
    Lapsed {
        /// The policy.
        policy: String,
        /// By which test.
        test: &'static str,
        /// The mean loss, or share of errors, that is allowed.
        limit: f64,
        /// What it is.
        mean: f64,
        /// Questions that it is the mean of.
        questions: u64,
        /// What to do.
        advice: String,
    },
    /// A change of a corpus is over.
    Job {
        /// By which it can be asked for.
        id: String,
        /// What it did.
        kind: &'static str,
        /// The corpus.
        corpus: String,
        /// How it ended.
        status: &'static str,
        /// The generation from which it holds.
        #[serde(skip_serializing_if = "Option::is_none")]
        generation: Option<u64>,
        /// The code of the error, where it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
        /// What went wrong in the server, where something did.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Milliseconds.
        ms: f64,
    },
    /// The settings were read again.
    Reload {
        /// The code of the error, where they could not be used.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
        /// Why they could not.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Milliseconds.
        ms: f64,
    },
    /// A key is not sent to a server that settings name when they are read again.
    Withheld {
        /// Which, to where, and why.
        detail: String,
    },
    /// Something could not be written to the server's folder; it is in memory alone.
    Unwritten {
        /// `traces`, `evals` or `watch`.
        what: &'static str,
        /// Why.
        detail: String,
    },
    /// Something could not be sent: the first time since something was.
    Unsent {
        /// `spans`.
        what: &'static str,
        /// Why.
        detail: String,
    },
    /// Something could not be renewed; what was there is served further.
    Stale {
        /// What.
        what: String,
        /// Why.
        detail: String,
    },
}
