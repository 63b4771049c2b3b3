//! The log: one entry for each request and for each answer, as data. It holds no questions, no answers, no
//! keys and no addresses of clients.

use std::sync::Arc;

use serde::Serialize;

/// Receives entries; it must not block for long.
pub type Log = Arc<dyn Fn(&Entry) + Send + Sync>;

/// An entry of the log.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Entry {
    /// A request got its response; a stream has only begun.
    Request {
        /// As in the header `x-request-id`.
        request_id: String,
        /// The id that the client gave it, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        client_request_id: Option<String>,
        /// `GET` or `POST`.
        method: String,
        /// The route, not the path; empty if there is none.
        route: String,
        /// The status of the response.
        status: u16,
        /// Milliseconds until its head.
        ms: f64,
        /// The id of the key, if one was given.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The code of the error, if it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
        /// What went wrong in the server, if anything.
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
        /// Whether the answer is withheld.
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
        /// What went wrong in the server, if anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// The server waits at its start for an endpoint that is not there yet.
    Waiting {
        /// Which endpoint, and what it says.
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
        /// Its number among all questions of the policy.
        number: u64,
        /// The probability with which each is drawn.
        propensity: f64,
        /// `retrieved`, `agrees`, `differs`, `given`, `dropped` or `failed`.
        outcome: &'static str,
        /// What went wrong in the server, if anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A judge was asked whether the answers to such a question are right.
    Judged {
        /// As in the header `x-request-id`.
        request_id: String,
        /// `lost`, `kept`, `wrong`, `right`, `dropped` or `failed`.
        verdict: &'static str,
        /// What went wrong, if anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// What the policy measures is distributed differently than at calibration. This changes nothing.
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
    /// More was lost, or wrong, than guaranteed: from now on, the server always retrieves.
    Lapsed {
        /// The policy.
        policy: String,
        /// The test that showed it.
        test: &'static str,
        /// The mean loss, or share of errors, that is allowed.
        limit: f64,
        /// The observed mean.
        mean: f64,
        /// The number of questions in the mean.
        questions: u64,
        /// What to do.
        advice: String,
    },
    /// A change of a corpus has ended.
    Job {
        /// The id by which clients can ask for it.
        id: String,
        /// What it did.
        kind: &'static str,
        /// The corpus.
        corpus: String,
        /// How it ended.
        status: &'static str,
        /// The first generation that contains it.
        #[serde(skip_serializing_if = "Option::is_none")]
        generation: Option<u64>,
        /// The code of the error, if it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
        /// What went wrong in the server, if anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Milliseconds.
        ms: f64,
    },
    /// The settings were read again.
    Reload {
        /// The code of the error, if they could not be used.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'static str>,
        /// Why they could not be used.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Milliseconds.
        ms: f64,
    },
    /// A server named by reread settings does not get a key.
    Withheld {
        /// Which key and server, and why.
        detail: String,
    },
    /// Something could not be written to the server's folder and is in memory only.
    Unwritten {
        /// `traces`, `evals` or `watch`.
        what: &'static str,
        /// Why.
        detail: String,
    },
    /// Something could not be sent, for the first time since the last success.
    Unsent {
        /// `spans`.
        what: &'static str,
        /// Why.
        detail: String,
    },
    /// Entries were made faster than the log took them, and this many are not in it.
    LeftOut {
        /// How many.
        lines: usize,
    },
    /// Something could not be renewed; the server keeps serving the old state.
    Stale {
        /// What.
        what: String,
        /// Why.
        detail: String,
    },
}
