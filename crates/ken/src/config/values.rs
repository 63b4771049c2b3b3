//! Values of settings that only the command line has. All others are parsed by
//! the rooms that they belong to.

use std::fmt;
use std::str::FromStr;

use ken_corpus::Segmentation;
use serde::Serialize;

/// How many words a passage has where nothing else is said.
const DEFAULT_WORDS: usize = 100;

/// How documents are cut into passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Segment {
    /// JSON Lines records are passages already; all else is cut by words.
    Auto,
    /// The same way for all documents.
    Fixed(Segmentation),
}

impl Segment {
    /// The segmentation of a document; `record` tells that it is one record of
    /// a JSON Lines file.
    pub(crate) fn of_document(self, record: bool) -> Segmentation {
        match self {
            Self::Auto if record => Segmentation::Whole,
            Self::Auto => Segmentation::Words {
                size: DEFAULT_WORDS,
                overlap: 0,
            },
            Self::Fixed(segmentation) => segmentation,
        }
    }
}

impl FromStr for Segment {
    type Err = <Segmentation as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            other => other.parse().map(Self::Fixed),
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Fixed(segmentation) => segmentation.fmt(formatter),
        }
    }
}

/// The temperature of sampling: 0 is greedy. Finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(crate) struct Temperature(f64);

impl Temperature {
    pub(crate) fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Temperature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(Self(value)),
            _ => Err("a temperature is a number from 0 up".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_keeps_records_whole_and_cuts_all_else() {
        let auto: Segment = "auto".parse().unwrap();
        assert_eq!(auto.of_document(true).to_string(), "whole");
        assert_eq!(auto.of_document(false).to_string(), "words:100");
        let fixed: Segment = "sentence".parse().unwrap();
        assert_eq!(fixed.of_document(true).to_string(), "sentence");
    }

    #[test]
    fn segmentations_print_as_they_are_read() {
        for text in ["auto", "whole", "sentence", "words:100/20", "tokens:256"] {
            assert_eq!(text.parse::<Segment>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_temperature_is_a_number_from_zero_up() {
        assert_eq!("0.7".parse::<Temperature>().unwrap().get(), 0.7);
        for bad in ["-1", "nan", "inf", "warm", ""] {
            assert!(bad.parse::<Temperature>().is_err(), "{bad}");
        }
    }
}
