//! An embedder without a model: its vectors follow from the texts, and it fails on demand.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use ken_model::embedder::{Embedder, EmbedderError};
use ken_model::encoder::{EncoderError, Role};

pub(crate) const DIMENSIONS: usize = 8;

/// What the embedder does about a text that holds a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// Refuses to embed it.
    Embedding,
    /// Refuses to count its tokens.
    Counting,
    /// Gives a vector of no numbers.
    NotFinite,
    /// Panics while embedding.
    PanicEmbedding,
    /// Panics while counting tokens.
    PanicCounting,
}

pub(crate) struct Hashing {
    pub(crate) trouble: Trouble,
    pub(crate) word: &'static str,
}

impl Hashing {
    pub(crate) fn new() -> Self {
        Self::with(Trouble::None, "none")
    }

    pub(crate) fn with(trouble: Trouble, word: &'static str) -> Self {
        Self { trouble, word }
    }

    fn has(&self, trouble: Trouble, text: &str) -> bool {
        self.trouble == trouble && text.split_whitespace().any(|word| word == self.word)
    }
}

/// A failure as a tokenizer's is.
fn refused(text: &str) -> EmbedderError {
    EmbedderError::Encoder(EncoderError::Tokenize {
        bytes: text.len(),
        message: "it was told to".to_owned(),
    })
}

/// The vector of a text, of length 1.
pub(crate) fn vector(text: &str) -> Vec<f32> {
    let mut vector: Vec<f32> = (0..DIMENSIONS)
        .map(|number| {
            let mut hasher = DefaultHasher::new();
            (text, number).hash(&mut hasher);
            (hasher.finish() % 1000) as f32 + 1.0
        })
        .collect();
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

impl Embedder for Hashing {
    fn fingerprint(&self) -> &str {
        "hashing"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn max_tokens(&self) -> Option<usize> {
        Some(12)
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, EmbedderError> {
        texts
            .iter()
            .map(|text| {
                assert!(!self.has(Trouble::PanicEmbedding, text), "told to panic");
                if self.has(Trouble::Embedding, text) {
                    return Err(refused(text));
                }
                Ok(match self.has(Trouble::NotFinite, text) {
                    true => vec![f32::NAN; DIMENSIONS],
                    false => vector(text),
                })
            })
            .collect()
    }

    /// The tokens are the words.
    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, EmbedderError> {
        assert!(!self.has(Trouble::PanicCounting, text), "told to panic");
        if self.has(Trouble::Counting, text) {
            return Err(refused(text));
        }
        let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        Ok(text
            .split_whitespace()
            .map(|word| start(word)..start(word) + word.len())
            .collect())
    }
}
