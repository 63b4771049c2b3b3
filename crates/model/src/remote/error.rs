//! What can go wrong with a model behind an endpoint.

use ken_diagnostic::{Remedy, remedy};
use std::time::Duration;

use ken_http::BadCertificates;
use ken_language::ModelError;

/// Why an endpoint did not do what it was asked. No message holds the API key.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum RemoteError {
    /// The base URL cannot be used.
    #[error("`{url}` is not an endpoint: {reason}")]
    #[diagnostic(
        kind = "bad_endpoint",
        remedy = "give the base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1"
    )]
    BadUrl {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The API key cannot be sent in a header.
    #[error("the API key holds characters that no HTTP header can carry")]
    #[diagnostic(
        kind = "bad_api_key",
        remedy = "check <api_key>, or the variable that <keys> names, for line breaks and spaces"
    )]
    BadKey,
    /// The API key would be sent where others can read it.
    #[error("the API key is not sent to {host}: the connection is not encrypted")]
    #[diagnostic(
        remedy = "use https://, or a tunnel that ends on this machine; where the network is yours, <allow_plaintext_keys> sends it all the same"
    )]
    KeyInPlainText {
        /// Host and port.
        host: String,
    },
    /// The certificates that the environment names cannot be used.
    #[error(transparent)]
    Certificates(#[from] BadCertificates),
    /// No connection came about.
    #[error("cannot reach {host}: {detail}")]
    #[diagnostic(
        kind = "endpoint_unreachable",
        remedy = "check that the endpoint runs, its address, and the proxy"
    )]
    Unreachable {
        /// Host and port.
        host: String,
        /// The reason.
        detail: String,
    },
    /// The endpoint stayed silent for too long.
    #[error("{host} did not answer within {} s", after.as_secs_f32())]
    #[diagnostic(
        kind = "endpoint_timeout",
        remedy = "the endpoint may be busy or loading its model: try again, or allow more time"
    )]
    Timeout {
        /// Host and port.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// The connection broke in the middle of an answer.
    #[error("the connection to {host} was lost: {detail}")]
    #[diagnostic(
        kind = "endpoint_connection_lost",
        remedy = "the endpoint may have been restarted or run out of memory: look at its log and try again"
    )]
    ConnectionLost {
        /// Host and port.
        host: String,
        /// The reason.
        detail: String,
    },
    /// The endpoint refused.
    #[error("{url} answered with HTTP status {status}: {message}")]
    #[diagnostic(kind = "endpoint_status", remedy = after_status(*status))]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The endpoint's words.
        message: String,
    },
    /// The prompt, with its answer, does not fit into the model's context.
    #[error("the prompt does not fit into the context of the model at {url}: {detail}")]
    #[diagnostic(remedy = "shorten the text, or serve the model with a longer context")]
    ContextExceeded {
        /// The address.
        url: String,
        /// The numbers, or the endpoint's words.
        detail: String,
    },
    /// A web page came instead of data.
    #[error("{url} answered with a web page instead of JSON")]
    #[diagnostic(kind = "endpoint_web_page", remedy = not_an_endpoint())]
    WebPage {
        /// The address.
        url: String,
    },
    /// What came is not JSON.
    #[error("{url} answered with what is not JSON ({detail}): `{beginning}`")]
    #[diagnostic(kind = "endpoint_bad_json", remedy = not_an_endpoint())]
    BadJson {
        /// The address.
        url: String,
        /// Where and why parsing failed.
        detail: String,
        /// The first characters of the answer.
        beginning: String,
    },
    /// The answer lacks what it must have.
    #[error("the answer of {url} has no usable `{field}`")]
    #[diagnostic(kind = "endpoint_missing_field", remedy = not_an_endpoint())]
    MissingField {
        /// The address.
        url: String,
        /// What is missing.
        field: &'static str,
    },
    /// The answer goes beyond all bounds.
    #[error("the answer of {host} is not taken: {detail}")]
    #[diagnostic(kind = "endpoint_answer_too_large", remedy = not_an_endpoint())]
    TooLarge {
        /// Host and port.
        host: String,
        /// Which bound it exceeds.
        detail: String,
    },
    /// The stream of an answer ended before the answer did.
    #[error("the stream of {url} ended in the middle of the answer, after {bytes} bytes of it")]
    #[diagnostic(
        kind = "endpoint_stream_cut",
        remedy = "the endpoint may have been restarted or run out of memory: look at its log and try again"
    )]
    StreamCut {
        /// The address.
        url: String,
        /// Length of the text that had come.
        bytes: usize,
    },
    /// The endpoint offers several models and none was named.
    #[error("{url} offers several models: {}", listing(names))]
    #[diagnostic(remedy = "name the model: <model_name> NAME")]
    SeveralModels {
        /// The address.
        url: String,
        /// Their names.
        names: Vec<String>,
    },
    /// The endpoint does not tell which models it offers, and none was named.
    #[error("{url} does not tell which model it offers: {detail}")]
    #[diagnostic(remedy = "name the model: <model_name> NAME")]
    UnknownModel {
        /// The address.
        url: String,
        /// What it said instead.
        detail: String,
    },
    /// The endpoint does not tell how likely a given text is.
    #[error("{url} cannot score: {lacks}")]
    #[diagnostic(
        remedy = "use an endpoint that tells the log probabilities of a prompt, such as vLLM, or a model on this machine; or a policy that needs no scores"
    )]
    CannotScore {
        /// The address.
        url: String,
        /// What it lacks.
        lacks: &'static str,
    },
    /// No endpoint shows the hidden states of its model.
    #[error("{url} does not show the hidden states of its model")]
    #[diagnostic(remedy = "use a model on this machine")]
    CannotShowHidden {
        /// The address.
        url: String,
    },
    /// The endpoint keeps its tokenizer to itself.
    #[error("{url} does not show where the tokens of a text begin and end")]
    #[diagnostic(remedy = "cut by words or sentences, or embed with a model on this machine")]
    CannotShowTokens {
        /// The address.
        url: String,
    },
    /// Embeddings that do not fit the texts or each other.
    #[error("the embeddings of {url} cannot be used: {detail}")]
    #[diagnostic(remedy = "check that the endpoint serves an embedding model")]
    BadEmbeddings {
        /// The address.
        url: String,
        /// What is wrong with them.
        detail: String,
    },
    /// A request for no sample.
    #[error("at least one sample must be asked for")]
    NoSamples,
    /// A continuation to be scored that is empty.
    #[error("an empty continuation has no probability")]
    EmptyContinuation,
    /// Stopped by the caller.
    #[error("stopped while waiting for {host}")]
    Interrupted {
        /// Host and port.
        host: String,
    },
}

/// Names as a message shows them: the first ones, where there are many.
fn listing(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown = names.iter().take(SHOWN).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

impl RemoteError {
    /// Whether the endpoint says of itself that it does not do what it was asked, so that there is
    /// no use in asking again.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 400 | 404 | 405 | 415 | 422 | 501,
                ..
            }
        )
    }

    /// Whether the endpoint refused a request because of the parameter `name`.
    pub(super) fn refuses(&self, name: &str) -> bool {
        match self {
            Self::Status {
                status: 400 | 422,
                message,
                ..
            } => message
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .any(|word| word == name),
            _ => false,
        }
    }
}

impl From<RemoteError> for ModelError {
    fn from(error: RemoteError) -> Self {
        let concerns_input = matches!(error, RemoteError::ContextExceeded { .. });
        Self::new(error).concerning_input(concerns_input)
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
        429 => "the endpoint is asked too often: try again later, or lower the concurrency".into(),
        300..=399 => "the endpoint is elsewhere: give the base URL that it redirects to".into(),
        500..=599 => "look at the endpoint's log, or try again later".into(),
        _ => return None,
    })
}
