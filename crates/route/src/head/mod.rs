//! A head: a small learned function from a vector to a number in `[0, 1]`, with what it was
//! learned from. Where the vectors come from, and how a head is learned, is not known here.

mod file;
mod network;

pub use file::HeadFileError;
pub use network::{BadNetwork, Layer, Network, logistic};

use serde::{Deserialize, Serialize};

/// What a head's number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The probability that the model does not answer a question right from memory (Zero-RAG,
    /// section 3.2): the larger, the more the question needs retrieval.
    Router,
    /// The mastery that the model has of a passage (Zero-RAG, Eq. 4): the larger, the less the
    /// corpus needs the passage.
    Pruner,
}

impl Purpose {
    /// As it is called in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Pruner => "pruner",
        }
    }
}

/// Which vector a head takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Input {
    /// The embedding of the question.
    QuestionEmbedding,
    /// The embedding of the passage.
    PassageEmbedding,
    /// The model's residual stream at the end of the prompt that asks the question from memory.
    HiddenState {
        /// Behind so many blocks.
        layer: usize,
    },
    /// What the model's answer from memory would begin with: the natural logarithm of the probability
    /// of the likeliest token, and the entropy in nats of what it is chosen from.
    FirstToken,
    /// The same two numbers, and the log odds with which a model that was trained on what this one
    /// knows (KBM) denies that it masters the answer.
    FirstTokenAndMastery,
    /// The residual stream of a model that has read the passage, at its end.
    PassageState {
        /// Behind so many blocks.
        layer: usize,
    },
    /// How likely a model finds the tokens of the passage.
    PassageLikelihood,
}

/// What a head was learned with. Fingerprints; `None` for what it does not depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredOn {
    /// The model whose knowledge it foretells.
    pub model: String,
    /// The embedder of its vectors.
    pub embedder: Option<String>,
    /// The words of the prompts.
    pub prompt: Option<String>,
    /// The corpus whose passages it was learned from.
    pub corpus: Option<String>,
    /// The model that was trained on what the model knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assessor: Option<String>,
    /// The model that reads passages for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader: Option<String>,
}

/// A learned function, ready to be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// What its number says.
    pub purpose: Purpose,
    /// The vector that it takes.
    pub input: Input,
    /// What it was learned with.
    pub measured_on: MeasuredOn,
    /// The digests of the questions that it was learned from ([`digest_of`]), ascending: what is
    /// measured on those says too much of it.
    pub learned_from: Vec<u64>,
    network: Network,
}

impl Head {
    /// Puts a head together.
    #[must_use]
    pub fn new(
        purpose: Purpose,
        input: Input,
        measured_on: MeasuredOn,
        mut learned_from: Vec<u64>,
        network: Network,
    ) -> Self {
        learned_from.sort_unstable();
        learned_from.dedup();
        Self {
            purpose,
            input,
            measured_on,
            learned_from,
            network,
        }
    }

    /// The length of the vectors that it takes.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.network.inputs()
    }

    /// How many hidden units it has; 0 of a logistic one.
    #[must_use]
    pub fn hidden_units(&self) -> usize {
        self.network.hidden_units()
    }

    /// The number for a vector, in `[0, 1]`; `None` of a vector of another length.
    ///
    /// # Shapes
    /// `vector`: `[dimensions]`.
    #[must_use]
    pub fn apply(&self, vector: &[f32]) -> Option<f64> {
        (vector.len() == self.dimensions()).then(|| self.network.apply(vector))
    }

    /// Whether it was learned from this question.
    #[must_use]
    pub fn knows(&self, question: &str) -> bool {
        self.learned_from
            .binary_search(&digest_of(question))
            .is_ok()
    }
}

/// What tells one question, or passage, from another: the first 8 bytes of the BLAKE3 hash of the
/// trimmed text.
#[must_use]
pub fn digest_of(text: &str) -> u64 {
    let hash = blake3::hash(text.trim().as_bytes());
    let (first, _) = hash.as_bytes().split_at(8);
    first
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests;
