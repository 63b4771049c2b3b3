//! The search modes.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

/// How passages are found and ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By the cosine of the query's vector and the passage's. Needs the query's vector.
    Dense,
    /// By BM25 over title and text. Needs only the query's text.
    Lexical,
    /// By the sum of the dense and the lexical score, each made comparable. Needs the query's vector.
    #[default]
    Hybrid,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A name that is not a search mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("unknown search mode {received:?} (dense, lexical and hybrid are known)")]
pub struct UnknownMode {
    /// The given name.
    pub received: String,
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Mode, UnknownMode> {
        let mode = Self::deserialize(name.into_deserializer());
        mode.map_err(|_: serde::de::value::Error| UnknownMode {
            received: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    #[test]
    fn names_parse_back() {
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
            assert_eq!(mode.to_string().parse::<Mode>().unwrap(), mode);
        }
        let error = "Dense".parse::<Mode>().unwrap_err();
        has!(error, to_string(): "unknown search mode \"Dense\" (dense, lexical and hybrid are known)");
    }
}
