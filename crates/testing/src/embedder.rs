//! An embedder without a model.

use std::ops::Range;
use std::sync::Arc;

use ken_language::{Embedder, ModelError, Role};

/// A function of a text.
type OfText<T> = Arc<dyn Fn(&str) -> Result<T, ModelError> + Send + Sync>;

/// The length of [`hashed`] vectors.
pub const HASHED_DIMENSIONS: usize = 8;

/// An embedder whose vectors are a function of the text, whatever its role.
#[derive(Clone)]
pub struct FnEmbedder {
    name: &'static str,
    dimensions: usize,
    max_tokens: Option<usize>,
    vector: OfText<Vec<f32>>,
    spans: OfText<Vec<Range<usize>>>,
}

impl FnEmbedder {
    /// An embedder with this function; `name` is its fingerprint. Each text counts as one token.
    pub fn new(
        name: &'static str,
        dimensions: usize,
        vector: impl Fn(&str) -> Vec<f32> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            dimensions,
            max_tokens: None,
            vector: Arc::new(move |text| Ok(vector(text))),
            spans: Arc::new(|text| Ok(std::iter::once(0..text.len()).collect())),
        }
    }

    /// The same vector for every text, so that only words can tell passages apart.
    pub fn blind() -> Self {
        Self::new("blind", 2, |_| vec![1.0, 0.0])
    }

    /// Unit vectors in a plane; the angle in radians is the text's length in bytes over `unit`.
    pub fn by_length(unit: f32) -> Self {
        Self::new("lengths", 2, move |text| {
            let angle = text.len() as f32 / unit;
            vec![angle.cos(), angle.sin()]
        })
    }

    /// Vectors of length 1 to which every word adds in one component: they show which words a text has, not what they
    /// mean.
    pub fn bag_of_words() -> Self {
        const DIMENSIONS: usize = 48;
        Self::new("bag-of-words", DIMENSIONS, |text| {
            let mut vector = vec![0.0_f32; DIMENSIONS];
            let words = text.split(|c: char| !c.is_alphanumeric());
            for word in words.filter(|word| !word.is_empty()) {
                vector[hash_of(&word.to_lowercase()) as usize % DIMENSIONS] += 1.0;
            }
            normalized(vector)
        })
    }

    /// A different vector for each text, see [`hashed`]. It reads at most 12 tokens; words are tokens.
    pub fn hashing() -> Self {
        Self::new("hashing", HASHED_DIMENSIONS, hashed)
            .max_tokens(12)
            .spans(|text| Ok(word_spans(text)))
    }

    /// Sets the most tokens that it reads.
    #[must_use]
    pub fn max_tokens(self, max_tokens: usize) -> Self {
        Self {
            max_tokens: Some(max_tokens),
            ..self
        }
    }

    /// Sets the function for vectors, which may fail.
    #[must_use]
    pub fn vectors(
        self,
        vector: impl Fn(&str) -> Result<Vec<f32>, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            vector: Arc::new(vector),
            ..self
        }
    }

    /// Sets the function for tokens.
    #[must_use]
    pub fn spans(
        self,
        spans: impl Fn(&str) -> Result<Vec<Range<usize>>, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            spans: Arc::new(spans),
            ..self
        }
    }
}

/// A vector of length 1 derived from the hash of a text: `[HASHED_DIMENSIONS]`.
pub fn hashed(text: &str) -> Vec<f32> {
    let number = |place| (hash_of(&format!("{place} {text}")) % 1000) as f32 + 1.0;
    normalized((0..HASHED_DIMENSIONS).map(number).collect())
}

fn hash_of(text: &str) -> u64 {
    let hash = blake3::hash(text.as_bytes());
    let first = hash.as_bytes().iter().take(8);
    first.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A vector scaled to length 1; a zero vector stays as it is.
fn normalized(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
    vector.iter_mut().for_each(|x| *x /= length);
    vector
}

/// The byte ranges of a text's words.
fn word_spans(text: &str) -> Vec<Range<usize>> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace()
        .map(|word| start(word)..start(word) + word.len())
        .collect()
}

impl Embedder for FnEmbedder {
    fn fingerprint(&self) -> &str {
        self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn max_tokens(&self) -> Option<usize> {
        self.max_tokens
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        texts.iter().map(|text| (self.vector)(text)).collect()
    }

    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, ModelError> {
        (self.spans)(text)
    }
}
