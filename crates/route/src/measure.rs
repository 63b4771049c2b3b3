//! The measures of a model's uncertainty that a policy can decide by, by name. How they are taken is
//! not known here.

use std::fmt;
use std::str::FromStr;

/// What is measured on sampled answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// How little the answers agree: 1 less KBM's certainty (Eq. 1).
    Certainty,
    /// e to the negative mean log probability of a token.
    Perplexity,
    /// The entropy over answers of one meaning.
    SemanticEntropy,
    /// How little the answers have in common in their words.
    LexicalSimilarity,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 4] = [
        Self::Certainty,
        Self::Perplexity,
        Self::SemanticEntropy,
        Self::LexicalSimilarity,
    ];
}

/// As policies are named.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certainty => "certainty",
            Self::Perplexity => "uncertainty:perplexity",
            Self::SemanticEntropy => "uncertainty:semantic-entropy",
            Self::LexicalSimilarity => "uncertainty:lexical-similarity",
        })
    }
}

/// A name that no measure has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown measure `{name}` (certainty, uncertainty:perplexity, uncertainty:semantic-entropy and \
     uncertainty:lexical-similarity are known)"
)]
pub struct UnknownMeasure {
    /// The name given.
    pub name: String,
}

impl FromStr for Measure {
    type Err = UnknownMeasure;

    fn from_str(name: &str) -> Result<Self, UnknownMeasure> {
        Self::ALL
            .into_iter()
            .find(|measure| measure.to_string() == name)
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
        for measure in Measure::ALL {
            assert_eq!(measure.to_string().parse(), Ok(measure));
        }
        let error = "entropy".parse::<Measure>().unwrap_err();
        assert!(error.to_string().contains("`entropy`"));
    }
}
