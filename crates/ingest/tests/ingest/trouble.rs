//! An embedder that fails at texts with a certain word.

use ken_language::{Embedder, ModelError};
use ken_testing::FnEmbedder;

/// How the embedder fails at such a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Refuses to embed it.
    Embedding,
    /// Refuses to count its tokens.
    Counting,
    /// Returns an empty vector.
    NotFinite,
    /// Panics while embedding.
    PanicEmbedding,
    /// Panics while counting tokens.
    PanicCounting,
}

/// The message of a tokenizer that refuses a text.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("told to")]
struct Refused;

/// The embedder [`FnEmbedder::hashing`] with trouble.
pub(crate) fn troubled(trouble: Trouble, word: &'static str) -> FnEmbedder {
    let has = move |this: Trouble, text: &str| {
        trouble == this && text.split_whitespace().any(|other| other == word)
    };
    let fine = FnEmbedder::hashing();
    let embed = move |text: &str| {
        assert!(!has(Trouble::PanicEmbedding, text), "told to panic");
        match (has(Trouble::Embedding, text), has(Trouble::NotFinite, text)) {
            (true, _) => Err(ModelError::new(Refused)),
            (_, true) => Ok(vec![f32::NAN; ken_testing::HASHED_DIMENSIONS]),
            _ => Ok(ken_testing::hashed(text)),
        }
    };
    let spans = move |text: &str| {
        assert!(!has(Trouble::PanicCounting, text), "told to panic");
        match has(Trouble::Counting, text) {
            true => Err(ModelError::new(Refused)),
            false => fine.token_spans(text),
        }
    };
    FnEmbedder::hashing().vectors(embed).spans(spans)
}
