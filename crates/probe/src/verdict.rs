//! A model's verdict on a statement, as one of two words: by their probabilities, or, from a model that does not
//! score, as it writes it.

use ken_language::{LanguageModel, ModelError, Prompt};

use crate::first_of_two::first_of_two;
use crate::sample::greedy_lines;

/// Tokens that a written verdict may take.
const VERDICT_TOKENS: usize = 4;

/// A model's verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// Whether the statement holds.
    pub(crate) holds: bool,
    /// How likely that is to the model, in `[0, 1]`; `None` where it wrote its verdict.
    pub(crate) chance: Option<f64>,
}

/// Asks a model for verdicts, all at once; each prompt has the word that says yes and the one that says no.
///
/// # Shapes
/// Returns one verdict for each prompt; `None` where the model was stopped from outside.
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
                    holds: chance >= 0.5,
                    chance: Some(chance),
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

/// Whether a written verdict begins with the word for yes.
fn says_yes(line: &str, words: [&str; 2]) -> bool {
    let [yes, _] = words;
    let line = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = |word: &str| {
        let word = word.trim().to_lowercase();
        line.to_lowercase().starts_with(&word)
    };
    begins(yes) || begins("yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_verdicts_are_read() {
        let english = [" True", " False"];
        for (line, yes) in [
            ("True", true),
            (" **true.**", true),
            ("Yes", true),
            ("False", false),
            ("I cannot say", false),
            ("", false),
        ] {
            assert_eq!(says_yes(line, english), yes, "{line}");
        }
        assert!(says_yes("是。", [" 是", " 否"]));
        assert!(!says_yes("否", [" 是", " 否"]));
    }
}
