//! How an endpoint is spoken to.

use std::fmt;
use std::time::Duration;

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
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self {
            concurrency: 8,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(300),
            retries: 4,
            backoff: Duration::from_millis(500),
        }
    }
}

/// A key that the endpoint asks for. It is never shown.
#[derive(Clone)]
pub struct ApiKey(String);

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
        Ok(Self(key.to_owned()))
    }

    /// The value of the `Authorization` header.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// A text of the endpoint's with the key blotted out.
    pub(super) fn blotted(&self, text: &str) -> String {
        text.replace(&self.0, "(API key)")
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
