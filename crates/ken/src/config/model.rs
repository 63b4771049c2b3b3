//! Which language model answers.

use std::fmt;
use std::str::FromStr;

use ken_model::hub::{HubError, ModelReference};

/// A language model on this machine, or behind an OpenAI-compatible endpoint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ModelChoice {
    Here(ModelReference),
    /// The endpoint's base URL.
    There(String),
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(reference) => reference.fmt(formatter),
            Self::There(url) => url.fmt(formatter),
        }
    }
}

impl FromStr for ModelChoice {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        if text.starts_with("http://") || text.starts_with("https://") {
            Ok(Self::There(text.to_owned()))
        } else {
            text.parse().map(Self::Here)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_an_endpoint_and_all_else_a_reference() {
        let there: ModelChoice = "http://127.0.0.1:8000/v1".parse().unwrap();
        assert_eq!(
            there,
            ModelChoice::There("http://127.0.0.1:8000/v1".to_owned())
        );
        for text in ["./m.gguf", "hf:org/repo"] {
            let here: ModelChoice = text.parse().unwrap();
            assert!(matches!(here, ModelChoice::Here(_)), "{text}");
            assert_eq!(here.to_string(), text);
        }
        assert!("nonsense".parse::<ModelChoice>().is_err());
    }
}
