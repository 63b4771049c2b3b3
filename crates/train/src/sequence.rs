//! Training examples: token sequences in which some tokens have a loss.

/// A sequence of tokens, some of which are trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// The tokens.
    pub tokens: Vec<u32>,
    /// The loss weight of each token, 0 for none: `[tokens]`. The first token is never predicted, so
    /// its weight is ignored.
    pub weights: Vec<f32>,
}

impl Sequence {
    /// A prompt without loss, followed by its completion.
    pub fn completion(prompt: &[u32], completion: &[u32]) -> Self {
        let mut weights = vec![0.0; prompt.len()];
        weights.resize(prompt.len() + completion.len(), 1.0);
        Self {
            tokens: [prompt, completion].concat(),
            weights,
        }
    }

    /// A sequence in which every token has a loss.
    pub fn whole(tokens: Vec<u32>) -> Self {
        let weights = vec![1.0; tokens.len()];
        Self { tokens, weights }
    }

    /// The number of tokens with a loss.
    pub fn learned(&self) -> usize {
        self.weights.iter().skip(1).filter(|&&w| w != 0.0).count()
    }
}

/// Two completions, of which the first is preferred (DPO).
#[derive(Debug, Clone, PartialEq)]
pub struct Preference {
    /// The preferred completion.
    pub chosen: Sequence,
    /// The other completion.
    pub rejected: Sequence,
}

/// The objective of one training example.
#[derive(Debug, Clone, PartialEq)]
pub enum Objective {
    /// The weighted negative log-likelihood of a sequence's tokens.
    Imitate(Sequence),
    /// Direct preference optimization (SR-RAG, Eq. 6) with the initial model as the reference.
    Prefer {
        /// The pair.
        preference: Preference,
        /// The strength of the preference; 0.3 in the paper.
        beta: f64,
    },
}
