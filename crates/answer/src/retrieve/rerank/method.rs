//! The rerankers by name. It loads none.

use std::fmt;
use std::str::FromStr;

use ken_hub::{HubError, ModelReference};

/// The ranking of the chunks of the passages found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Rerank {
    /// None: passages stay whole, in the order of the search.
    #[default]
    None,
    /// By a cross-encoder on this machine.
    CrossEncoder(ModelReference),
    /// By the probability of the question, given the chunk, to the language model.
    Likelihood,
    /// By the corpus's own embedder.
    Embedder,
}

/// A reranker was named wrongly.
#[derive(Debug, thiserror::Error)]
pub enum UnknownRerank {
    /// No such reranker.
    #[error(
        "unknown reranker `{name}` (none, cross-encoder:REF, likelihood and embedder are known)"
    )]
    Name {
        /// The name given.
        name: String,
    },
    /// The cross-encoder's reference cannot be read.
    #[error(transparent)]
    Reference(#[from] HubError),
    /// The cross-encoder is behind an endpoint.
    #[error("the cross-encoder {url} is an endpoint; one on this machine is needed")]
    Remote {
        /// The endpoint.
        url: String,
    },
}

impl fmt::Display for Rerank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::CrossEncoder(reference) => write!(f, "cross-encoder:{reference}"),
            Self::Likelihood => f.write_str("likelihood"),
            Self::Embedder => f.write_str("embedder"),
        }
    }
}

impl FromStr for Rerank {
    type Err = UnknownRerank;

    fn from_str(name: &str) -> Result<Self, UnknownRerank> {
        match (name, name.strip_prefix("cross-encoder:")) {
            ("none", _) => Ok(Self::None),
            ("likelihood", _) => Ok(Self::Likelihood),
            ("embedder", _) => Ok(Self::Embedder),
            (_, Some(reference)) => match reference.parse()? {
                ModelReference::Remote { url } => Err(UnknownRerank::Remote { url }),
                here => Ok(Self::CrossEncoder(here)),
            },
            (name, None) => Err(UnknownRerank::Name {
                name: name.to_owned(),
            }),
        }
    }
}
