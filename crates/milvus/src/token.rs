//! What a server knows its users by. It is never shown, and sent over an unencrypted connection to
//! this machine alone.

use std::fmt;

/// Shorter texts stand in messages by chance.
const SECRET_BYTES: usize = 4;

/// A server's API key, or `USER:PASSWORD`.
#[derive(Clone)]
pub struct Token {
    text: String,
    in_plain_text: bool,
}

impl Token {
    /// A token as it stands in the environment.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            in_plain_text: false,
        }
    }

    /// The same token, which may be sent to other machines over unencrypted connections too.
    #[must_use]
    pub fn allowed_in_plain_text(self, allowed: bool) -> Self {
        Self {
            in_plain_text: allowed,
            ..self
        }
    }

    pub(crate) fn is_allowed_in_plain_text(&self) -> bool {
        self.in_plain_text
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A text of the server's with the token blotted out, and the password in it.
    pub(crate) fn blotted(&self, text: &str) -> String {
        let password = self.text.split_once(':').map(|(_, password)| password);
        let mut blotted = text.to_owned();
        for secret in [Some(self.text.as_str()), password].into_iter().flatten() {
            if secret.len() >= SECRET_BYTES {
                blotted = blotted.replace(secret, "(token)");
            }
        }
        blotted
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
        let told = "no user root:hunter2, or not by hunter2";
        assert_eq!(token.blotted(told), "no user (token), or not by (token)");
        assert_eq!(Token::new("a:b").blotted("a tab"), "a tab");
    }
}
