//! Where a model is served.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::settings::{ApiKey, RemoteSettings};

/// An OpenAI-compatible endpoint: vLLM, llama-server, Ollama, OpenAI and others.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The base URL, such as `http://127.0.0.1:8000/v1`.
    pub url: String,
    /// The model's name; `None` for the only one that the endpoint lists.
    pub model: Option<String>,
    /// The API key, where it needs one.
    pub key: Option<ApiKey>,
    /// Timeouts, retries and limits.
    pub settings: RemoteSettings,
    /// Set by the caller to cancel for good: pending calls fail within a moment, and connections are
    /// closed.
    pub stop: Arc<AtomicBool>,
}

impl Endpoint {
    /// An endpoint that needs no key, with the default settings, that is never stopped.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            model: None,
            key: None,
            settings: RemoteSettings::default(),
            stop: Arc::default(),
        }
    }
}
