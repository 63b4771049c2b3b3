//! Which outputs are not answers. Missing answers are not agreement: ten empty samples say as little about what a
//! model knows as no samples.

use ken_language::{Finish, Generation};
use serde::{Deserialize, Serialize};

use crate::normalize::is_wide_punctuation;
use crate::repetition::is_cut_in_repetition;

/// Why a model's output is not an answer, or not all of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// It reached its limit of tokens before it ended.
    CutOff,
    /// It goes round in circles: generation stopped because of that, or went on to its limit of tokens.
    Repeats,
    /// A filter of the model server withheld it, or the rest of it.
    Filtered,
    /// The model refused, in these words.
    Refused(String),
    /// The model called a tool instead.
    ToolCall,
    /// It contains no word.
    Empty,
}

impl Lack {
    /// Its name in records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CutOff => "cut_off",
            Self::Repeats => "repeats",
            Self::Filtered => "filtered",
            Self::Refused(_) => "refused",
            Self::ToolCall => "tool_call",
            Self::Empty => "empty",
        }
    }

    /// A sentence for people.
    pub fn words(&self) -> &str {
        match self {
            Self::CutOff => "The answer was cut off.",
            Self::Repeats => "The answer repeated itself and was ended.",
            Self::Filtered => "A filter of the model server withheld the answer.",
            Self::Refused(words) if !words.trim().is_empty() => words,
            Self::Refused(_) => "The model refused to answer.",
            Self::ToolCall => "The model called a tool instead of answering.",
            Self::Empty => "The model wrote no answer.",
        }
    }

    /// What the output lacks, where `text` is the answer in it. `has_ended` says that the answer was complete before
    /// the model stopped, as a line is.
    pub fn of(written: &Generation, text: &str, has_ended: bool) -> Option<Self> {
        match written.finish {
            Finish::Filtered => Some(Self::Filtered),
            Finish::Refused => Some(Self::Refused(written.refusal.clone().unwrap_or_default())),
            Finish::ToolCall => Some(Self::ToolCall),
            Finish::Length if !has_ended && is_cut_in_repetition(text) => Some(Self::Repeats),
            Finish::Length if !has_ended => Some(Self::CutOff),
            Finish::Length | Finish::End | Finish::StopString | Finish::Cancelled => {
                (!has_words(text)).then_some(Self::Empty)
            }
        }
    }
}

/// Whether a text says anything: it has a letter, a digit or a symbol, and not only white space, punctuation and
/// invisible characters.
pub fn has_words(text: &str) -> bool {
    text.chars().any(|c| match c {
        '$' | '+' | '<' | '=' | '>' => true,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffd}' => {
            false
        }
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        _ => !c.is_whitespace() && !c.is_control() && !is_wide_punctuation(c),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_is_no_answer_and_symbols_are() {
        for text in [
            "", " \n\t", ".", "...", "—", "。", "“”", "\u{200b}", "\u{fffd}", "```", "- [ ]",
        ] {
            assert!(!has_words(text), "{text:?}");
        }
        for text in ["A", "the", "+", "7", "海", "🙂", "∞", "€", "C++"] {
            assert!(has_words(text), "{text:?}");
        }
    }
}
