//! The secret by which a server knows a user. It is never shown; over an unencrypted connection it goes to this
//! machine only.

use std::fmt;

/// Shorter texts occur in messages by chance.
const SECRET_BYTES: usize = 4;

/// A server's API key, or `USER:PASSWORD`.
#[derive(Clone)]
pub struct Token {
    pub(crate) text: String,
    /// Whether it may be sent to other machines over unencrypted connections.
    pub(crate) in_plain_text: bool,
}

impl Token {
    /// A token as the environment holds it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            in_plain_text: false,
        }
    }

    /// Sets whether the token may be sent to other machines over unencrypted connections.
    #[must_use]
    pub fn allowed_in_plain_text(mut self, allowed: bool) -> Self {
        self.in_plain_text = allowed;
        self
    }

    /// Redacts the token, and the password in it, in a text from the server.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let password = self.text.split_once(':').map(|(_, password)| password);
        let mut redacted = text.to_owned();
        for secret in [Some(self.text.as_str()), password].into_iter().flatten() {
            if secret.len() >= SECRET_BYTES {
                redacted = redacted.replace(secret, "(token)");
            }
        }
        redacted
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let token = Token::new("root:hunter2");
        assert_eq!(format!("{token:?}"), "Token(…)");
        let message = "no user root:hunter2, or not by hunter2";
        assert_eq!(
            token.redacted(message),
            "no user (token), or not by (token)"
        );
        assert_eq!(Token::new("a:b").redacted("a tab"), "a tab");
    }
}
