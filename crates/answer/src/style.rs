//! The two styles in which questions are answered.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// A name, a number or a phrase, as answers are measured.
    Short,
    /// Whole sentences or steps in Markdown, with the numbers of the passages that they rest on.
    Full,
    /// The model's own reply to an application's conversation. No setting names it: an application's request chooses it.
    #[serde(rename = "as_sent")]
    AsSent,
}

/// A name that no style has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown style `{0}` (short, full are known)")]
pub struct UnknownStyle(String);

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Style {
    type Err = UnknownStyle;

    fn from_str(name: &str) -> Result<Self, UnknownStyle> {
        [Self::Short, Self::Full]
            .into_iter()
            .find(|style| style.to_string() == name)
            .ok_or_else(|| UnknownStyle(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use ken_testing::{Fact, TableModel, with};

    use super::*;
    use crate::{Answer, AnswerSettings, Event, Pipeline};

    fn answer(policy: &str, style: Style) -> (Answer, String) {
        let fact = with!(Fact::default(), question: "who rows?".to_owned(), answer: "Ida".to_owned(), known: 1.0);
        let settings = with!(AnswerSettings::default(), policy: policy.parse().unwrap(), style: style,
            samples: 3);
        let model = Arc::new(TableModel::new(vec![fact]).unwrap());
        let mut seen = String::new();
        let answer = Pipeline::new(model, None, settings).answer("who rows?", &mut |event| {
            if let Event::Text(text) = event {
                seen.push_str(text);
            }
            ControlFlow::Continue(())
        });
        (answer.unwrap(), seen)
    }

    #[test]
    fn both_styles_take_the_same_route_by_the_short_answer() {
        for policy in ["never", "certainty@0.5", "uncertainty:perplexity@100"] {
            let (short, _) = answer(policy, Style::Short);
            let (full, seen) = answer(policy, Style::Full);
            assert_eq!((full.route, &full.reason), (short.route, &short.reason));
            assert_eq!((full.style, short.style), (Style::Full, Style::Short));
            assert_eq!(full.answer, "Ida");
            assert_eq!(seen, full.answer);
        }
        // A greedy answer that decided is a short one, so the full one is written beside it.
        let (short, _) = answer("uncertainty:perplexity@100", Style::Short);
        let (full, _) = answer("uncertainty:perplexity@100", Style::Full);
        assert_eq!((short.calls.model, full.calls.model), (1, 2));
    }

    #[test]
    fn styles_are_read_as_they_are_written() {
        for style in [Style::Short, Style::Full] {
            assert_eq!(style.to_string().parse(), Ok(style));
        }
        let error = "long".parse::<Style>().unwrap_err().to_string();
        assert!(error.contains("long") && error.contains("full"), "{error}");
    }
}
