//! The key of a search service, and the hosts that it may be sent to.

use std::fmt;

use crate::address::ServiceAddress;
use crate::error::ServiceError;

/// A key or a password. It is never shown, and an unencrypted connection carries it only to this machine.
#[derive(Clone)]
pub struct Key {
    text: String,
    plaintext_allowed: bool,
}

impl Key {
    /// A key from the environment, without white space around it.
    pub fn new(key: &str) -> Self {
        Self {
            text: key.trim().to_owned(),
            plaintext_allowed: false,
        }
    }

    /// Allows sending it to other machines over unencrypted connections.
    #[must_use]
    pub fn allowed_in_plain_text(mut self, allowed: bool) -> Self {
        self.plaintext_allowed = allowed;
        self
    }

    /// The key for a service.
    ///
    /// # Errors
    /// A connection that others can read; characters that no header carries.
    pub(crate) fn text(&self, address: &ServiceAddress) -> Result<&str, ServiceError> {
        let server = address.server();
        if !address.is_private() && !self.plaintext_allowed {
            return Err(ServiceError::KeyInPlainText { server });
        }
        let mut bytes = self.text.bytes();
        match bytes.all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            true => Ok(&self.text),
            false => Err(ServiceError::BadKey { server }),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_nowhere_in_plain_text() {
        let address = |text: &str| text.parse().unwrap();
        let key = Key::new(" secret\n");
        assert_eq!(format!("{key:?}"), "Key(…)");
        for private in [
            "qdrant+https://box/n",
            "qdrant+http://127.0.0.1:6333/n",
            "postgres://u@127.0.0.1/d/t",
            "postgres://u@127.0.0.1/d/t?sslmode=disable",
            "postgres://u@box/d/t",
            "postgres://u@box/d/t?sslmode=verify-full",
        ] {
            assert_eq!(key.text(&address(private)).unwrap(), "secret");
        }
        for open in [
            "postgres://u@box/d/t?sslmode=disable",
            "qdrant+http://box:6333/n",
        ] {
            let refused = key.text(&address(open)).unwrap_err();
            assert_eq!(refused.kind(), "search_key_in_plain_text");
        }
        let open = address("qdrant+http://box:6333/n");
        assert!(key.clone().allowed_in_plain_text(true).text(&open).is_ok());
        let odd = Key::new("a\nb").allowed_in_plain_text(true);
        assert!(matches!(odd.text(&open), Err(ServiceError::BadKey { .. })));
    }
}
