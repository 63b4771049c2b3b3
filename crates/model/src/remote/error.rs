//! Failures of models behind endpoints.

use std::time::Duration;

use ken_diagnostic::{Remedy, remedy};
use ken_http::{BadCertificates, BadProxy, Failed, UntrustedCertificate};
use ken_language::{Fault, ModelError, ServerFault};

/// What failed, and where.
#[derive(Debug)]
pub struct Failure {
    /// The endpoint by a URL, or by host and port.
    pub endpoint: String,
    /// What happened.
    pub detail: String,
}

impl Failure {
    pub(super) fn at(endpoint: &str, detail: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            detail: detail.into(),
        }
    }
}

/// Why a request to an endpoint failed. No message contains the API key.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what variants and fields are")]
pub enum RemoteError {
    #[error("`{}` is not an endpoint: {}", .0.endpoint, .0.detail)]
    #[diagnostic(
        remedy = "give the base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1"
    )]
    BadEndpoint(Failure),
    #[error("the API key holds characters that no HTTP header can carry")]
    #[diagnostic(
        remedy = "check <api_key>, or the variable that <keys> names, for line breaks and spaces"
    )]
    BadApiKey,
    /// The API key would be sent to this host and port, where others can read it.
    #[error("the API key is not sent to {0}: the connection is not encrypted")]
    #[diagnostic(
        remedy = "use https://, or a tunnel that ends on this machine; where the network is yours, <allow_plaintext_keys> sends it all the same"
    )]
    KeyInPlainText(String),
    #[error(transparent)]
    Certificates(#[from] BadCertificates),
    #[error(transparent)]
    Proxy(#[from] BadProxy),
    #[error(transparent)]
    UntrustedCertificate(#[from] UntrustedCertificate),
    /// No connection was made.
    #[error("cannot reach {}: {}", .0.endpoint, .0.detail)]
    #[diagnostic(remedy = "check that the endpoint runs, its address, and the proxy")]
    EndpointUnreachable(Failure),
    #[error("{host} did not answer within {} s", after.as_secs_f32())]
    #[diagnostic(
        remedy = "the endpoint may be busy or loading its model: try again, or allow more time"
    )]
    EndpointTimeout { host: String, after: Duration },
    #[error("the connection to {} was lost: {}", .0.endpoint, .0.detail)]
    #[diagnostic(
        remedy = "the endpoint may have been restarted or run out of memory: look at its log and try again"
    )]
    EndpointConnectionLost(Failure),
    #[error("{url} answered with HTTP status {status}: {message}")]
    #[diagnostic(kind = "endpoint_status", remedy = after_status(*status))]
    Status {
        url: String,
        status: u16,
        message: String,
        /// The parameter at fault, if the endpoint names it.
        param: Option<String>,
        /// When to retry, if the endpoint says so.
        wait: Option<Duration>,
    },
    /// The prompt and its completion do not fit into the model's context.
    #[error("the prompt does not fit into the context of the model at {}: {}", .0.endpoint, .0.detail)]
    #[diagnostic(remedy = "shorten the text, or serve the model with a longer context")]
    ContextExceeded(Failure),
    #[error("{0} answered with a web page instead of JSON")]
    #[diagnostic(kind = "endpoint_web_page", remedy = not_an_endpoint())]
    WebPage(String),
    #[error("{url} answered with what is not JSON ({detail}): `{excerpt}`")]
    #[diagnostic(kind = "endpoint_bad_json", remedy = not_an_endpoint())]
    BadJson {
        url: String,
        detail: String,
        /// The first characters of the response.
        excerpt: String,
    },
    #[error("the answer of {url} has no usable `{field}`")]
    #[diagnostic(kind = "endpoint_missing_field", remedy = not_an_endpoint())]
    MissingField { url: String, field: &'static str },
    #[error("the response of {} is rejected: {}", .0.endpoint, .0.detail)]
    #[diagnostic(kind = "endpoint_answer_too_large", remedy = not_an_endpoint())]
    TooLarge(Failure),
    #[error("the stream of {url} ended in the middle of the answer, after {bytes} bytes of it")]
    #[diagnostic(
        remedy = "the endpoint may have been restarted or run out of memory: look at its log and try again"
    )]
    EndpointStreamCut { url: String, bytes: usize },
    #[error("{url} offers several models: {}", listing(names))]
    #[diagnostic(remedy = "name the model: <model_name> NAME")]
    SeveralModels { url: String, names: Vec<String> },
    /// The address is told without its query, which may hold a password.
    #[error("{url} redirects to {to}")]
    #[diagnostic(
        kind = "endpoint_redirects",
        remedy = "the endpoint has moved: give the base URL that it redirects to"
    )]
    Redirects { url: String, to: String },
    /// The account has no credit left.
    #[error("{} answers no more: {}", .0.endpoint, .0.detail)]
    #[diagnostic(
        remedy = "see to the credit and the limits of the account to which the API key belongs"
    )]
    EndpointQuotaExceeded(Failure),
    /// The endpoint does not list its models, and no model was named.
    #[error("{} does not say which model it serves: {}", .0.endpoint, .0.detail)]
    #[diagnostic(
        remedy = "name the model: <model_name> NAME; or mend the base URL, which usually ends in /v1"
    )]
    UnknownModel(Failure),
    #[error("{} cannot score: {}", .0.endpoint, .0.detail)]
    #[diagnostic(
        remedy = "use an endpoint that returns the log probabilities of a prompt, such as vLLM, or a model on this machine; or a policy that needs no scores"
    )]
    CannotScore(Failure),
    /// Endpoints, such as that at this URL, do not expose hidden states.
    #[error("{0} does not expose the hidden states of its model")]
    #[diagnostic(remedy = "use a model on this machine")]
    CannotShowHidden(String),
    #[error("{0} does not expose where the tokens of a text begin and end")]
    #[diagnostic(remedy = "cut by words or sentences, or embed with a model on this machine")]
    CannotShowTokens(String),
    #[error("the embeddings of {} cannot be used: {}", .0.endpoint, .0.detail)]
    #[diagnostic(remedy = "check that the endpoint serves an embedding model")]
    BadEmbeddings(Failure),
    #[error("at least one sample must be asked for")]
    NoSamples,
    #[error("an empty continuation has no probability")]
    EmptyContinuation,
    #[error("stopped while waiting for {0}")]
    Interrupted(String),
}

/// The first names of a long list.
fn listing(names: &[String]) -> String {
    const SHOWN: usize = 20;
    match names.split_at_checked(SHOWN) {
        Some((shown, more)) if !more.is_empty() => {
            format!("{} and {} more", shown.join(", "), more.len())
        }
        _ => names.join(", "),
    }
}

impl RemoteError {
    pub(super) fn missing(url: &str, field: &'static str) -> Self {
        Self::MissingField {
            url: url.to_owned(),
            field,
        }
    }

    /// Whether the endpoint is absent, or says that it is not ready.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(
            self,
            Self::EndpointUnreachable(_)
                | Self::Status {
                    status: 429 | 502 | 503,
                    ..
                }
        )
    }

    /// Whether the endpoint says that it does not support the request, so that retrying is useless.
    pub(super) fn is_refusal(&self) -> bool {
        let refusals = [400, 404, 405, 415, 422, 501];
        matches!(self, Self::Status { status, .. } if refusals.contains(status))
    }

    /// Whether the endpoint says that it holds no conversations: it has no such route, or no chat template. Any other
    /// refusal is about the one that was sent.
    pub(super) fn refuses_conversations(&self) -> bool {
        match self {
            Self::Status {
                status: 404 | 405 | 501,
                ..
            } => true,
            Self::Status {
                status: 400 | 422 | 500,
                message,
                ..
            } => message.to_lowercase().contains("template"),
            _ => false,
        }
    }

    /// Whether the endpoint may accept a smaller request of the same kind.
    pub(super) fn may_be_for_size(&self) -> bool {
        matches!(
            self,
            Self::ContextExceeded(_)
                | Self::Status {
                    status: 400 | 413 | 422,
                    ..
                }
        )
    }

    /// Whether the endpoint rejected a request because of the parameter `name`.
    pub(super) fn rejects(&self, name: &str) -> bool {
        match self {
            Self::Status {
                status: 400 | 422,
                message,
                param,
                ..
            } => {
                param.as_deref() == Some(name)
                    || message
                        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                        .any(|word| word == name)
            }
            _ => false,
        }
    }

    /// Whether the endpoint rejected a request because of a system message, which the templates of some models do not
    /// allow. Some servers report that as their own failure.
    pub(super) fn rejects_system(&self) -> bool {
        match self {
            Self::Status {
                status: 400 | 422 | 500,
                message,
                ..
            } => {
                let message = message.to_lowercase();
                let has = |words: &str| message.contains(words);
                has("system role") || has("system message") || has("'system'") || has("role system")
            }
            _ => false,
        }
    }

    /// Whether an error that the endpoint reports within its response may be transient.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Status { status, .. } if ken_http::is_passing(*status))
    }

    /// This error as the failure of a request of whose response nothing was used.
    pub(super) fn failed(self) -> Failed<Self> {
        Failed {
            passing: self.is_passing(),
            ..Failed::lasting(self)
        }
    }

    /// Where the failure lies.
    fn fault(&self) -> Fault {
        Fault::Server(match self {
            Self::ContextExceeded(_) => ServerFault::TooLong,
            Self::Status { status, wait, .. } => match status {
                400 | 422 => match SETTABLE.iter().find(|name| self.rejects(name)) {
                    Some(name) => ServerFault::Refuses((*name).to_owned()),
                    None => ServerFault::Denies,
                },
                429 => ServerFault::Limits(*wait),
                503 | 529 => ServerFault::Unavailable(*wait),
                408 | 504 => ServerFault::Late,
                500 | 502 | 505..=599 => ServerFault::Failed,
                _ => ServerFault::Denies,
            },
            Self::EndpointUnreachable(_) => ServerFault::Unavailable(None),
            Self::EndpointQuotaExceeded(_) | Self::Redirects { .. } => ServerFault::Denies,
            Self::EndpointTimeout { .. } | Self::Interrupted(_) => ServerFault::Late,
            Self::EndpointConnectionLost(_)
            | Self::EndpointStreamCut { .. }
            | Self::WebPage(_)
            | Self::BadJson { .. }
            | Self::MissingField { .. }
            | Self::TooLarge(_)
            | Self::UntrustedCertificate(_)
            | Self::BadEmbeddings(_) => ServerFault::Failed,
            _ => return Fault::Model,
        })
    }
}

/// Parameters of a request that its writer may have set.
const SETTABLE: [&str; 5] = [
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "max_completion_tokens",
];

impl From<RemoteError> for ModelError {
    fn from(error: RemoteError) -> Self {
        let fault = error.fault();
        Self::new(error).by(fault)
    }
}

fn not_an_endpoint() -> Remedy {
    "check the base URL, which usually ends in /v1; the server there may not be an OpenAI-compatible endpoint".into()
}

fn after_status(status: u16) -> Option<Remedy> {
    Some(match status {
        401 | 403 => remedy!(
            "set <api_key> to a key that the endpoint accepts; where a corpus names the endpoint, name it yourself too, or give its key in <keys>"
        ),
        404 => "check the model's name and the base URL, which usually ends in /v1".into(),
        429 => {
            "the endpoint limits the rate of requests: try again later, or lower the concurrency"
                .into()
        }
        300..=399 => "the endpoint has moved: give the base URL that it redirects to".into(),
        500..=599 => "look at the endpoint's log, or try again later".into(),
        _ => return None,
    })
}
