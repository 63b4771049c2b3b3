//! Words of the commands that ken prints, so that a person can paste them.

use std::borrow::Cow;

/// A word of a command, in quotes if a shell would read it differently.
pub(crate) fn for_a_shell(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@+,=%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_split_or_expand_are_quoted() {
        for (word, expected) in [
            ("notes.ken", "notes.ken"),
            ("router@0.5+double", "router@0.5+double"),
            ("my notes", "'my notes'"),
            ("$HOME", "'$HOME'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(for_a_shell(word), expected);
        }
    }
}
