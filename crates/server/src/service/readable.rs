//! How long a client's text may be, judged by its bytes before anything reads it: tokenizing takes many times the
//! memory of a text, and a model reads only so much of it.

use crate::wire::refusal::Refusal;

/// Bytes for each token that a model reads: three times as many as tokens have on average in any language.
const BYTES_PER_TOKEN: usize = 16;

/// The length that is always allowed, in bytes. It takes no time to tokenize.
const LEAST: usize = 8 << 10;

/// The assumed context of a model that does not tell its own, in tokens.
const UNKNOWN: usize = 8192;

/// Refuses a text that no model with this many tokens of context reads to its end.
///
/// # Errors
/// A text that is too long, with the limit in bytes.
pub(crate) fn check(text: &str, tokens: Option<usize>) -> Result<(), Refusal> {
    let most = most(tokens);
    match text.len() > most {
        true => Err(too_long(&format!(
            "it has {} bytes, and at most {most} are taken",
            text.len()
        ))),
        false => Ok(()),
    }
}

/// The refusal of a text that is longer than the model reads.
pub(crate) fn too_long(why: &str) -> Refusal {
    let message = format!("the text is beyond the model's maximum context length: {why}");
    Refusal::bad("context_length_exceeded", message)
}

fn most(tokens: Option<usize>) -> usize {
    BYTES_PER_TOKEN
        .saturating_mul(tokens.unwrap_or(UNKNOWN))
        .max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_follows_from_what_the_model_reads() {
        assert_eq!(most(Some(12)), 8 << 10);
        assert_eq!(most(Some(256)), 8 << 10);
        assert_eq!(most(Some(32 << 10)), 512 << 10);
        assert_eq!(most(None), 128 << 10);
        assert_eq!(most(Some(usize::MAX)), usize::MAX);
        let longest = "x".repeat(8 << 10);
        assert!(check(&longest, Some(256)).is_ok());
        let refusal = check(&(longest + "x"), Some(256)).unwrap_err();
        assert_eq!(refusal.code(), "context_length_exceeded");
        assert!(
            refusal
                .message()
                .ends_with("8193 bytes, and at most 8192 are taken")
        );
    }
}
