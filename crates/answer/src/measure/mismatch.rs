//! Whether an artifact was made with the current model, embedder and prompts, by their fingerprints.

use std::fmt;

/// A fingerprint that differs from the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The part that differs, such as the model, the embedder or the prompts.
    pub what: &'static str,
    /// The recorded fingerprint.
    pub expected: String,
    /// The current fingerprint.
    pub received: String,
}

impl Mismatch {
    /// As [`Mismatch::find`], for the recorded fingerprints of a model and of prompts, and the current ones.
    pub(crate) fn of_model(
        [expected, prompts]: [&str; 2],
        [model, prompts_now]: [&str; 2],
    ) -> Option<Self> {
        Self::find([
            ("model", Some(expected), Some(model)),
            ("prompts", Some(prompts), Some(prompts_now)),
        ])
    }

    /// The first part whose expected and received fingerprints differ. A part without one of them does not count.
    pub(crate) fn find<'a>(
        parts: impl IntoIterator<Item = (&'static str, Option<&'a str>, Option<&'a str>)>,
    ) -> Option<Self> {
        parts.into_iter().find_map(|(what, expected, received)| {
            let (expected, received) = expected.zip(received)?;
            (expected != received).then(|| Self {
                what,
                expected: expected.to_owned(),
                received: received.to_owned(),
            })
        })
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, was, now) = (self.what, &self.expected, &self.received);
        write!(
            f,
            "another {what}: its fingerprint was {was}, and now is {now}"
        )
    }
}
