//! What is no answer, and how many answers have to be left for them to tell anything. What is absent is not
//! agreement: ten samples without a word say as little of what a model knows as none.

use ken_language::{Finish, Generation};
use serde::{Deserialize, Serialize};

use crate::normalize::is_wide_punctuation;
use crate::sample::Sample;

/// Why what a model wrote is no answer, or not all of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// It was cut off before it ended, since it had as many tokens as it may have.
    CutOff,
    /// A filter of the model server withheld it, or the rest of it.
    Filtered,
    /// The model refused, in these words.
    Refused(String),
    /// The model called a tool instead.
    ToolCall,
    /// It holds no word.
    Empty,
}

impl Lack {
    /// Its name for machines.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::CutOff => "cut_off",
            Self::Filtered => "filtered",
            Self::Refused(_) => "refused",
            Self::ToolCall => "tool_call",
            Self::Empty => "empty",
        }
    }

    /// The same for people.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::CutOff => "The answer was cut off.",
            Self::Filtered => "A filter of the model server withheld the answer.",
            Self::Refused(words) if !words.trim().is_empty() => words,
            Self::Refused(_) => "The model refused to answer.",
            Self::ToolCall => "The model called a tool instead of answering.",
            Self::Empty => "The model wrote no answer.",
        }
    }

    /// What is lacking in what was written, of which `text` is the answer; `has_ended` where the answer had before
    /// the model did, as a line has.
    #[must_use]
    pub fn of(written: &Generation, text: &str, has_ended: bool) -> Option<Self> {
        match written.finish {
            Finish::Filtered => Some(Self::Filtered),
            Finish::Refused => Some(Self::Refused(written.refusal.clone().unwrap_or_default())),
            Finish::ToolCall => Some(Self::ToolCall),
            Finish::Length if !has_ended => Some(Self::CutOff),
            Finish::Length | Finish::End | Finish::StopString | Finish::Cancelled => {
                (!has_words(text)).then_some(Self::Empty)
            }
        }
    }
}

/// Whether a text says anything: a letter, a digit or a symbol, and not only white space, punctuation and what is
/// not seen.
#[must_use]
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

/// The samples that are answers, each with the number of its answer type. `None` where these tell nothing: fewer
/// than half of what was drawn, or fewer than two.
///
/// A sample without an answer is none: it is empty, was cut off before its line ended, refused or filtered, or a
/// tool was called. To count it as an answer of its own would call any two of them alike, and a model that says
/// nothing sure. Where most say nothing, the rest is chance; and one alone agrees with nobody.
///
/// # Shapes
/// `types`: `[samples]`. Returns both of the same length.
#[must_use]
pub fn answers<'s>(
    samples: &'s [Sample],
    types: &[usize],
) -> Option<(Vec<&'s Sample>, Vec<usize>)> {
    let each = samples.iter().zip(types.iter().copied());
    let (answers, types): (Vec<_>, Vec<_>) = each.filter(|(one, _)| one.is_answer()).unzip();
    let are_enough = answers.len() >= 2 && 2 * answers.len() >= samples.len();
    are_enough.then_some((answers, types))
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

    #[test]
    fn half_of_the_samples_have_to_be_answers_and_two_at_least() {
        let answers_of = |given: usize, drawn: usize| {
            let samples: Vec<Sample> = (0..drawn)
                .map(|at| Sample {
                    text: if at < given { "owl" } else { " " }.to_owned(),
                    ..Sample::default()
                })
                .collect();
            answers(&samples, &vec![0; drawn]).map(|(answers, _)| answers.len())
        };
        assert_eq!(answers_of(5, 10), Some(5));
        assert_eq!(answers_of(4, 10), None);
        assert_eq!(answers_of(3, 5), Some(3));
        assert_eq!(answers_of(2, 2), Some(2));
        for (given, drawn) in [(0, 0), (0, 10), (1, 1), (1, 2), (2, 5)] {
            assert_eq!(answers_of(given, drawn), None, "{given} of {drawn}");
        }
    }
}
