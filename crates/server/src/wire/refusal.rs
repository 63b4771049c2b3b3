//! Errors as clients of OpenAI's API read them: a status, a message, a type, and a code for machines.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ken_answer::AnswerError;
use ken_diagnostic::Diagnostic;
use ken_language::{Fault, ModelError, ServerFault};
use ken_storage::StorageError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::service::record::RecordError;

/// The body of every error.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    error: ErrorObject,
}

/// What went wrong.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ErrorObject {
    /// For people.
    pub(crate) message: String,
    /// The class of the error.
    #[serde(rename = "type")]
    class: &'static str,
    /// The parameter at fault, if there is one.
    pub(crate) param: Option<String>,
    /// For machines.
    pub(crate) code: &'static str,
}

/// Why a request is not served.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    error: Box<ErrorObject>,
    /// When to try again; `None` if that is useless.
    retry_after: Option<Duration>,
    /// For the log, not for the response.
    pub(crate) detail: Option<String>,
}

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The longest text of an error, in bytes: a client may have sent megabytes as a name.
const LONGEST: usize = 4096;

/// When to come back to a busy server.
const BUSY: Duration = Duration::from_secs(1);

impl Refusal {
    /// The refusal of a request that can never be served as it is.
    pub(crate) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The refusal of a body that is too large.
    pub(crate) fn too_large(most: u64) -> Self {
        let message = format!("the body has more than {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    }

    /// A parameter has a value that it cannot have.
    pub(crate) fn invalid(param: &str, message: impl Into<String>) -> Self {
        Self::bad("invalid_value", message).of(param)
    }

    /// Any other refusal.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let class = match status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        Self {
            status,
            error: Box::new(ErrorObject {
                message: shortened(message.into()),
                class,
                param: None,
                code,
            }),
            retry_after: None,
            detail: None,
        }
    }

    /// Names the parameter at fault.
    pub(crate) fn of(mut self, param: &str) -> Self {
        self.error.param = Some(shortened(param.to_owned()));
        self
    }

    /// Asks the client to try again after a time.
    pub(crate) fn retried_after(mut self, time: Duration) -> Self {
        self.retry_after = Some(time);
        self
    }

    /// Adds an explanation for the log.
    fn explained_by(mut self, error: &dyn Diagnostic) -> Self {
        self.detail = Some(error.to_string());
        self
    }

    /// A refusal while the server waited for a model server: takes over that error's advice on another attempt, and
    /// its detail.
    pub(crate) fn after(self, error: Self) -> Self {
        match error.retry_after {
            Some(_) => Self {
                retry_after: self.retry_after.or(error.retry_after),
                detail: self.detail.or(error.detail),
                ..self
            },
            None => self,
        }
    }

    /// Something that does not exist, or that the caller may not know about.
    pub(crate) fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// Something that a caller may not do.
    pub(crate) fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// Something that the state of the server does not allow now.
    pub(crate) fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// Too many requests are waiting.
    pub(crate) fn busy() -> Self {
        let message = "too many requests wait already; try again later";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "queue_full", message).retried_after(BUSY)
    }

    /// The server is shutting down.
    pub(crate) fn ending() -> Self {
        let message = "the server is shutting down";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", message).retried_after(BUSY)
    }

    /// The model server is gone, or not ready.
    pub(crate) fn no_model_server() -> Self {
        let message = "the model server does not respond";
        let code = "model_server_unavailable";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message).retried_after(BUSY)
    }

    /// There is no such route.
    pub(crate) fn unknown_route() -> Self {
        let message =
            "there is no such route; OpenAI's API is below /v1, and /openapi.json lists all";
        Self::not_found("unknown_route", message)
    }

    /// It took too long.
    pub(crate) fn too_late() -> Self {
        let message = "the answer was not complete by the deadline";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "deadline_exceeded", message)
    }

    /// No place became free in time. Nothing was done for the request, so another attempt may well succeed.
    pub(crate) fn no_place() -> Self {
        let message = "too much was asked for before this; try again later";
        Self::new(StatusCode::GATEWAY_TIMEOUT, "deadline_exceeded", message).retried_after(BUSY)
    }

    /// The client no longer waits; it never sees this.
    pub(crate) fn client_gone() -> Self {
        let message = "the client closed the connection";
        // The status that nginx established for this.
        let status = StatusCode::from_u16(499).unwrap_or(StatusCode::BAD_REQUEST);
        Self::new(status, "client_gone", message)
    }

    /// A failure of the server's own, such as a full disk. The response does not say what, since that may name paths.
    pub(crate) fn failed(error: &dyn Diagnostic) -> Self {
        let refusal = match error.kind() {
            "disk_full" => Self::disk_full(),
            kind => {
                let message = "the server could not do this; its log says why";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, kind, message)
            }
        };
        refusal.explained_by(error)
    }

    /// The disk is full.
    pub(crate) fn disk_full() -> Self {
        let message = "the server's disk is full";
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", message)
    }

    pub(crate) fn code(&self) -> &'static str {
        self.error.code
    }

    /// The error object in the body.
    pub(crate) fn object(&self) -> &ErrorObject {
        &self.error
    }

    pub(crate) fn message(&self) -> &str {
        &self.error.message
    }

    /// The body of the response, and the data of an event in a stream.
    pub(crate) fn body(&self) -> ErrorBody {
        ErrorBody {
            error: (*self.error).clone(),
        }
    }
}

/// A text whose middle is left out if it is too long: a remedy stands at its end.
fn shortened(text: String) -> String {
    // So many letters of either end that they never overlap, whatever bytes they have.
    const KEPT: usize = LONGEST / 8;
    if text.len() <= LONGEST {
        return text;
    }
    let start: String = text.chars().take(KEPT).collect();
    let skipped = text.chars().count().saturating_sub(KEPT);
    let end: String = text.chars().skip(skipped).collect();
    format!("{start}…{end}")
}

impl From<RecordError> for Refusal {
    fn from(error: RecordError) -> Self {
        Self::failed(&error)
    }
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        Self::failed(&error)
    }
}

impl From<AnswerError> for Refusal {
    fn from(error: AnswerError) -> Self {
        match &error {
            AnswerError::EmptyQuestion => Self::bad("empty_question", error.to_string()),
            AnswerError::QuestionTooLong { .. } => {
                Self::bad("context_length_exceeded", error.to_string())
            }
            AnswerError::EmptyCorpus { .. } => {
                Self::bad("empty_corpus", "the corpus holds no passages").of("corpus")
            }
            AnswerError::NoCorpus => Self::bad("no_corpus", error.to_string()).of("corpus"),
            AnswerError::NoRouter
            | AnswerError::NoGate
            | AnswerError::NoFirstToken
            | AnswerError::OtherRouter { .. }
            | AnswerError::NoAssessor
            | AnswerError::Route(_) => Self::bad("policy_unavailable", error.to_string()),
            AnswerError::Model(cause) => Self::of_model(cause),
            _ => Self::failed(&error),
        }
    }
}

impl Refusal {
    /// The refusal for an error of a model or an embedder.
    pub(crate) fn of_model(error: &ModelError) -> Self {
        if let Fault::Server(fault) = error.fault() {
            return Self::of_model_server(fault, error.kind()).explained_by(error);
        }
        if let Fault::Request(param) = error.fault() {
            return Self::bad(error.kind(), error.to_string()).of(param);
        }
        match error.kind() {
            "queue_full" => Self::busy(),
            "context_exceeded" => Self::bad("context_length_exceeded", error.to_string()),
            "cannot_score" => {
                let message = "the model scores no texts, which the policy or the reranker needs";
                Self::bad("policy_unavailable", message).explained_by(error)
            }
            _ if error.concerns_input() => Self::bad("unusable_input", error.to_string()),
            _ => Self::failed(error),
        }
    }

    /// The failure of a model server. Only the log says where it is and what it said.
    fn of_model_server(fault: &ServerFault, kind: &'static str) -> Self {
        let failed = |status, message: &str| Self::new(status, kind, message);
        match fault {
            ServerFault::TooLong => {
                let message = "the question, with what was found for it, does not fit into the \
                               model's context; ask a shorter one, or for fewer passages";
                Self::bad("context_length_exceeded", message)
            }
            ServerFault::Refuses(param) => {
                let message = format!("the model server does not take `{param}` with this value");
                Self::bad("unsupported_parameter", message).of(param)
            }
            ServerFault::RefusesRequest { message, param } => {
                let message = format!("the model server refuses the request: {message}");
                let refusal = Self::bad("refused_by_model_server", message);
                match param {
                    Some(param) => refusal.of(param),
                    None => refusal,
                }
            }
            ServerFault::Limits(wait) => {
                let message = "the model server limits the rate of requests; try again later";
                let status = StatusCode::TOO_MANY_REQUESTS;
                let refusal = Self::new(status, "rate_limit_exceeded", message);
                refusal.retried_after(wait.unwrap_or_default().max(BUSY))
            }
            ServerFault::Unavailable(wait) => {
                let message = "the model server cannot answer now; try again later";
                let refusal = failed(StatusCode::SERVICE_UNAVAILABLE, message);
                refusal.retried_after(wait.unwrap_or_default().max(BUSY))
            }
            ServerFault::Failed => {
                let message = "the model server failed; the log of this server says how";
                failed(StatusCode::BAD_GATEWAY, message).retried_after(BUSY)
            }
            ServerFault::Late => {
                let message = "the model server did not answer in time; try again later";
                failed(StatusCode::GATEWAY_TIMEOUT, message).retried_after(BUSY)
            }
            ServerFault::Denies => {
                let message = "the model server refuses this server's requests; the log of this \
                               server says why";
                failed(StatusCode::BAD_GATEWAY, message)
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        let json = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status, json, body).into_response();
        let headers = response.headers_mut();
        if let Some(time) = self.retry_after {
            let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            headers.insert(RETRY_AFTER_MS, HeaderValue::from(ms));
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
        }
        let again = match self.retry_after {
            Some(_) => "true",
            None => "false",
        };
        headers.insert(SHOULD_RETRY, HeaderValue::from_static(again));
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        // For the log in `guard`.
        response.extensions_mut().insert(self);
        response
    }
}
