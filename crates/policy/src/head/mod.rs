//! Heads: small trained functions from a vector to a number in `[0, 1]`, with the provenance of their
//! training. They know neither the source of the vectors nor the training.

mod file;
mod network;
mod vocabulary;

pub use file::HeadFileError;
pub use network::{BadNetwork, Layer, Network, dot, logistic};
pub use vocabulary::Vocabulary;

use ken_diagnostic::Action;
use serde::{Deserialize, Serialize};

/// What a head predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The probability that the model answers a question wrongly from memory (Zero-RAG, section 3.2), or is
    /// unsure of it: the larger, the more the question needs retrieval.
    Router,
    /// The model's mastery of a passage (Zero-RAG, Eq. 4): the larger, the less the corpus needs the passage.
    Pruner,
    /// Half of 1 plus the exact match that evidence adds to an answer: the larger, the more worth it is.
    Gate,
}

impl Purpose {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Pruner => "pruner",
            Self::Gate => "gate",
        }
    }

    /// The command that trains a new head.
    pub fn renewal(self) -> Action {
        match self {
            Self::Router => Action::TrainRouter,
            Self::Pruner => Action::TrainPruner,
            Self::Gate => Action::TrainGate,
        }
    }
}

/// The input vector of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Input {
    /// The words of the question, by the head's own vocabulary.
    Words,
    /// The embedding of the question.
    QuestionEmbedding,
    /// The embedding of the passage.
    PassageEmbedding,
    /// The hidden state at the end of the prompt that asks the question without evidence.
    HiddenState {
        /// The layer after which it is taken.
        layer: usize,
    },
    /// The first token of the model's answer from memory: the natural-log probability of the most likely
    /// token, and the entropy of the distribution in nats.
    FirstToken,
    /// As [`Input::FirstToken`], with the log odds with which the assessor (KBM) denies that the model
    /// masters the answer.
    FirstTokenAndMastery,
    /// The hidden state at the end of the passage.
    PassageState {
        /// The layer after which it is taken.
        layer: usize,
    },
    /// The log-probabilities of the passage's tokens.
    PassageLikelihood,
    /// How well passages fit the question, and how sure the model is of its answer from memory.
    Evidence,
    /// As [`Input::Evidence`], with how sure the model is of its answer with the evidence, and whether both
    /// answers are the same.
    EvidenceAndAnswer,
}

/// The fingerprints of a head's training; `None` for those it does not depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredOn {
    /// The model whose knowledge it predicts.
    pub model: String,
    /// The embedder of its vectors.
    pub embedder: Option<String>,
    /// The prompts.
    pub prompt: Option<String>,
    /// The corpus whose passages it was trained on.
    pub corpus: Option<String>,
    /// The assessor (KBM).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assessor: Option<String>,
    /// The model that reads its passages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader: Option<String>,
}

/// A trained head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// What it predicts.
    pub purpose: Purpose,
    /// Its input.
    pub input: Input,
    /// What it was trained with.
    pub measured_on: MeasuredOn,
    /// The digests ([`digest_of`]) of its training questions and, for a pruner, passages, ascending: evaluating on
    /// those would flatter it.
    pub learned_from: Vec<u64>,
    /// The words that it knows, if its input is [`Input::Words`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<Vocabulary>,
    network: Network,
}

impl Head {
    /// Creates a head.
    pub fn new(
        purpose: Purpose,
        input: Input,
        measured_on: MeasuredOn,
        learned_from: Vec<u64>,
        network: Network,
    ) -> Self {
        let mut head = Self {
            purpose,
            input,
            measured_on,
            learned_from,
            vocabulary: None,
            network,
        };
        head.sort();
        head
    }

    /// Sets the vocabulary, for an input of [`Input::Words`].
    #[must_use]
    pub fn with_vocabulary(self, vocabulary: Option<Vocabulary>) -> Self {
        Self { vocabulary, ..self }
    }

    /// Why its vocabulary does not fit its input and its network; `None` if it does.
    fn bad_vocabulary(&self) -> Option<&'static str> {
        match (&self.vocabulary, self.input == Input::Words) {
            (None, false) => None,
            (None, true) => Some("it has no vocabulary"),
            (Some(_), false) => Some("it has a vocabulary that it does not read"),
            (Some(vocabulary), true) => {
                let fits = vocabulary.is_sound() && vocabulary.len() == self.dimensions();
                (!fits).then_some("its vocabulary does not fit its weights")
            }
        }
    }

    fn sort(&mut self) {
        self.learned_from.sort_unstable();
        self.learned_from.dedup();
    }

    /// The length of its input vectors.
    pub fn dimensions(&self) -> usize {
        self.network.inputs()
    }

    /// The prediction for a vector, in `[0, 1]`; `None` for a vector of another length.
    ///
    /// # Shapes
    /// `vector`: `[dimensions]`.
    pub fn apply(&self, vector: &[f32]) -> Option<f64> {
        (vector.len() == self.dimensions()).then(|| self.network.apply(vector))
    }

    /// Whether it was trained on this question.
    pub fn knows(&self, question: &str) -> bool {
        is_among(&self.learned_from, question)
    }
}

/// Whether the digest of a question is among these, which are in ascending order.
pub fn is_among(digests: &[u64], question: &str) -> bool {
    digests.binary_search(&digest_of(question)).is_ok()
}

/// The digest of a question or passage: the first 8 bytes of the BLAKE3 hash of the trimmed text.
pub fn digest_of(text: &str) -> u64 {
    let hash = blake3::hash(text.trim().as_bytes());
    let first = hash.as_bytes().first_chunk().copied();
    u64::from_be_bytes(first.unwrap_or_default())
}

#[cfg(test)]
mod tests;
