//! What every embedder can be asked, on this machine or behind an endpoint.

use std::ops::Range;

use crate::encoder::{Encoder, EncoderError, Role};
use crate::remote::RemoteError;

/// An embedder: text in, one vector a text out. Calls from several threads are safe.
pub trait Embedder: Send + Sync {
    /// Identifies the embedder: vectors of one must not be compared with those of another.
    fn fingerprint(&self) -> &str;

    /// The length of an embedding.
    fn dimensions(&self) -> usize;

    /// The longest input in tokens; the rest of a longer text is left out. `None` where the
    /// embedder does not tell, and refuses what is too long for it.
    fn max_tokens(&self) -> Option<usize>;

    /// The embeddings of texts, in their order, each of [`Embedder::dimensions`] numbers.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, an embedder that fails.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedderError>;

    /// The bytes of a text that each of its tokens stands for, in order, without special tokens,
    /// prefix or limit. Spans start and end between characters.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, an embedder that keeps its tokenizer to itself.
    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, EmbedderError>;

    /// Whether a text is longer than the embedder reads, as far as it tells.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn is_cut(&self, text: &str) -> Result<bool, EmbedderError> {
        match self.max_tokens() {
            // A token has at least one byte, so shorter texts need no counting.
            Some(limit) => Ok(text.len() > limit && self.token_spans(text)?.len() > limit),
            None => Ok(false),
        }
    }
}

/// Why an embedder did not embed.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum EmbedderError {
    /// The encoder on this machine failed.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The endpoint failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl EmbedderError {
    /// Whether the embedder could still embed another text: it is this one that does not fit.
    #[must_use]
    pub fn concerns_text(&self) -> bool {
        match self {
            Self::Encoder(error) => error.concerns_text(),
            Self::Remote(error) => error.concerns_prompt(),
        }
    }
}

impl Embedder for Encoder {
    fn fingerprint(&self) -> &str {
        Self::fingerprint(self)
    }

    fn dimensions(&self) -> usize {
        Self::dimensions(self)
    }

    fn max_tokens(&self) -> Option<usize> {
        Some(Self::max_tokens(self))
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, EmbedderError> {
        Ok(Self::embed(self, texts, role)?)
    }

    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, EmbedderError> {
        Ok(Self::token_spans(self, text)?)
    }
}
