//! The ways to search. Only the names: the searching is in `search`.

use std::fmt;
use std::str::FromStr;

/// How passages are found and ranked.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By the cosine of the query's vector and the passage's. Needs the query's vector.
    Dense,
    /// By BM25 over title and text. Needs only the query's text.
    Lexical,
    /// By reciprocal rank fusion of the dense and the lexical ranking. Needs the query's vector.
    #[default]
    Hybrid,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Dense => "dense",
            Mode::Lexical => "lexical",
            Mode::Hybrid => "hybrid",
        })
    }
}

/// A name that is no search mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("unknown search mode {received:?} (dense, lexical and hybrid are known)")]
pub struct UnknownMode {
    /// The name that was given.
    pub received: String,
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Mode, UnknownMode> {
        match name {
            "dense" => Ok(Mode::Dense),
            "lexical" => Ok(Mode::Lexical),
            "hybrid" => Ok(Mode::Hybrid),
            _ => Err(UnknownMode {
                received: name.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
            assert_eq!(mode.to_string().parse::<Mode>().unwrap(), mode);
        }
        let error = "Dense".parse::<Mode>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown search mode \"Dense\" (dense, lexical and hybrid are known)"
        );
    }
}
