//! Timeouts, retries and limits of an endpoint, and its API key.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::error::RemoteError;

/// Timeouts, retries and limits for an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSettings {
    /// Most requests in flight at a time; at least 1.
    pub concurrency: usize,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest silence of the endpoint. One that does not stream is silent until the whole response is generated.
    pub read_timeout: Duration,
    /// How often a request is retried after a transient failure.
    pub retries: u32,
    /// Longest wait before the first retry; it doubles with each, up to 30 s. The wait is random below that, but at
    /// least as long as the endpoint requests.
    pub backoff: Duration,
    /// The longest response in bytes, after decompression.
    pub answer_bytes: u64,
    /// The longest time that a response may take from its first byte to its last.
    pub answer_time: Duration,
    /// Whether to ask a model that thinks not to, if its server supports that. Thoughts are removed in any case.
    pub no_thinking: bool,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self {
            concurrency: 8,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(300),
            retries: 4,
            backoff: Duration::from_millis(500),
            answer_bytes: 64 * 1024 * 1024,
            answer_time: Duration::from_secs(60 * 60),
            no_thinking: true,
        }
    }
}

/// Shorter keys are hardly secret.
const SECRET_BYTES: usize = 16;

/// An API key. It is never shown, and over an unencrypted connection only sent to this machine.
#[derive(Clone)]
pub struct ApiKey {
    text: String,
    /// Whether it may also be sent to other machines over unencrypted connections.
    pub(super) plaintext_allowed: bool,
}

impl ApiKey {
    /// A key from the environment, without whitespace around it.
    ///
    /// # Errors
    /// A key with characters that no HTTP header can carry.
    pub fn new(key: &str) -> Result<Self, RemoteError> {
        let key = key.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RemoteError::BadApiKey);
        }
        Ok(Self {
            text: key.to_owned(),
            plaintext_allowed: false,
        })
    }

    /// Allows sending the key to other machines over unencrypted connections.
    #[must_use]
    pub fn allowed_in_plain_text(mut self, allowed: bool) -> Self {
        self.plaintext_allowed = allowed;
        self
    }

    /// The key itself, which is the value of Azure's `api-key` header.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value of the `Authorization` header.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.text)
    }

    /// Whether it is too long to occur in a text by chance, unlike placeholders for endpoints that need no key, such
    /// as `EMPTY`.
    pub(super) fn is_secret(&self) -> bool {
        self.text.len() >= SECRET_BYTES
    }

    /// A text from the endpoint with the key redacted.
    pub(super) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match text.contains(&self.text) {
            true => Cow::Owned(text.replace(&self.text, "(API key)")),
            false => Cow::Borrowed(text),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" sk-secret\n").unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
        assert_eq!(key.redact("bad key sk-secret!"), "bad key (API key)!");
        let error = ApiKey::new("sk-sec\nret").unwrap_err();
        assert_eq!(error.kind(), "bad_api_key");
        assert!(!error.to_string().contains("sk-sec"));
    }
}
