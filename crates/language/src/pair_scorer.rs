//! The interface of cross-encoders.

use crate::error::ModelError;

/// A model that reads a query and a passage together and scores how well the passage answers the
/// query. Calls from several threads are safe.
pub trait PairScorer: Send + Sync {
    /// Identifies the model: scores of one must not be compared with those of another.
    fn fingerprint(&self) -> &str;

    /// The score of each pair of query and passage, in order; higher is more relevant.
    /// A pair that is too long is truncated at the end of its longer text.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, a model that fails.
    fn score(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>, ModelError>;
}
