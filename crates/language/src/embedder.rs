//! The interface of embedders, on this machine or behind an endpoint.

use std::ops::Range;
use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::error::ModelError;

/// The role of a text: embedders trained for search treat the two sides differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question or search query.
    Query,
    /// A passage that is searched.
    Passage,
}

/// An embedder: text in, one vector per text out. Calls from several threads are safe.
pub trait Embedder: Send + Sync {
    /// Identifies the embedder: vectors of one must not be compared with those of another.
    fn fingerprint(&self) -> &str;

    /// The length of an embedding.
    fn dimensions(&self) -> usize;

    /// The longest input in tokens; longer texts are truncated. `None` if the embedder does not
    /// report it, and refuses texts that are too long.
    fn max_tokens(&self) -> Option<usize>;

    /// The embeddings of texts, in order.
    ///
    /// # Shapes
    /// Returns `[texts][dimensions]`.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, an embedder that fails.
    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError>;

    /// As [`Embedder::embed`], for background work: if the embedder can, it gives all other calls
    /// precedence.
    ///
    /// # Errors
    /// As [`Embedder::embed`].
    fn embed_in_background(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        self.embed(texts, role)
    }

    /// How many texts a call needs to make good use of the embedder. A caller that may have to stop early passes no
    /// more at once.
    fn at_once(&self) -> usize {
        16
    }

    /// The byte range of each token of a text, in order, without special tokens, prefix or limit.
    /// Ranges start and end at character boundaries.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, an endpoint that does not expose its tokenizer.
    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, ModelError>;

    /// Whether a text is longer than the embedder reads in this role, as far as it reports that.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    fn is_cut(&self, text: &str, _role: Role) -> Result<bool, ModelError> {
        match self.max_tokens() {
            // A token has at least one byte, so shorter texts need no counting.
            Some(limit) => Ok(text.len() > limit && self.token_spans(text)?.len() > limit),
            None => Ok(false),
        }
    }

    /// The same embedder, whose calls end within a moment once a token is set, whatever they wait for;
    /// `None` if a call can only be left between texts.
    /// [`bound_embedder`](crate::bound_embedder) binds every embedder.
    fn bound(&self, _token: &CancelToken) -> Option<Arc<dyn Embedder>> {
        None
    }
}
