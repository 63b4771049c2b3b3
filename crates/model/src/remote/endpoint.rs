//! Where a model is served.

use ken_language::CancelToken;

use super::settings::{ApiKey, RemoteSettings};

/// An OpenAI-compatible endpoint: vLLM, llama-server, Ollama, OpenAI and others.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The base URL, such as `http://127.0.0.1:8000/v1`.
    pub url: String,
    /// The model's name; `None` for the only one that the endpoint lists.
    pub model: Option<String>,
    /// The API key, if the endpoint needs one.
    pub key: Option<ApiKey>,
    /// Timeouts, retries and limits.
    pub settings: RemoteSettings,
    /// Once it is set, pending calls fail within a moment, their connections are closed, and new calls fail.
    pub cancel: CancelToken,
}

impl Endpoint {
    /// An endpoint without a key, with the default settings, that is never cancelled.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            model: None,
            key: None,
            settings: RemoteSettings::default(),
            cancel: CancelToken::default(),
        }
    }
}
