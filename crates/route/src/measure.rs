//! The measures of a model's need of retrieval that a policy can decide by, by name. How they are
//! taken is not known here.

use std::fmt;
use std::str::FromStr;

/// What is measured of a question. The larger the number, the more it needs retrieval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// The probability with which the model says that it must look the question up (the prompting
    /// baseline of KBM, section 4.1).
    Judgment,
    /// How little sampled answers agree: 1 less KBM's certainty (Eq. 1).
    Certainty,
    /// e to the negative mean log probability of a token of the likeliest answer.
    Perplexity,
    /// The mean entropy of what its tokens were chosen from.
    MeanTokenEntropy,
    /// The greatest of these entropies.
    MaxTokenEntropy,
    /// The entropy over sampled answers of one meaning (Farquhar and others 2024).
    SemanticEntropy,
    /// How little sampled answers have in common in their words (Fomicheva and others 2020).
    LexicalSimilarity,
    /// How far apart sampled answers are in the model's hidden states (Chen and others 2024).
    Eigenscore,
    /// The probability that the model does not answer right from memory, as a head holds that was
    /// learned from probed questions (Zero-RAG, section 3.2).
    Router,
    /// The probability that a model trained on this boundary denies that the answer is mastered
    /// (KBM, section 4.1).
    Mastery,
    /// As [`Measure::Mastery`], of whether sampled answers agree.
    Certitude,
    /// The probability with which a model that was trained to choose its source takes a corpus,
    /// times the share of corpora among the nearest entries of its datastore where there is one
    /// (SR-RAG, Eq. 7).
    SelfRoute,
}

impl Measure {
    /// Every measure with its name, which is that of its policy.
    pub const NAMES: [(Self, &'static str); 12] = [
        (Self::Judgment, "prompt"),
        (Self::Certainty, "certainty"),
        (Self::Perplexity, "uncertainty:perplexity"),
        (Self::MeanTokenEntropy, "uncertainty:mean-token-entropy"),
        (Self::MaxTokenEntropy, "uncertainty:max-token-entropy"),
        (Self::SemanticEntropy, "uncertainty:semantic-entropy"),
        (Self::LexicalSimilarity, "uncertainty:lexical-similarity"),
        (Self::Eigenscore, "uncertainty:eigenscore"),
        (Self::Router, "router"),
        (Self::Mastery, "kbm"),
        (Self::Certitude, "kbm:certainty"),
        (Self::SelfRoute, "self-route"),
    ];

    /// Whether the number lies in `[0, 1]`, so that it may be read as a probability.
    #[must_use]
    pub fn is_share(self) -> bool {
        matches!(
            self,
            Self::Judgment
                | Self::Certainty
                | Self::LexicalSimilarity
                | Self::Router
                | Self::Mastery
                | Self::Certitude
                | Self::SelfRoute
        )
    }

    /// Whether it can be taken again with evidence.
    #[must_use]
    pub fn is_taken_with_evidence(self) -> bool {
        !matches!(self, Self::Judgment | Self::Router | Self::SelfRoute)
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::NAMES.iter().find(|(measure, _)| measure == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

/// A name that no measure has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown measure `{name}` ({} are known)", Measure::NAMES.map(|(_, name)| name).join(", "))]
pub struct UnknownMeasure {
    /// The name given.
    pub name: String,
}

impl FromStr for Measure {
    type Err = UnknownMeasure;

    fn from_str(name: &str) -> Result<Self, UnknownMeasure> {
        Self::NAMES
            .into_iter()
            .find(|(_, known)| *known == name)
            .map(|(measure, _)| measure)
            .ok_or_else(|| UnknownMeasure {
                name: name.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for (measure, name) in Measure::NAMES {
            assert_eq!(measure.to_string(), name);
            assert_eq!(name.parse(), Ok(measure));
        }
        let error = "entropy".parse::<Measure>().unwrap_err();
        assert!(error.to_string().contains("`entropy`"));
        assert!(error.to_string().contains("uncertainty:eigenscore"));
    }
}
