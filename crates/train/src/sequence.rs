//! What is learned from: token sequences of which some tokens have loss.

/// A sequence of tokens, of which some are to be learned.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// The tokens.
    pub tokens: Vec<u32>,
    /// The weight of each token's loss, 0 where it has none. The first token is not predicted, so
    /// its weight counts for nothing. As many as tokens.
    pub weights: Vec<f32>,
}

impl Sequence {
    /// A prompt that is only read, and what is to be written after it.
    #[must_use]
    pub fn completion(prompt: &[u32], completion: &[u32]) -> Self {
        let mut weights = vec![0.0; prompt.len()];
        weights.resize(prompt.len() + completion.len(), 1.0);
        Self {
            tokens: [prompt, completion].concat(),
            weights,
        }
    }

    /// A text of which every token is learned.
    #[must_use]
    pub fn whole(tokens: Vec<u32>) -> Self {
        let weights = vec![1.0; tokens.len()];
        Self { tokens, weights }
    }

    /// Tokens with loss.
    #[must_use]
    pub fn learned(&self) -> usize {
        self.weights.iter().skip(1).filter(|&&w| w != 0.0).count()
    }
}

/// Two ways to go on, of which the first is preferred (DPO).
#[derive(Debug, Clone, PartialEq)]
pub struct Preference {
    /// The preferred one.
    pub chosen: Sequence,
    /// The other.
    pub rejected: Sequence,
}

/// What one example teaches.
#[derive(Debug, Clone, PartialEq)]
pub enum Objective {
    /// To write a sequence's weighted tokens: their mean negative log-likelihood.
    Imitate(Sequence),
    /// To prefer one sequence over another, more so than the model that training began with, by
    /// direct preference optimization (SR-RAG, Eq. 6).
    Prefer {
        /// The two.
        preference: Preference,
        /// How far the model may move for it; the paper takes 0.3.
        beta: f64,
    },
}
