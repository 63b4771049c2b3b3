//! A model's verdict on a statement, as one of two words: by their probabilities or, if the model does not score, by
//! what it writes.

use ken_language::{LanguageModel, ModelError, Prompt};

use crate::first_of_two::first_of_two;
use crate::sample::greedy_lines;

/// Most tokens of a written verdict.
const VERDICT_TOKENS: usize = 4;

/// A model's verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// Whether the statement holds; `None` if the model does not say: its probabilities are NaN, or it wrote neither
    /// yes nor no.
    pub(crate) holds: Option<bool>,
    /// The probability that the statement holds according to the model, in `[0, 1]`; `None` for a written verdict.
    pub(crate) chance: Option<f64>,
}

/// Asks a model for verdicts in one batch. Each prompt comes with its words for yes and for no.
///
/// # Shapes
/// Returns one verdict for each prompt; `None` if the model was stopped from outside.
///
/// # Errors
/// A prompt that does not fit into the model's context, a model that fails.
pub(crate) fn verdicts(
    model: &dyn LanguageModel,
    prompts: Vec<(Prompt, [&str; 2])>,
) -> Result<Vec<Option<Verdict>>, ModelError> {
    if model.capabilities().score {
        let chances = first_of_two(model, &prompts)?.into_iter();
        return Ok(chances
            .map(|chance| {
                Some(Verdict {
                    holds: (!chance.is_nan()).then_some(chance >= 0.5),
                    chance: Some(chance).filter(|chance| !chance.is_nan()),
                })
            })
            .collect());
    }
    let (prompts, words): (Vec<Prompt>, Vec<[&str; 2]>) = prompts.into_iter().unzip();
    let lines = greedy_lines(model, &prompts, VERDICT_TOKENS)?;
    let each = lines.into_iter().zip(words).map(|(line, words)| {
        Some(Verdict {
            holds: says_yes(&line?, words),
            chance: None,
        })
    });
    Ok(each.collect())
}

/// Whether a written verdict begins with the word for yes; `None` if it begins with neither word.
fn says_yes(line: &str, words: [&str; 2]) -> Option<bool> {
    let [yes, no] = words;
    let line = line
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let begins = |word: &str| line.starts_with(&word.trim().to_lowercase());
    let is_word = |word: &str| {
        let rest = line.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    match (begins(yes) || is_word("yes"), begins(no) || is_word("no")) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_verdicts_are_read() {
        let english = [" True", " False"];
        for (line, yes) in [
            ("True", Some(true)),
            (" **true.**", Some(true)),
            ("Yes", Some(true)),
            ("False", Some(false)),
            ("No.", Some(false)),
            ("Not that I know", None),
            ("I cannot say", None),
            ("", None),
        ] {
            assert_eq!(says_yes(line, english), yes, "{line}");
        }
        assert_eq!(says_yes("是。", [" 是", " 否"]), Some(true));
        assert_eq!(says_yes("否", [" 是", " 否"]), Some(false));
    }
}
