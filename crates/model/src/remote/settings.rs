//! How an endpoint is spoken to.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use ken_http::Retry;

use super::error::RemoteError;

/// How an endpoint is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSettings {
    /// Most requests in flight at a time; at least 1.
    pub concurrency: usize,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest silence of the endpoint. An answer that is not streamed is silent until it is
    /// written.
    pub read_timeout: Duration,
    /// How often a request is sent again after a passing failure.
    pub retries: u32,
    /// Longest wait before the first repetition; it doubles with each, up to 30 s. The wait is drawn
    /// at random below that, but is at least what the endpoint asks for.
    pub backoff: Duration,
    /// The longest answer, in bytes, after it was unpacked where it came packed.
    pub answer_bytes: u64,
    /// The longest time that an answer may take from its first byte to its last.
    pub answer_time: Duration,
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
        }
    }
}

impl RemoteSettings {
    /// When a request is sent again.
    pub(super) fn retry(&self) -> Retry {
        Retry {
            retries: self.retries,
            backoff: self.backoff,
        }
    }
}

/// Shorter keys are hardly secrets.
const SECRET_BYTES: usize = 16;

/// A key that the endpoint asks for. It is never shown, and sent over an unencrypted connection to
/// this machine alone.
#[derive(Clone)]
pub struct ApiKey {
    text: String,
    in_plain_text: bool,
}

impl ApiKey {
    /// A key as it stands in the environment; blanks around it are dropped.
    ///
    /// # Errors
    /// A key with characters that no HTTP header can carry.
    pub fn new(key: &str) -> Result<Self, RemoteError> {
        let key = key.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RemoteError::BadKey);
        }
        Ok(Self {
            text: key.to_owned(),
            in_plain_text: false,
        })
    }

    /// The same key, which may be sent to other machines over unencrypted connections too.
    #[must_use]
    pub fn allowed_in_plain_text(self, allowed: bool) -> Self {
        Self {
            in_plain_text: allowed,
            ..self
        }
    }

    pub(super) fn is_allowed_in_plain_text(&self) -> bool {
        self.in_plain_text
    }

    /// The value of the `Authorization` header.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.text)
    }

    /// Whether it is so long that it stands in no text by chance, unlike those that are set where
    /// none is asked for, such as `EMPTY`.
    pub(super) fn is_secret(&self) -> bool {
        self.text.len() >= SECRET_BYTES
    }

    /// A text of the endpoint's with the key blotted out.
    pub(super) fn blotted<'t>(&self, text: &'t str) -> Cow<'t, str> {
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
        assert_eq!(key.blotted("bad key sk-secret!"), "bad key (API key)!");
        let error = ApiKey::new("sk-sec\nret").unwrap_err();
        assert_eq!(error.kind(), "bad_api_key");
        assert!(!error.to_string().contains("sk-sec"));
    }
}
